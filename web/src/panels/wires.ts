import type { Link, Run } from "../data/run";
import { loadColour, palette } from "../layers/palette";
import { h, svg } from "./dom";
import { count } from "./format";

const WIDTH = 1000;
const HEIGHT = 320;
const MARGIN = 90;

interface Spot {
  x: number;
  y: number;
}

/** A network without satellites as a drawing: nodes from the senders on the left to the receivers on the right. */
export class Wires {
  readonly element: HTMLElement;
  private readonly nodes = new Map<string, SVGElement>();
  private readonly marks: { links: Link[]; line: SVGElement; text: SVGElement }[] = [];

  constructor(private readonly run: Run) {
    const root = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "The network" });
    const spots = places(run);
    for (const links of pairs(run.links)) {
      const [a, b] = [spots.get(links[0].from), spots.get(links[0].to ?? "")];
      if (!a || !b) continue;
      const line = svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y });
      const text = svg("text", {
        x: (a.x + b.x) / 2,
        y: (a.y + b.y) / 2 - 12,
        "text-anchor": "middle",
        class: "queue",
      });
      this.marks.push({ links, line, text });
      root.append(line, text);
    }
    for (const [name, { x, y }] of spots) {
      const text = svg("text", { x, y: y + 26, "text-anchor": "middle" });
      text.textContent = name;
      const node = svg("circle", { cx: x, cy: y, r: 8, "data-node": name });
      this.nodes.set(name, node);
      root.append(node, text);
    }
    this.element = h("div", { class: "wires" });
    this.element.append(root);
    const { most } = run.queues;
    if (most > 0)
      this.element.append(
        h("p", { class: "load-scale" }, "Queue", h("span", {}, "0"), h("i"), h("span", {}, count(most, "packet"))),
      );
  }

  /** Shows queues and load at a time. */
  update(time: number): void {
    for (const { links, line, text } of this.marks) {
      const value = (measure: "queue_packets" | "utilisation"): number =>
        Math.max(0, ...links.map((link) => this.run.linkValue(link.name, measure, time)).filter(Number.isFinite));
      const queue = value("queue_packets");
      line.setAttribute("style", `stroke-width: ${(2 + 5 * value("utilisation")).toFixed(1)}`);
      text.textContent = queue > 0 ? `queue ${queue}` : "";
    }
    const { load } = palette();
    for (const [name, node] of this.nodes) {
      const packets = this.run.queueAt(name, time);
      const colour = packets > 0 ? `fill: rgb(${loadColour(load, packets / this.run.queues.most).join(" ")})` : "";
      node.setAttribute("style", colour);
    }
  }
}

/** Both directions between two nodes together. */
function pairs(links: readonly Link[]): Link[][] {
  const found = new Map<string, Link[]>();
  for (const link of links) {
    if (link.to === null) continue;
    const key = [link.from, link.to].sort().join("\n");
    found.set(key, [...(found.get(key) ?? []), link]);
  }
  return [...found.values()];
}

/** Columns by the number of links from the nearest sender, evenly spread within a column. */
function places(run: Run): Map<string, Spot> {
  const next = new Map<string, string[]>();
  for (const { from, to } of run.links) if (to !== null) next.set(from, [...(next.get(from) ?? []), to]);
  const column = new Map<string, number>();
  let border = [...new Set(run.tables.flows.from.map((name) => name ?? ""))];
  for (let depth = 0; border.length > 0; depth++) {
    border.forEach((name) => column.set(name, depth));
    border = [...new Set(border.flatMap((name) => next.get(name) ?? []))].filter((name) => !column.has(name));
  }
  for (const name of next.keys()) if (!column.has(name)) column.set(name, 0);
  const deepest = Math.max(1, ...column.values());
  const spots = new Map<string, Spot>();
  for (let depth = 0; depth <= deepest; depth++) {
    const members = [...column]
      .filter(([, at]) => at === depth)
      .map(([name]) => name)
      .sort();
    members.forEach((name, i) => {
      const x = MARGIN + (depth / deepest) * (WIDTH - 2 * MARGIN);
      spots.set(name, { x, y: ((i + 0.5) / members.length) * HEIGHT });
    });
  }
  return spots;
}
