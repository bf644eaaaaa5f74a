import { lastAtOrBefore } from "./columns";
import type { Run } from "./run";

/** A path of one or more flows through the network at a time, and its propagation delay. */
export interface FlowPath {
  flows: string[];
  nodes: string[];
  delayS: number;
}

/** An ISL between two satellites, by their positions in `run.sky`, with the links of both directions. */
export interface Isl {
  a: number;
  b: number;
  name: string;
  back: string;
}

/** What the network looks like at a time: who serves whom, which ISLs are up, which paths flows take. */
export class Network {
  readonly isls: Isl[] = [];
  /** Positions in `isls` of those with a series of their utilisation. */
  readonly busy: readonly number[];
  /** Whether each of `isls` is up at the time of the last `moveTo`. */
  readonly up: Uint8Array;

  private readonly initiallyUp: Uint8Array;
  /** Changes of `up` in the order of time. */
  private readonly changes: { time: number; isl: number; up: boolean }[] = [];
  private next = 0;
  private now = -Infinity;

  constructor(private readonly run: Run) {
    const byTransmitter = run.links.some((link) => link.kind === "isl" && link.to === null);
    const before = byTransmitter ? this.fromTransmitters() : this.fromPairs();
    this.initiallyUp = Uint8Array.from(before, (up) => (up ? 1 : 0));
    this.up = this.initiallyUp.slice();
    this.busy = [...this.isls.keys()].filter(
      (i) => run.hasLinkSeries(this.isls[i].name) || run.hasLinkSeries(this.isls[i].back),
    );
  }

  /** ISLs whose two ends the table of links names. Whether each is up at the start. */
  private fromPairs(): boolean[] {
    const { run } = this;
    const rowOf = new Map<string, number>();
    for (const link of run.links) {
      if (link.kind !== "isl" || link.to === null) continue;
      const a = run.sky.index.get(link.from);
      const b = run.sky.index.get(link.to);
      if (a === undefined || b === undefined || a > b) continue;
      rowOf.set(link.name, this.isls.length);
      this.isls.push({ a, b, name: link.name, back: `${link.to}->${link.from}` });
    }
    const { time_s: times, link, up } = run.tables.link_changes;
    // Links that are up at the start have a change at 0 s, so others are down until one. Runs of older versions have
    // no changes at 0 s.
    const told = times.length > 0 && times[0] === 0;
    const before = this.isls.map(() => !told);
    const seen = new Set<number>();
    for (let row = 0; row < link.length; row++) {
      const isl = rowOf.get(link[row] ?? "");
      if (isl === undefined) continue;
      // The first change tells what was before it.
      if (!seen.has(isl)) before[isl] = !up[row];
      seen.add(isl);
      this.changes.push({ time: times[row], isl, up: up[row] });
    }
    return before;
  }

  /**
   * ISLs of transmitters that are linked to now this satellite, now that one. The table of changes names no partner,
   * but has the two transmitters of a new ISL one after the other.
   */
  private fromTransmitters(): boolean[] {
    const { sky, tables, links } = this.run;
    const transmitters = new Set(
      links.filter((link) => link.kind === "isl" && link.to === null).map((link) => link.name),
    );
    const current = new Map<string, number>();
    const { time_s: times, link, up } = tables.link_changes;
    const end = (transmitter: string, time: number): void => {
      const isl = current.get(transmitter);
      if (isl === undefined) return;
      this.changes.push({ time, isl, up: false });
      current.delete(this.isls[isl].name);
      current.delete(this.isls[isl].back);
    };
    let waiting: { name: string; time: number } | null = null;
    for (let row = 0; row < times.length; row++) {
      const name = link[row] ?? "";
      if (!transmitters.has(name)) continue;
      if (!up[row]) {
        end(name, times[row]);
        continue;
      }
      end(name, times[row]);
      if (waiting?.time !== times[row]) {
        waiting = { name, time: times[row] };
        continue;
      }
      const [a, b] = [waiting.name, name].map((one) => sky.index.get(one.split("->")[0]));
      if (a !== undefined && b !== undefined) {
        const isl = this.isls.length;
        this.isls.push({ a, b, name: waiting.name, back: name });
        current.set(waiting.name, isl).set(name, isl);
        this.changes.push({ time: times[row], isl, up: true });
      }
      waiting = null;
    }
    return this.isls.map(() => false);
  }

  /** Brings `up` to a time, forwards by what changed since, backwards from the start. True if anything changed. */
  moveTo(time: number): boolean {
    let changed = false;
    if (time < this.now) {
      this.up.set(this.initiallyUp);
      this.next = 0;
      changed = true;
    }
    this.now = time;
    for (; this.next < this.changes.length && this.changes[this.next].time <= time; this.next++) {
      const { isl, up } = this.changes[this.next];
      this.up[isl] = up ? 1 : 0;
      changed = true;
    }
    return changed;
  }

  /** The satellites of each station at a time: one for each antenna that has one. */
  serving(time: number): Map<string, readonly string[]> {
    const { time_s: times, terminal, from, to, kind } = this.run.tables.handovers;
    const last = lastAtOrBefore(times, time);
    const serving = new Map<string, string[]>();
    for (let row = 0; row <= last; row++) {
      // Between gateways the satellite need not change. Runs of older versions name no kinds.
      if (kind?.[row] === "gateway") continue;
      // A row is of one antenna: the others keep what they have.
      const name = terminal[row] ?? "";
      const kept = (serving.get(name) ?? []).filter((one) => one !== from[row]);
      const satellite = to[row];
      if (satellite) kept.push(satellite);
      if (kept.length > 0) serving.set(name, kept);
      else serving.delete(name);
    }
    return serving;
  }

  /** The distinct paths in use at a time. */
  paths(time: number): FlowPath[] {
    const { time_s: times, flow, path, delay_s: delay } = this.run.tables.paths;
    const last = lastAtOrBefore(times, time);
    const rows = new Map<string, number>();
    for (let row = 0; row <= last; row++) rows.set(flow[row] ?? "", row);
    const paths = new Map<string, FlowPath>();
    for (const [name, row] of rows) {
      const text = path[row];
      if (!text) continue;
      const known = paths.get(text);
      if (known) known.flows.push(name);
      else paths.set(text, { flows: [name], nodes: text.split(" > "), delayS: delay[row] });
    }
    return [...paths.values()];
  }

  /**
   * The path that a flow took before the change of its path nearest to a time, at most `within` seconds away; null
   * where there is none.
   */
  pathBefore(flow: string, time: number, within: number): FlowPath | null {
    const { time_s: times, path, delay_s: delay } = this.run.tables.paths;
    const rows = this.run.happenings.pathRows(flow);
    let nearest = 0;
    for (let i = 1; i < rows.length; i++) {
      const apart = Math.abs(times[rows[i]] - time);
      if (apart <= within && (nearest === 0 || apart < Math.abs(times[rows[nearest]] - time))) nearest = i;
    }
    const row = nearest > 0 ? rows[nearest - 1] : -1;
    const text = row < 0 ? null : path[row];
    return text ? { flows: [flow], nodes: text.split(" > "), delayS: delay[row] } : null;
  }
}
