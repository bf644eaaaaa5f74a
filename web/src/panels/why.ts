import { episodes, explain, happenings, type Episode, type Happening, type Kind } from "../data/chain";
import { rollingMean } from "../data/decimate";
import { clock, panel, run } from "../state/app";
import { Signal } from "../state/signal";
import { h, svg } from "./dom";
import { count, fixed, moment } from "./format";

const LANES: { kind: Kind; title: string; role: string }[] = [
  { kind: "handover", title: "Handover", role: "handover" },
  { kind: "path", title: "Way changed", role: "series-0" },
  { kind: "drop", title: "Packets lost", role: "drop" },
  { kind: "recovery", title: "Dup-ACKs, recovery", role: "series-4" },
  { kind: "timeout", title: "Timeout", role: "series-3" },
];
const LABEL = 146;
const LANE = 30;
const LANE_NARROW = 37; // with its name above the line
const DELIVERY = 74;
const AXIS = 24;
const SMOOTHED_S = 0.5; // a step of the grid holds a few packets only

const flow = new Signal("");
const chosen = new Signal(0);

/** What happened to a flow and why: lanes of events, and the chain that led to a stall in one sentence. */
export function whyPanel(): HTMLElement {
  const choose = h("select", { "aria-label": "Flow" });
  choose.addEventListener("change", () => (flow.value = choose.value));
  const timeline = h("div", { class: "timeline" });
  const list = h("div", { class: "episodes" });
  const story = h("article", { class: "story", "aria-live": "polite" });
  const draw = (): void => {
    const current = run.value;
    if (!current || !flow.value) {
      timeline.replaceChildren(h("p", { class: "empty" }, "Open a run to ask why."));
      list.replaceChildren();
      story.replaceChildren();
      return;
    }
    const found = episodes(current, flow.value);
    const at = Math.min(chosen.value, found.length - 1);
    timeline.replaceChildren(drawing(timeline.clientWidth || 900, found, at));
    list.replaceChildren(h("h3", {}, found.length === 0 ? "No stall" : "Stalls and repairs"), ...found.map((one, i) => episodeButton(one, i, i === at)));
    story.replaceChildren(...(found[at] ? tellStory(found[at]) : [h("p", {}, "Data of this flow arrived all the time: there is nothing to explain.")]));
  };
  const changeRun = (): void => {
    const flows = run.value?.flows ?? [];
    choose.replaceChildren(...flows.map((name) => h("option", { value: name }, name)));
    chosen.value = 0;
    flow.value = flows.includes(flow.value) ? flow.value : (flows[0] ?? "");
    choose.value = flow.value;
    draw();
  };
  run.watch(changeRun);
  flow.watch(() => {
    chosen.value = 0;
    draw();
  });
  chosen.watch(draw);
  new ResizeObserver(draw).observe(timeline);
  changeRun();
  const head = h("header", {}, h("h2", {}, "Why did it stall?"), h("label", {}, "Flow ", choose));
  return h("div", { class: "why" }, head, timeline, h("div", { class: "why-below" }, list, story));
}

function episodeButton(episode: Episode, index: number, on: boolean): HTMLElement {
  const length = episode.end - episode.begin;
  const what = episode.kind === "stall" ? `nothing for ${fixed(length, 2)} s` : length > 0 ? `repair, ${fixed(length, 2)} s` : "repair";
  const pick = (): void => {
    chosen.value = index;
    clock.seek(episode.begin);
  };
  return h("button", { type: "button", class: `episode ${episode.kind}`, "aria-current": on ? "true" : "false", onclick: pick }, h("b", {}, moment(episode.begin)), what);
}

function tellStory(episode: Episode): HTMLElement[] {
  const { title, sentence, links } = explain(run.value!, flow.value, episode);
  const steps = links.map((one) =>
    h("li", { class: one.kind }, h("b", {}, moment(one.begin)), h("span", {}, one.kind === "handover" ? one.text : upper(one.text))));
  const watch = (): void => {
    clock.seek(Math.max(0, episode.begin - 0.5));
    panel.value = "watch";
  };
  return [
    h("h3", {}, title),
    h("p", { class: "sentence" }, sentence),
    h("ol", { class: "chain" }, ...steps),
    h("button", { type: "button", onclick: watch }, "See it on the globe"),
  ];
}

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function drawing(width: number, found: Episode[], at: number): SVGElement {
  const current = run.value!;
  const narrow = width < 560;
  const label = narrow ? 0 : LABEL;
  const lane = narrow ? LANE_NARROW : LANE;
  const height = DELIVERY + LANES.length * lane + AXIS;
  const inner = Math.max(100, width - label - 12);
  const x = (time: number): number => label + (time / Math.max(1e-9, current.duration)) * inner;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `What happened to ${flow.value} over time` });
  found.forEach((one, i) => root.append(band(one, i, x, height, i === at)));
  root.append(delivery(x));
  const middle = (i: number): number => DELIVERY + i * lane + (narrow ? lane - 12 : lane / 2);
  LANES.forEach((_, i) => root.append(svg("line", { x1: label, x2: label + inner, y1: middle(i), y2: middle(i), class: "lane-line" })));
  for (const one of happenings(current, flow.value)) {
    const at = LANES.findIndex((other) => other.kind === one.kind);
    if (at >= 0) root.append(mark(one, x, middle(at), LANES[at].role));
  }
  root.append(laneName("Arrived", DELIVERY / 2, 10, label), ...LANES.map(({ title }, i) => laneName(title, middle(i) + 4, middle(i) - 11, label)));
  root.append(axis(x, height - AXIS, current.duration, inner));
  return root;
}

function band(one: Episode, index: number, x: (time: number) => number, height: number, on: boolean): SVGElement {
  const left = x(one.begin);
  const wide = Math.max(4, x(one.end) - left);
  const rect = svg("rect", { x: left, y: 0, width: wide, height: height - AXIS, class: `band ${one.kind}${on ? " on" : ""}`, tabindex: 0, role: "button", "aria-label": `Explain ${moment(one.begin)}` });
  const pick = (): void => {
    chosen.value = index;
    clock.seek(one.begin);
  };
  rect.addEventListener("click", pick);
  rect.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      pick();
    }
  });
  rect.append(titled(`${one.kind === "stall" ? "Nothing arrived" : "Repair"}: ${moment(one.begin)} to ${moment(one.end)}`));
  return rect;
}

/** What arrived, as an area. */
function delivery(x: (time: number) => number): SVGElement {
  const { x: times, ys: [rate] } = rollingMean(run.value!.flowSeries(flow.value, "throughput_bps"), SMOOTHED_S);
  const group = svg("g");
  if (times.length > 1) {
    const top = rate.reduce((most, value) => (value > most ? value : most), 1);
    const base = DELIVERY - 8;
    const step = Math.max(1, Math.floor(times.length / 1200));
    let path = `M${x(times[0]).toFixed(1)} ${base}`;
    for (let i = 0; i < times.length; i += step) {
      let sum = 0;
      for (let j = i; j < Math.min(times.length, i + step); j++) sum += rate[j] || 0;
      path += `L${x(times[i]).toFixed(1)} ${(base - (sum / step / top) * (base - 10)).toFixed(1)}`;
    }
    group.append(svg("path", { d: `${path}L${x(times[times.length - 1]).toFixed(1)} ${base}Z`, class: "delivery" }));
  }
  return group;
}

/** Beside the lane, or above its line where there is no room beside. */
function laneName(title: string, beside: number, above: number, label: number): SVGElement {
  const text = svg("text", label > 0 ? { x: label - 10, y: beside, "text-anchor": "end", class: "lane-name" } : { x: 6, y: above, class: "lane-name small" });
  text.textContent = title;
  return text;
}

function mark(one: Happening, x: (time: number) => number, y: number, role: string): SVGElement {
  const wide = x(one.end) - x(one.begin);
  const style = `fill: var(--${role})`;
  const shape = wide > 9
    ? svg("rect", { x: x(one.begin), y: y - 5, width: wide, height: 10, rx: 5, style })
    : one.kind === "timeout"
      ? svg("path", { d: `M${x(one.begin)} ${y - 7}l7 12h-14z`, style })
      : one.kind === "drop"
        ? svg("path", { d: `M${x(one.begin)} ${y - 6.5}l6 6.5-6 6.5-6-6.5z`, style })
        : svg("circle", { cx: x(one.begin), cy: y, r: 5.5, style });
  shape.classList.add("mark");
  shape.append(titled(`${moment(one.begin)}: ${one.text}${one.packets > 1 ? ` (${count(one.packets, "packet")})` : ""}`));
  return shape;
}

function titled(text: string): SVGElement {
  const element = svg("title");
  element.textContent = text;
  return element;
}

function axis(x: (time: number) => number, top: number, duration: number, width: number): SVGElement {
  const group = svg("g", { class: "axis" });
  const most = Math.max(2, Math.floor(width / 80));
  const raw = duration / most;
  const power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw) ?? 10 * power;
  for (let time = 0; time <= duration + 1e-9; time += step) {
    const text = svg("text", { x: x(time), y: top + 17, "text-anchor": time === 0 ? "start" : duration - time < step / 3 ? "end" : "middle" });
    text.textContent = `${Number(time.toPrecision(6))} s`;
    group.append(svg("line", { x1: x(time), x2: x(time), y1: 0, y2: top + 4, class: "tick" }), text);
  }
  return group;
}
