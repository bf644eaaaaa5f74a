import { lastAtOrBefore } from "./columns";
import type { Run } from "./run";

/** A way of one or more flows through the network at a moment. */
export interface Way {
  flows: string[];
  nodes: string[];
  delayS: number;
}

/** What the network looks like at a time: who serves whom, which ISLs are up, which way flows take. */
export class Network {
  /** ISLs, one per pair of satellites: their positions in `run.sky` and the row of one direction. */
  readonly isls: { a: number; b: number; name: string }[] = [];
  /** Whether each of `isls` is up at the time of the last `moveTo`. */
  readonly up: Uint8Array;

  private readonly rowOf = new Map<string, number>();
  private readonly initiallyUp: Uint8Array;
  private next = 0;
  private now = -Infinity;

  constructor(private readonly run: Run) {
    for (const link of run.links) {
      if (link.kind !== "isl" || link.to === null) continue;
      const a = run.sky.index.get(link.from);
      const b = run.sky.index.get(link.to);
      if (a === undefined || b === undefined || a > b) continue;
      this.rowOf.set(link.name, this.isls.length);
      this.isls.push({ a, b, name: link.name });
    }
    this.initiallyUp = new Uint8Array(this.isls.length).fill(1);
    const seen = new Set<number>();
    const { link, up } = run.tables.link_changes;
    for (let row = 0; row < link.length; row++) {
      const isl = this.rowOf.get(link[row] ?? "");
      if (isl === undefined || seen.has(isl)) continue;
      seen.add(isl);
      this.initiallyUp[isl] = up[row] ? 0 : 1;
    }
    this.up = this.initiallyUp.slice();
  }

  /** Brings `up` to a time, forwards by what changed since, backwards from the start. True if anything changed. */
  moveTo(time: number): boolean {
    const { time_s: times, link, up } = this.run.tables.link_changes;
    let changed = false;
    if (time < this.now) {
      this.up.set(this.initiallyUp);
      this.next = 0;
      changed = true;
    }
    this.now = time;
    while (this.next < times.length && times[this.next] <= time) {
      const isl = this.rowOf.get(link[this.next] ?? "");
      if (isl !== undefined) {
        this.up[isl] = up[this.next] ? 1 : 0;
        changed = true;
      }
      this.next++;
    }
    return changed;
  }

  /** The satellite of each station at a time. */
  serving(time: number): Map<string, string> {
    const { time_s: times, terminal, to, kind } = this.run.tables.handovers;
    const last = lastAtOrBefore(times, time);
    const serving = new Map<string, string>();
    for (let row = 0; row <= last; row++) {
      // Between gateways the satellite need not change. Runs of older versions name no kinds.
      if (kind?.[row] === "gateway") continue;
      const satellite = to[row];
      if (satellite) serving.set(terminal[row] ?? "", satellite);
      else serving.delete(terminal[row] ?? "");
    }
    return serving;
  }

  /** The distinct ways in use at a time. */
  ways(time: number): Way[] {
    const { time_s: times, flow, path, delay_s: delay } = this.run.tables.paths;
    const last = lastAtOrBefore(times, time);
    const rows = new Map<string, number>();
    for (let row = 0; row <= last; row++) rows.set(flow[row] ?? "", row);
    const ways = new Map<string, Way>();
    for (const [name, row] of rows) {
      const text = path[row];
      if (!text) continue;
      const way = ways.get(text);
      if (way) way.flows.push(name);
      else ways.set(text, { flows: [name], nodes: text.split(" > "), delayS: delay[row] });
    }
    return [...ways.values()];
  }
}
