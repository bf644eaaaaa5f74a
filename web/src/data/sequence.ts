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
  sent: Points;
  again: Points;
  lost: Points;
  /** The highest acknowledged segment, after each ACK. */
  acks: Series;
  /** ACKs that acknowledged nothing new. */
  duplicates: Points;
  /** The highest acknowledged segment and cwnd: nothing beyond is sent, but for what a recovery allows. */
  window: Series;
}

/** Why there is no sequence view, and what would give one. */
export class NoSequence extends Error {}

/** No ACK is longer: an IPv4 header of 20 bytes and the longest TCP header, 60 bytes (RFC 9293, section 3.1). */
const LONGEST_ACK_BYTES = 80;

const known = new WeakMap<Run, Promise<{ table: Tables["packets"]; rows: Map<string, number[]> } | null>>();

/** Reads the packets of a run once, and picks those of a flow. */
export async function sequenceOf(run: Run, flow: string): Promise<Sequence> {
  let read = known.get(run);
  if (!read) known.set(run, (read = run.packets().then((table) => table && { table, rows: groupBy(table.flow) })));
  const packets = await read;
  const rows = packets?.rows.get(flow) ?? [];
  if (!packets || packets.table.time_s.length === 0) throw new NoSequence(`This run recorded no packets. Put  packets = ["${firstLink(run, flow)}"]  under [records] and run it again.`);
  const link = linkOfData(packets.table, rows);
  if (link === null) throw new NoSequence(`No recorded link carries the data of ${flow}. Put  packets = ["${firstLink(run, flow)}"]  under [records] and run it again.`);
  return sequence(run, flow, packets.table, rows, link);
}

/** A link that the flow's data take first, for the reader to copy. */
function firstLink(run: Run, flow: string): string {
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

function sequence(run: Run, flow: string, table: Tables["packets"], rows: readonly number[], link: string): Sequence {
  const { time_s: time, event, seq, link: on } = table;
  const [sent, again, lost, duplicates, acks] = [new Collected(), new Collected(), new Collected(), new Collected(), new Collected()];
  const seen = new Set<number>();
  let highest = -1;
  for (const row of rows) {
    const kind = event[row];
    if (kind === "ack") {
      if (seq[row] > highest) highest = seq[row];
      else duplicates.add(time[row], highest);
      if (highest >= 0) acks.add(time[row], highest);
    } else if (on[row] === link && kind === "enq") {
      (seen.has(seq[row]) ? again : sent).add(time[row], seq[row]);
      seen.add(seq[row]);
    } else if (on[row] === link && (kind === "drop" || kind === "loss")) {
      lost.add(time[row], seq[row]);
    }
  }
  const { x, y } = acks.points();
  const cwnd = run.flowSeries(flow, "cwnd");
  const window = Float64Array.from(x, (at, i) => {
    // A step of the series stands for the times up to it.
    const row = Math.min(cwnd.x.length - 1, lastAtOrBefore(cwnd.x, at - 1e-9) + 1);
    return row < 0 ? NaN : y[i] + cwnd.ys[0][row];
  });
  return { link, sent: sent.points(), again: again.points(), lost: lost.points(), acks: { x, ys: [y] }, duplicates: duplicates.points(), window: { x, ys: [window] } };
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
