import { delayMs, toPlace, type Place } from "../data/geo";
import type { Station } from "../data/run";
import { contacts, positionOf, type Frame } from "../layers/frame";
import { clock, run, selection, type Selection } from "../state/app";
import { h, icon, ICONS } from "./dom";
import { count, degrees, fixed, number } from "./format";

export interface Description {
  title: string;
  kind: string;
  rows: [string, string][];
}

/** What there is to say about something in the sky at the moment that is shown. */
export function describe(what: Selection, frame: Frame): Description {
  if (what.kind === "satellite") return satellite(what.name, frame);
  if (what.kind === "station") return station(what.name, frame);
  return link(what.name, frame);
}

function placeOf(node: string, frame: Frame): Place | null {
  const station = frame.stations.find((one) => one.name === node);
  if (station) return station.place;
  const at = positionOf(frame, node);
  return at && toPlace(at);
}

function satellite(name: string, frame: Frame): Description {
  const at = positionOf(frame, name);
  if (!at) return { title: name, kind: "Satellite", rows: [] };
  const place = toPlace(at);
  const rows: [string, string][] = [
    ["below it", `${degrees(place.latitude, "N", "S")}, ${degrees(place.longitude, "E", "W")}`],
    ["altitude", `${number(place.altitudeKm, 4)} km`],
  ];
  const found = frame.run.sky.planeOf(name);
  if (found) {
    const { shell, plane, planes, satellites } = found;
    rows.push(["orbital plane", `${plane} of 0 to ${planes - 1}, shell ${shell}, ${count(satellites, "satellite")}`]);
  }
  const serves = contacts(frame)
    .filter(([, by]) => by === name)
    .map(([terminal]) => terminal);
  if (serves.length > 0) rows.push(["serves", serves.join(", ")]);
  for (const site of frame.stations) {
    if (frame.run.earth.hides(site.place, place)) continue;
    const elevation = frame.run.earth.elevationDeg(site.place, place);
    const km = frame.run.earth.rangeKm(site.place, place);
    rows.push([`from ${site.name}`, `${elevation.toFixed(1)}° high, ${number(km, 4)} km, ${fixed(delayMs(km), 2)} ms`]);
  }
  return { title: name, kind: "Satellite", rows: [...rows, ...neighbours(name, frame)] };
}

function neighbours(name: string, frame: Frame): [string, string][] {
  const index = frame.run.sky.index.get(name);
  const rows: [string, string][] = [];
  frame.isls.forEach((isl, i) => {
    if (isl.a !== index && isl.b !== index) return;
    const other = frame.run.sky.names[isl.a === index ? isl.b : isl.a];
    const [a, b] = [placeOf(name, frame), placeOf(other, frame)];
    // Of an ISL to whichever satellite is nearest, only the one that is up is told.
    if (!a || !b || (!frame.up[i] && isl.name.includes("->neighbour-"))) return;
    const km = frame.run.earth.rangeKm(a, b);
    const own = isl.a === index ? isl.name : isl.back;
    rows.push([
      `ISL to ${other}`,
      frame.up[i] ? `${number(km, 4)} km, ${fixed(delayMs(km), 2)} ms${load(own, frame)}` : "down",
    ]);
  });
  return rows;
}

function station(name: string, frame: Frame): Description {
  const found = frame.stations.find((one) => one.name === name);
  if (!found) return { title: name, kind: "Station", rows: [] };
  const rows: [string, string][] = [
    ["at", `${degrees(found.place.latitude, "N", "S")}, ${degrees(found.place.longitude, "E", "W")}`],
  ];
  const serving = frame.serving.get(name) ?? [];
  rows.push(["served by", serving.join(", ") || "no satellite"]);
  for (const satellite of serving) {
    const at = placeOf(satellite, frame);
    if (!at) continue;
    const km = frame.run.earth.rangeKm(found.place, at);
    const which = serving.length > 1 ? ` of ${satellite}` : "";
    rows.push(
      [`elevation${which}`, `${frame.run.earth.elevationDeg(found.place, at).toFixed(1)}°`],
      [`slant range${which}`, `${number(km, 4)} km, ${fixed(delayMs(km), 2)} ms`],
    );
  }
  rows.push(["in view", `${count(inView(found, frame), "satellite")} above ${found.maskDeg}°`]);
  const own = frame.run.links
    .map((one) => one.name)
    .filter((one) => one.startsWith(name) && /^->sky(-\d+)?$/.test(one.slice(name.length)));
  const loads = own.flatMap((one) => loadRows(one, frame, own.length > 1 ? ` of ${one.replace("->", " → ")}` : ""));
  return { title: name, kind: "Station", rows: [...rows, ...loads] };
}

function inView({ place: site, maskDeg }: Station, frame: Frame): number {
  const { earth, sky } = frame.run;
  let seen = 0;
  for (let i = 0; i < sky.size; i++) {
    if (earth.sees(site, toPlace(frame.positions.subarray(i * 3, i * 3 + 3)), maskDeg)) seen++;
  }
  return seen;
}

function link(name: string, frame: Frame): Description {
  const found = frame.run.links.find((one) => one.name === name);
  const from = found?.from ?? name.split("->")[0];
  let to = found?.to ?? name.split("->")[1] ?? "";
  // A link to the sky or the ground leads to whichever stations and satellites are in contact.
  const shared = /->(sky(-\d+)?|ground)$/.test(name);
  const [up, down] = [frame.serving.get(from) ?? [], contacts(frame).filter(([, by]) => by === from)];
  const others = shared ? (name.endsWith("->ground") ? down.map(([terminal]) => terminal) : up) : [];
  if (shared) to = others.length === 1 ? others[0] : "";
  const isl = frame.isls.findIndex((one, i) => frame.up[i] && (one.name === name || one.back === name));
  if (isl >= 0) {
    const [one, other] = [frame.isls[isl].a, frame.isls[isl].b].map((i) => frame.run.sky.names[i]);
    to = one === from ? other : one;
  }
  const [a, b] = [placeOf(from, frame), placeOf(to, frame)];
  const rows: [string, string][] = [
    others.length > 1
      ? [name.endsWith("->ground") ? "serves" : "uses one of", others.join(", ")]
      : ["between", `${from} and ${to || "none"}`],
  ];
  if (a && b) {
    const km = frame.run.earth.rangeKm(a, b);
    rows.push(["range", `${number(km, 4)} km`], ["delay", `${fixed(delayMs(km), 2)} ms`]);
    const site = frame.stations.find((one) => one.name === from || one.name === to);
    const satellite = site?.name === from ? b : a;
    if (site) rows.push(["elevation", `${frame.run.earth.elevationDeg(site.place, satellite).toFixed(1)}°`]);
  }
  return {
    title: name.replace("->", " → "),
    kind: found?.kind === "isl" ? "ISL" : "Link",
    rows: [...rows, ...loadRows(name, frame)],
  };
}

function loadRows(name: string, frame: Frame, which = ""): [string, string][] {
  const rows: [string, string][] = [];
  const queue = frame.run.linkValue(name, "queue_packets", frame.time);
  const busy = frame.run.linkValue(name, "utilisation", frame.time);
  if (Number.isFinite(queue)) rows.push([`queue${which}`, `${queue} packets`]);
  if (Number.isFinite(busy)) rows.push([`utilisation${which}`, `${(busy * 100).toFixed(0)} %`]);
  return rows;
}

function load(name: string, frame: Frame): string {
  const busy = frame.run.linkValue(name, "utilisation", frame.time);
  return busy >= 0.005 ? `, ${(busy * 100).toFixed(0)} % busy` : "";
}

const MOST_NAMES = 10_000; // offered of satellites, and of links that carried something; the others can be typed

/** The card of the chosen thing, with a field that finds any satellite, station or link by name. */
export function infoPanel(frame: () => Frame | null): HTMLElement {
  const list = h("datalist", { id: "sky-names" });
  const find = h("input", {
    type: "search",
    list: "sky-names",
    placeholder: "Find a satellite, station or link",
    "aria-label": "Find a satellite, station or link",
  });
  const [what, name, facts] = [h("small"), h("h3"), h("dl")];
  const close = h(
    "button",
    { type: "button", class: "quiet", "aria-label": "Close", onclick: () => (selection.value = null) },
    icon(ICONS.close),
  );
  // The button stays while the numbers change: otherwise it would lose the focus with every picture.
  const card = h("div", { class: "card", hidden: true }, h("header", {}, what, close), name, facts);
  const choose = (): void => {
    const wanted = find.value.trim();
    const current = run.value;
    if (!current || selection.value?.name === wanted) return;
    if (current.sky.index.has(wanted)) selection.value = { kind: "satellite", name: wanted };
    else if (current.stations.some((one) => one.name === wanted)) selection.value = { kind: "station", name: wanted };
    else if (current.links.some((one) => one.name === wanted)) selection.value = { kind: "link", name: wanted };
  };
  find.addEventListener("input", choose);
  find.addEventListener("change", choose);
  run.follow((current) => {
    const used = current?.links.filter(({ name }) => current.hasLinkSeries(name)).map(({ name }) => name) ?? [];
    const names = [
      ...(current?.stations.map((one) => one.name) ?? []),
      ...(current?.sky.names ?? []).slice(0, MOST_NAMES),
      ...used.slice(0, MOST_NAMES),
    ];
    // Ten thousand options are made only when somebody looks for one.
    find.addEventListener("focus", () => list.replaceChildren(...names.map((name) => h("option", { value: name }))), {
      once: true,
    });
    find.value = "";
  });
  let wanted = false;
  const draw = (): void => {
    wanted = false;
    const chosen = selection.value;
    const now = frame();
    card.hidden = !chosen || !now;
    if (!chosen || !now) return;
    const { title, kind, rows } = describe(chosen, now);
    const terms = rows.flatMap(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]);
    what.textContent = kind;
    name.textContent = title;
    facts.replaceChildren(...terms);
  };
  const request = (): void => {
    if (wanted) return;
    wanted = true;
    // After the picture of this moment, whose positions are described.
    requestAnimationFrame(() => requestAnimationFrame(draw));
  };
  selection.watch(request);
  clock.time.watch(() => selection.value && request());
  return h("aside", { class: "info" }, find, list, card);
}
