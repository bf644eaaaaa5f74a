import { lastAtOrBefore } from "../data/columns";
import type { Finding } from "../data/findings";
import { Network } from "../data/network";
import type { Run } from "../data/run";
import { FlatMap } from "../layers/map";
import { Globe } from "../layers/globe";
import { loadsAt, nodesOf, positionOf, queuesAt, type Frame, type Load, type Queue, type Shown } from "../layers/frame";
import { pickAt } from "../layers/pick";
import type { Picture } from "../layers/picture";
import { clock, run, selection, view, type Selection, type View } from "../state/app";
import { flight, openFinding } from "../state/findings";
import { Signal } from "../state/signal";
import { reducedMotion, theme } from "../state/theme";
import { h, icon, ICONS } from "./dom";
import { describe, infoPanel } from "./info";
import { count, moment } from "./format";
import { Wires } from "./wires";

const LOSS_S = 0.5; // losses so close to the moment that is shown are marked
const SHOWN_S = 5; // before and after a finding in which the path before it is shown
const CHANGE_S = 2; // between a finding and the change of path that led to it
const HANDOVER_SHOWN_S = 1.6;
const TICKER_LINES = 3;
/** All of a link; a satellite's card has more. */
const TIP_ROWS = 6;

/** Whether the camera follows the stations and paths. */
const follows = new Signal(false);
/** Whether this browser cannot draw the globe. */
const globeFails = new Signal(false);

/** What is switched on; kept for the next visit. */
export const shown = new Signal<Shown>(keptShown());

function keptShown(): Shown {
  const standard: Shown = {
    isls: true,
    planes: true,
    coverage: true,
    names: true,
    night: true,
    load: true,
    queue: true,
  };
  try {
    return { ...standard, ...(JSON.parse(localStorage.getItem("skyhop.shown") ?? "{}") as Partial<Shown>) };
  } catch {
    return standard;
  }
}

/** Globe or map with what stands over it: names, numbers under the pointer, the chosen thing, recent handovers. */
export class SkyView {
  readonly element: HTMLElement;
  private readonly stage = h("div", { class: "stage" });
  private readonly labels = h("div", { class: "labels", "aria-hidden": "true" });
  private readonly tip = h("div", { class: "tip", role: "status", hidden: true });
  private readonly ticker = h("div", { class: "ticker", "aria-live": "polite" });
  private readonly message = h("p", { class: "sky-message", hidden: true });
  private readonly scale = h(
    "p",
    { class: "load-scale", hidden: true },
    "Utilisation",
    h("span", {}, "0"),
    h("i"),
    h("span", {}, "100 %"),
  );
  private readonly queueScale = h(
    "p",
    { class: "load-scale queue-scale", hidden: true },
    "Queue",
    h("span", {}, "0"),
    h("i"),
    h("span", { class: "most" }),
  );
  private readonly cost = h("p", { class: "cost", hidden: true });
  private readonly pictures: Partial<Record<View, Picture>> = {};
  private picture: Picture | null = null;
  private network: Network | null = null;
  private wires: Wires | null = null;
  private positions = new Float32Array(0);
  private frame: Frame | null = null;
  private wanted = false;
  /** Whether the page has been drawn once. */
  private started = false;
  private phase = 0;
  private lastDraw = 0;
  private lastTime = 0;
  private linksChanged = true;
  /** The stage's pixels. Asking the stage in each frame would lay out the page in each frame. */
  private size = { width: 0, height: 0 };
  private shownHandovers: { terminal: string; begin: number; row: number }[] = [];
  private pointer: [number, number] | null = null;
  private tickerRow = -2;
  /** What the camera is to fly to with the next picture. */
  private destination: Finding | "all" | null = null;

  constructor() {
    const info = infoPanel(() => this.frame);
    this.element = h(
      "section",
      { class: "sky", "aria-label": "Sky" },
      this.stage,
      this.labels,
      this.ticker,
      info,
      this.tip,
      this.message,
      h("div", { class: "scales" }, this.queueScale, this.scale),
      this.cost,
      layerMenu(),
      viewSwitch(),
      this.cameraButtons(),
    );
    this.stage.tabIndex = 0;
    this.stage.setAttribute("role", "application");
    this.stage.setAttribute(
      "aria-label",
      "Earth with satellites. Arrow keys turn it, plus and minus zoom, space plays.",
    );
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.stage);
    // The page is there to be read before the globe, which takes longest, is made.
    requestAnimationFrame(() =>
      setTimeout(() => {
        this.started = true;
        view.follow((value) => this.use(value));
      }),
    );
    theme.watch(() => {
      for (const picture of Object.values(this.pictures)) picture?.paint();
      this.request();
    });
    run.watch(() => this.changeRun());
    this.changeRun();
    flight.watch((finding) => {
      this.destination = finding;
      this.request();
    });
    openFinding.watch(() => this.request());
    clock.time.watch(() => this.request());
    selection.watch(() => this.request());
    shown.watch((value) => {
      localStorage.setItem("skyhop.shown", JSON.stringify(value));
      this.request();
    });
    if (new URLSearchParams(location.search).has("cost")) this.cost.hidden = false;
  }

  /**
   * Shows the globe or the map, and makes it when it is needed first: a network without a sky has a drawing of its own.
   */
  private use(wanted: View): void {
    if (!this.started || !run.value || this.wires) return;
    if (!this.pictures[wanted]) {
      try {
        const moved = (): void => this.request();
        const picture = wanted === "globe" ? new Globe(moved) : new FlatMap(moved);
        picture.paint();
        this.pictures[wanted] = picture;
      } catch {
        if (wanted === "globe") {
          globeFails.value = true;
          view.value = "map";
        }
        return;
      }
    }
    this.picture = this.pictures[wanted] ?? null;
    if (this.picture) this.stage.replaceChildren(this.picture.canvas);
    this.resize();
  }

  private resize(): void {
    this.size = { width: this.stage.clientWidth, height: this.stage.clientHeight };
    this.picture?.resize(this.size.width, this.size.height);
    this.request();
  }

  private changeRun(): void {
    const current = run.value;
    this.network = current ? new Network(current) : null;
    this.positions = new Float32Array((current?.sky.size ?? 0) * 3);
    this.shownHandovers = [];
    this.linksChanged = true;
    this.message.hidden = true;
    this.wires?.element.remove();
    this.wires = null;
    if (current && current.sky.size === 0) this.showWithoutSky(current);
    this.element.classList.toggle("wired", this.wires !== null);
    this.use(view.value);
    this.request();
  }

  private showWithoutSky(current: Run): void {
    if (current.hasConstellation) {
      this.message.hidden = false;
      this.message.textContent =
        'This run did not record where its satellites were. Put  positions = "1 s"  under [records] and run it ' +
        "again to see them.";
      return;
    }
    this.wires = new Wires(current);
    this.element.append(this.wires.element);
  }

  /** Draws once before the browser shows its next picture, however often it is asked. */
  private request(): void {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame((now) => this.draw(now));
  }

  private draw(now: number): void {
    this.wanted = false;
    const current = run.value;
    this.wires?.update(clock.time.value);
    if (!current || !this.network || !this.picture || this.wires || this.size.width === 0) return;
    const begin = performance.now();
    const time = clock.time.value;
    if (clock.playing.value && !reducedMotion.matches) this.phase += Math.min(0.1, (now - this.lastDraw) / 1000);
    this.lastDraw = now;
    current.sky.at(time, this.positions);
    this.linksChanged = this.network.moveTo(time);
    this.noteHandovers(time, now);
    this.frame = {
      run: current,
      time,
      stations: current.stationsAt(time),
      positions: this.positions,
      isls: this.network.isls,
      up: this.network.up,
      linksChanged: this.linksChanged,
      serving: this.network.serving(time),
      paths: this.network.paths(time),
      selection: selection.value,
      shown: shown.value,
      handovers: this.shownHandovers.map((one) => ({ terminal: one.terminal, age: (now - one.begin) / 1000 })),
      phase: this.phase,
      formerPath: this.formerPath(),
      losses: lossesAround(current, time),
      loads: [],
      queues: [],
    };
    if (shown.value.load) this.frame.loads = loadsAt(this.frame, this.network.busy);
    this.scale.hidden = !shown.value.load || !current.hasLinkSeries();
    if (shown.value.queue) this.frame.queues = queuesAt(this.frame);
    this.queueScale.hidden = !shown.value.queue || current.queues.most === 0;
    this.queueScale.querySelector(".most")!.textContent = count(current.queues.most, "packet");
    this.moveCamera(this.frame);
    this.picture.draw(this.frame);
    this.drawLabels();
    this.drawTip();
    this.element.dispatchEvent(new CustomEvent("frame"));
    if (!this.cost.hidden) {
      this.cost.textContent =
        `${(performance.now() - begin).toFixed(1)} ms script, ${this.picture.drawCalls} ` + `draw calls`;
    }
    if (this.shownHandovers.length > 0) this.request();
  }

  /** The path of the flow before the finding that is open, while its time is shown. */
  private formerPath(): Frame["formerPath"] {
    const open = openFinding.value;
    const time = clock.time.value;
    if (!open || !this.network || time < open.begin - SHOWN_S || time > open.until + SHOWN_S) return null;
    return this.network.pathBefore(open.flow, open.begin, CHANGE_S);
  }

  private moveCamera(frame: Frame): void {
    const { destination } = this;
    this.destination = null;
    if (follows.value) {
      this.picture?.look(frame, nodesOf(frame), false);
    } else if (destination === "all") {
      this.picture?.look(frame, nodesOf(frame), !reducedMotion.matches);
    } else if (destination) {
      const path = frame.paths.find((one) => one.flows.includes(destination.flow));
      const nodes = path?.nodes ?? frame.formerPath?.nodes;
      if (nodes) this.picture?.look(frame, nodes, !reducedMotion.matches);
    }
  }

  private cameraButtons(): HTMLElement {
    const fit = h("button", { type: "button", title: "Show all stations and paths", onclick: () => this.fit() }, "Fit");
    const follow = h(
      "button",
      {
        type: "button",
        title: "Keep stations and paths in the picture",
        onclick: () => (follows.value = !follows.value),
      },
      "Follow",
    );
    follows.follow((on) => {
      follow.setAttribute("aria-pressed", String(on));
      this.request();
    });
    return h("div", { class: "camera" }, fit, follow);
  }

  private fit(): void {
    this.destination = "all";
    this.request();
  }

  /** Handovers that time passed since the last picture, as rings that grow and lines that say what happened. */
  private noteHandovers(time: number, now: number): void {
    const { time_s: times, terminal, from } = run.value!.tables.handovers;
    if (time > this.lastTime && clock.playing.value) {
      for (let row = 0; row < times.length; row++) {
        if (times[row] > this.lastTime && times[row] <= time && from[row]) {
          this.shownHandovers.push({ terminal: terminal[row] ?? "", begin: now, row });
        }
      }
    }
    this.lastTime = time;
    this.shownHandovers = this.shownHandovers.filter((one) => now - one.begin < HANDOVER_SHOWN_S * 1000);
    this.writeTicker(time);
  }

  private writeTicker(time: number): void {
    const { time_s: times, terminal, from, to, elevation_deg: elevation } = run.value!.tables.handovers;
    let last = -1;
    while (last + 1 < times.length && times[last + 1] <= time) last++;
    if (last === this.tickerRow && this.ticker.dataset["run"] === run.value!.id) return;
    this.tickerRow = last;
    this.ticker.dataset["run"] = run.value!.id;
    const lines: HTMLElement[] = [];
    for (let row = last; row >= 0 && lines.length < TICKER_LINES; row--) {
      if (!from[row]) continue;
      const arrow = `${from[row]} → ${to[row] ?? "none"}`;
      lines.push(
        h(
          "p",
          {},
          h("b", {}, moment(times[row])),
          ` ${terminal[row] ?? ""} `,
          h("span", {}, arrow, to[row] ? ` at ${elevation[row].toFixed(0)}°` : ""),
        ),
      );
    }
    this.ticker.replaceChildren(...(lines.length > 0 ? [h("h3", {}, "Handovers")] : []), ...lines);
  }

  private drawLabels(): void {
    const { frame, picture } = this;
    if (!frame || !picture) return;
    const wanted: { name: string; kind: string; at: [number, number] }[] = [];
    const add = (name: string, kind: string): void => {
      const place = positionOf(frame, name);
      const at = place && picture.project(...place);
      if (at) wanted.push({ name, kind, at });
    };
    for (const station of frame.stations) add(station.name, "station");
    const chosen = frame.selection?.kind === "satellite" ? frame.selection.name : "";
    if (frame.shown.names)
      for (const name of new Set([...frame.serving.values()].flat())) if (name !== chosen) add(name, "serving");
    if (chosen) add(chosen, "chosen");
    while (this.labels.childElementCount > wanted.length) this.labels.lastElementChild?.remove();
    while (this.labels.childElementCount < wanted.length) this.labels.append(h("span"));
    const taken: Box[] = wanted.map(({ at: [x, y] }) => ({ left: x - 7, right: x + 7, top: y - 7, bottom: y + 7 }));
    // The label of the selected object is placed first.
    const order = wanted.map((_, i) => i).reverse();
    order.sort((a, b) => RANK.indexOf(wanted[a].kind) - RANK.indexOf(wanted[b].kind));
    for (const i of order) {
      const { name, kind, at } = wanted[i];
      const label = this.labels.children[i] as HTMLElement;
      if (label.textContent !== name) label.textContent = name;
      const spot = freeSpot(at, name.length * (kind === "serving" ? 6.7 : 8), taken, i, this.size.width);
      label.className = spot ? kind : "hidden";
      if (!spot) continue;
      taken.push(spot);
      label.style.transform = `translate(${spot.left.toFixed(1)}px, ${spot.top.toFixed(1)}px)`;
    }
  }

  private drawTip(): void {
    const { frame, picture, pointer } = this;
    const found = frame && picture && pointer ? pickAt(frame, picture, pointer) : null;
    // The card has all of what is chosen already.
    const told = found !== null && found.kind === frame?.selection?.kind && found.name === frame.selection.name;
    this.tip.hidden = !found || told;
    this.stage.classList.toggle("over", found !== null);
    if (!found || told || !pointer || !frame) return;
    const { title, rows } = describe(found, frame);
    this.tip.replaceChildren(
      h("b", {}, title),
      ...rows.slice(0, TIP_ROWS).map(([name, value]) => h("p", {}, `${name} `, h("span", {}, value))),
    );
    const right = pointer[0] > this.size.width - 240;
    const low = pointer[1] > this.size.height - 130;
    this.tip.style.transform =
      `translate(${pointer[0] + (right ? -14 : 14)}px, ` +
      `${pointer[1] + (low ? -10 : 14)}px) translate(${right ? "-100%" : "0"}, ${low ? "-100%" : "0"})`;
  }

  private listen(): void {
    let pressed: [number, number] | null = null;
    const at = (event: PointerEvent): [number, number] => {
      const box = this.stage.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.stage.addEventListener("pointermove", (event) => {
      this.pointer = event.buttons === 0 ? at(event) : null;
      this.request();
    });
    this.stage.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.request();
    });
    this.stage.addEventListener("pointerdown", (event) => (pressed = at(event)), { capture: true });
    this.stage.addEventListener(
      "pointerup",
      (event) => {
        const [x, y] = at(event);
        // A press that moved was a turn of the globe.
        if (pressed && Math.hypot(x - pressed[0], y - pressed[1]) < 5) this.choose([x, y]);
        pressed = null;
      },
      { capture: true },
    );
    this.stage.addEventListener("keydown", (event) => this.key(event));
  }

  private choose(at: [number, number]): void {
    if (!this.frame || !this.picture) return;
    selection.value = pickAt(this.frame, this.picture, at);
  }

  private key(event: KeyboardEvent): void {
    const step = 0.12;
    const moves: Record<string, () => void> = {
      ArrowLeft: () => this.picture?.turn(-step, 0),
      ArrowRight: () => this.picture?.turn(step, 0),
      ArrowUp: () => this.picture?.turn(0, step),
      ArrowDown: () => this.picture?.turn(0, -step),
      "+": () => this.picture?.zoom(0.9),
      "=": () => this.picture?.zoom(0.9),
      "-": () => this.picture?.zoom(1.1),
      Escape: () => (selection.value = null),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
    this.request();
  }

  /** The links that are drawn in the colour of their utilisation: for tests. */
  loads(): readonly Load[] {
    return this.frame?.loads ?? [];
  }

  /** The nodes that are drawn in the colour of their queue: for tests. */
  queues(): readonly Queue[] {
    return this.frame?.queues ?? [];
  }

  /** Where something is on the page now; what the tests click on. */
  locate(name: string): [number, number] | null {
    const place = this.frame && positionOf(this.frame, name);
    const at = place && this.picture?.project(...place);
    if (!at) return null;
    const box = this.stage.getBoundingClientRect();
    return [at[0] + box.left, at[1] + box.top];
  }
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const RANK = ["chosen", "station", "serving"];
const LINE = 17;

/** A place for a name beside its mark that covers no other name or mark; null if there is none. */
function freeSpot([x, y]: [number, number], width: number, taken: Box[], own: number, room: number): Box | null {
  const box = (left: number, top: number): Box => ({ left, right: left + width, top, bottom: top + LINE });
  const spots = [
    box(x + 11, y - LINE / 2),
    box(x - 11 - width, y - LINE / 2),
    box(x + 8, y + 7),
    box(x - width / 2, y - LINE - 9),
    box(x - width / 2, y + 9),
  ];
  const free = (spot: Box): boolean =>
    spot.left >= 2 &&
    spot.right <= room - 2 &&
    taken.every(
      (other, i) =>
        i === own ||
        spot.right < other.left ||
        spot.left > other.right ||
        spot.bottom < other.top ||
        spot.top > other.bottom,
    );
  return spots.find(free) ?? null;
}

/** Nodes that lose packets within LOSS_S of a moment. */
function lossesAround(current: Run, time: number): Frame["losses"] {
  const { time_s: times, link, node } = current.tables.drops;
  const found = new Map<string, { node: string; packets: number; age: number }>();
  for (let row = lastAtOrBefore(times, time + LOSS_S); row >= 0 && times[row] >= time - LOSS_S; row--) {
    const place = link[row]?.split("->")[0] ?? node[row] ?? "";
    const age = Math.abs(times[row] - time) / LOSS_S;
    const known = found.get(place);
    if (known) {
      known.packets++;
      known.age = Math.min(known.age, age);
    } else {
      found.set(place, { node: place, packets: 1, age });
    }
  }
  return [...found.values()];
}

function layerMenu(): HTMLElement {
  const names: [keyof Shown, string][] = [
    ["isls", "ISLs"],
    ["planes", "Orbital planes"],
    ["coverage", "Coverage circles"],
    ["names", "Satellite names"],
    ["night", "Day and night"],
    ["load", "Utilisation of links"],
    ["queue", "Queues of nodes"],
  ];
  const boxes = names.map(([key, text]) => {
    const box = h("input", { type: "checkbox", checked: shown.value[key] });
    box.addEventListener("change", () => (shown.value = { ...shown.value, [key]: box.checked }));
    return h("label", {}, box, text);
  });
  return h(
    "details",
    { class: "layers" },
    h("summary", { title: "Layers", "aria-label": "Layers" }, icon(ICONS.layers)),
    h("div", {}, ...boxes),
  );
}

function viewSwitch(): HTMLElement {
  const button = h("button", {
    class: "view-switch",
    type: "button",
    onclick: () => (view.value = view.value === "globe" ? "map" : "globe"),
  });
  view.follow((value) => {
    const other = value === "globe" ? "map" : "globe";
    button.replaceChildren(icon(ICONS[other]));
    button.title = other === "map" ? "Flat map" : "Globe";
    button.setAttribute("aria-label", button.title);
  });
  globeFails.watch(() => {
    button.disabled = true;
    button.title = "The globe needs WebGL, which this browser does not offer";
  });
  return button;
}

export type { Selection };
