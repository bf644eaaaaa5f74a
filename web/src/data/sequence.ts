import type { Tables } from "../generated/tables";
import { groupBy, lastAtOrBefore } from "./columns";
import type { Series } from "./decimate";
import type { Run } from "./run";

/** Points of the sequence view: times and segment numbers. */
export interface Points {
  x: Float64Array;
  y: Float64Array;
}

/** What one flow sent over the first recorded link that carries its data, and what came back. */
export interface Sequence {
  link: string;
  /** The part of the run that was recorded, s; null for all of it. */
  part: readonly [number, number] | null;
  /** Whether the run itself recorded nothing, and was made again for these packets. */
  later: boolean;
  sent: Points;
  again: Points;
  /** Lost or dropped anywhere on the path. */
  lost: Points;
  /** The highest acknowledged segment, after each ACK. */
  acks: Series;
  /** ACKs that acknowledged nothing new. */
  duplicates: Points;
  /** The highest acknowledged segment and cwnd: nothing beyond is sent, but for what a recovery allows. */
  window: Series;
}

/** No ACK is longer: an IPv4 header of 20 bytes and the longest TCP header, 60 bytes (RFC 9293, section 3.1). */
const LONGEST_ACK_BYTES = 80;

const known = new WeakMap<Run, Promise<{ table: Tables["packets"]; rows: Map<string, number[]> } | null>>();

/** What the run itself recorded of a flow's packets, read once; null where it recorded none of its data. */
export async function sequenceOf(run: Run, flow: string): Promise<Sequence | null> {
  let read = known.get(run);
  if (!read) known.set(run, (read = run.packets().then((table) => table && { table, rows: groupBy(table.flow) })));
  const packets = await read;
  return packets && sequence(run, flow, packets.table, packets.rows.get(flow) ?? [], null, false);
}

/** What was recorded later of one flow, in a part of the run. Rows before it tell where the flow stood at its begin. */
export function sequenceFrom(run: Run, flow: string, table: Tables["packets"], part: readonly [number, number] | null): Sequence | null {
  return sequence(run, flow, table, Array.from(table.time_s, (_, row) => row), part, true);
}

/** A link that the flow's data take first, for the reader to copy. */
export function firstLink(run: Run, flow: string): string {
  const from = run.tables.flows.from[run.flows.indexOf(flow)];
  const { link, from: begin, packets } = run.tables.links;
  const own = link.map((_, row) => row).filter((row) => begin[row] === from).sort((a, b) => packets[b] - packets[a]);
  return (own.length > 0 ? link[own[0]] : null) ?? "left->right";
}

/** The link on which the flow's data were seen first; null where only its ACKs were. */
function linkOfData({ link, event, size_bytes: size }: Tables["packets"], rows: readonly number[]): string | null {
  for (const row of rows) if (event[row] === "enq" && size[row] > LONGEST_ACK_BYTES) return link[row];
  return null;
}

function sequence(run: Run, flow: string, table: Tables["packets"], rows: readonly number[], part: readonly [number, number] | null, later: boolean): Sequence | null {
  const link = linkOfData(table, rows);
  if (link === null) return null;
  const { time_s: time, event, seq, link: on } = table;
  const [sent, again, duplicates, acks] = [new Collected(), new Collected(), new Collected(), new Collected()];
  const seen = new Set<number>();
  const from = part?.[0] ?? -Infinity;
  let [highest, before] = [-1, -1];
  for (const row of rows) {
    const kind = event[row];
    const inside = time[row] >= from;
    if (kind === "ack") {
      if (seq[row] > highest) highest = seq[row];
      else if (inside) duplicates.add(time[row], highest);
      if (highest >= 0) acks.add(Math.max(time[row], from), highest);
    } else if (kind === "enq" && !inside) {
      before = Math.max(before, seq[row]);
    } else if (on[row] === link && kind === "enq") {
      (seen.has(seq[row]) || seq[row] <= before ? again : sent).add(time[row], seq[row]);
      seen.add(seq[row]);
    }
  }
  const { x, y } = acks.points();
  const cwnd = run.flowSeries(flow, "cwnd");
  const window = Float64Array.from(x, (at, i) => {
    // A step of the series stands for the times up to it.
    const row = Math.min(cwnd.x.length - 1, lastAtOrBefore(cwnd.x, at - 1e-9) + 1);
    return row < 0 ? NaN : y[i] + cwnd.ys[0][row];
  });
  return { link, part, later, sent: sent.points(), again: again.points(), lost: lostOf(run, flow, part), acks: { x, ys: [y] }, duplicates: duplicates.points(), window: { x, ys: [window] } };
}

/** Data packets of the flow that were lost, wherever it was. */
function lostOf(run: Run, flow: string, part: readonly [number, number] | null): Points {
  const { time_s: time, seq, is_ack: ack } = run.tables.drops;
  const lost = new Collected();
  for (const row of run.happenings.dropRows(flow)) {
    if (!ack[row] && (!part || (time[row] >= part[0] && time[row] <= part[1]))) lost.add(time[row], seq[row]);
  }
  return lost.points();
}

class Collected {
  private readonly x: number[] = [];
  private readonly y: number[] = [];

  add(x: number, y: number): void {
    this.x.push(x);
    this.y.push(y);
  }

  points(): Points {
    return { x: Float64Array.from(this.x), y: Float64Array.from(this.y) };
  }
}
