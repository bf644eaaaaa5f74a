import type { Tables } from "../generated/tables";
import { groupBy, lastAtOrBefore } from "./columns";
import type { Series } from "./decimate";
import type { Run } from "./run";

/** Points of the sequence view: times, and numbers in its unit. */
export interface Points {
  x: Float64Array;
  y: Float64Array;
}

/** Stretches of numbers at a time: both ends belong to them. */
export interface Bars extends Points {
  y2: Float64Array;
}

/**
 * What the numbers count. Skyhop's own TCP numbers segments and the TCP of Linux bytes; a packet of QUIC has a number
 * of its
 * own, also when it repeats data, and the tables do not say which of them an ACK acknowledges.
 */
export type Unit = "segments" | "kB" | "packet numbers";

/** What one flow sent over the first recorded link that carries its data, and what came back. */
export interface Sequence {
  link: string;
  unit: Unit;
  /** The part of the run that was recorded, s; null for all of it. */
  part: readonly [number, number] | null;
  /** Whether the run itself recorded nothing, and was made again for these packets. */
  later: boolean;
  sent: Points;
  again: Points;
  /** Lost or dropped anywhere on the path. */
  lost: Points;
  /** The highest number that is acknowledged, after each ACK; no points where the tables do not have it. */
  acks: Series;
  /** ACKs that acknowledged nothing new. */
  duplicates: Points;
  /** SACK blocks of ACKs: what arrived above the cumulative ACK. */
  sacks: Bars;
  /** Blocks that tell of data which arrived twice (RFC 2883). */
  dsacks: Bars;
  /** What is acknowledged and cwnd: nothing beyond is sent, but for what a recovery allows. */
  window: Series;
  /** What is acknowledged and the window that the receiver says; no points where it says none. */
  offered: Series;
  /** Times of packets with a flag, or with a mark that the network set, by its name. */
  flags: ReadonlyMap<string, number[]>;
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

/** What was recorded later of one flow, in a part of the run. Rows before it tell where the flow stood at its start. */
export function sequenceFrom(
  run: Run,
  flow: string,
  table: Tables["packets"],
  part: readonly [number, number] | null,
): Sequence | null {
  return sequence(
    run,
    flow,
    table,
    Array.from(table.time_s, (_, row) => row),
    part,
    true,
  );
}

/** A link that the flow's data take first, for the reader to copy. */
export function firstLink(run: Run, flow: string): string {
  const from = run.tables.flows.from[run.flows.indexOf(flow)];
  const { link, from: begin, packets } = run.tables.links;
  const own = link
    .map((_, row) => row)
    .filter((row) => begin[row] === from)
    .sort((a, b) => packets[b] - packets[a]);
  return (own.length > 0 ? link[own[0]] : null) ?? "left->right";
}

/** The link on which the flow's data were seen first; null where only its ACKs were. */
function linkOfData(
  { link, event, size_bytes: size, is_ack: ack }: Tables["packets"],
  rows: readonly number[],
): string | null {
  for (const row of rows) if (event[row] === "enq" && !ack?.[row] && size[row] > LONGEST_ACK_BYTES) return link[row];
  return null;
}

function sequence(
  run: Run,
  flow: string,
  table: Tables["packets"],
  rows: readonly number[],
  part: readonly [number, number] | null,
  later: boolean,
): Sequence | null {
  const link = linkOfData(table, rows);
  if (link === null) return null;
  const { time_s: time, event, seq, link: on } = table;
  const numbers = new Numbers(table, rows, link, segmentBytes(run, flow));
  const [sent, again, duplicates, acks, offered] = Array.from({ length: 5 }, () => new Collected());
  const [sacks, dsacks] = [new Stretches(), new Stretches()];
  const flags = new Map<string, number[]>();
  const seen = new Set<number>();
  const from = part?.[0] ?? -Infinity;
  let [highest, before] = [-1, -1];
  for (const row of rows) {
    const kind = event[row];
    const inside = time[row] >= from;
    if (kind === "ack") {
      const number = numbers.acknowledged(row);
      if (number > highest) highest = number;
      else if (inside && !Number.isNaN(number)) duplicates.add(time[row], highest);
      if (highest < 0) continue;
      const at = Math.max(time[row], from);
      acks.add(at, highest);
      offered.add(at, numbers.offered(row));
      if (!inside) continue;
      for (const [first, last, twice] of numbers.blocks(row)) (twice ? dsacks : sacks).add(time[row], first, last);
      noteFlags(flags, table, row, ["ECE"]);
    } else if (kind === "enq" && on[row] === link && !table.is_ack?.[row] && !numbers.isPureAck(row)) {
      if (inside) {
        // Tables of older versions do not say what repeats.
        const repeats = table.retransmission ? table.retransmission[row] : seen.has(seq[row]) || seq[row] <= before;
        (repeats ? again : sent).add(time[row], numbers.ofData(row));
        noteFlags(flags, table, row, ["SYN", "FIN", "CWR"]);
      } else {
        before = Math.max(before, seq[row]);
      }
      seen.add(seq[row]);
    } else if (kind === "mark" && inside && !table.is_ack?.[row]) {
      note(flags, "marked", time[row]);
    }
  }
  const { x, y } = acks.points();
  const cwnd = run.flowSeries(flow, "cwnd");
  const window = Float64Array.from(x, (at, i) => {
    // A step of the series stands for the times up to it.
    const row = Math.min(cwnd.x.length - 1, lastAtOrBefore(cwnd.x, at - 1e-9) + 1);
    return row < 0 ? NaN : y[i] + cwnd.ys[0][row] * numbers.segment;
  });
  const lost = lostOf(run, flow, part, numbers.scale);
  return {
    link,
    unit: numbers.unit,
    part,
    later,
    lost,
    flags,
    sent: sent.points(),
    again: again.points(),
    duplicates: duplicates.points(),
    acks: { x, ys: [y] },
    window: { x, ys: [window] },
    offered: { x, ys: [offered.points().y] },
    sacks: sacks.bars(),
    dsacks: dsacks.bars(),
  };
}

/** Notes the time of a packet under those of the flags that it has. */
function noteFlags(
  times: Map<string, number[]>,
  table: Tables["packets"],
  row: number,
  wanted: readonly string[],
): void {
  const text = table.tcp_flags?.[row];
  if (!text) return;
  const own = text.split(" ");
  // With SYN, ECE and CWR ask for ECN and tell of nothing (RFC 3168, section 6.1.1).
  if (own.includes("SYN")) {
    if (wanted.includes("SYN")) note(times, "SYN", table.time_s[row]);
    return;
  }
  for (const flag of wanted) if (own.includes(flag)) note(times, flag, table.time_s[row]);
}

function note(times: Map<string, number[]>, name: string, time: number): void {
  const known = times.get(name);
  if (known) known.push(time);
  else times.set(name, [time]);
}

/** User bytes of a full segment of a flow's TCP, in which its window counts; null where the scenario does not say. */
function segmentBytes({ scenario }: Run, flow: string): number | null {
  const entry = (scenario.flows ?? []).find(({ name, count }) =>
    count == null ? name === flow : flow.startsWith(`${name}-`) && /^\d+$/.test(flow.slice(name.length + 1)),
  ) as { tcp?: { mss?: string; timestamps?: string }; via?: unknown } | undefined;
  const mss = Number.parseFloat(entry?.tcp?.mss ?? "");
  // The last leg of a split connection may have the TCP of its proxy. Linux takes timestamps from the MSS.
  return Number.isNaN(mss) || entry?.via ? null : mss - (entry?.tcp?.timestamps === "on" ? 12 : 0);
}

/** The numbers of one flow's packets and of what its ACKs say, in one unit. */
class Numbers {
  readonly unit: Unit;
  /** What the numbers of the table are multiplied by. */
  readonly scale: number;
  /** A full segment in the unit. */
  readonly segment: number;
  /** First bytes of segments, ascending, and the numbers of the segments that they begin. */
  private readonly bytes: number[] = [];
  private readonly begins: number[] = [];
  private readonly fullBytes: number;

  constructor(
    private readonly table: Tables["packets"],
    rows: readonly number[],
    link: string,
    segment: number | null,
  ) {
    const { event, link: on, seq, payload_bytes: payload, tcp_seq: first } = table;
    const data = rows.filter((row) => event[row] === "enq" && on[row] === link && payload?.[row] > 0);
    // The scenario says it: the packets of a flow may all be small.
    this.fullBytes = segment ?? data.reduce((most, row) => Math.max(most, payload[row]), 1);
    const tcp = data.find((row) => !Number.isNaN(first?.[row] ?? NaN));
    // The first segment begins with byte 1 either way, later ones do not.
    const ofBytes = tcp !== undefined && data.every((row) => seq[row] === first[row]);
    this.unit = ofBytes ? "kB" : data.length > 0 && tcp === undefined ? "packet numbers" : "segments";
    this.scale = this.unit === "kB" ? 1e-3 : 1;
    this.segment = this.unit === "kB" ? this.fullBytes / 1000 : 1;
    if (this.unit === "segments" && tcp !== undefined) this.learn(rows, data);
  }

  /** Where segments begin, from the first ACK and from the data in the order in which they were sent first. */
  private learn(rows: readonly number[], data: readonly number[]): void {
    const { event, seq, payload_bytes: payload, tcp_seq: first, tcp_ack: next } = this.table;
    const know = (byte: number, segment: number): void => {
      if (!(byte > (this.bytes.at(-1) ?? -1))) return;
      this.bytes.push(byte);
      this.begins.push(segment);
    };
    const ack = rows.find((row) => event[row] === "ack" && seq[row] >= 0 && next[row] >= 0);
    if (ack !== undefined) know(next[ack], seq[ack] + 1);
    for (const row of data) {
      know(first[row], seq[row]);
      know(first[row] + payload[row], seq[row] + 1);
    }
  }

  ofData(row: number): number {
    return this.table.seq[row] * this.scale;
  }

  /** Whether a packet of the sender carries no data: the end of a handshake, say. */
  isPureAck(row: number): boolean {
    const { protocol, payload_bytes: payload, tcp_flags: flags } = this.table;
    return protocol?.[row] === "tcp" && payload[row] === 0 && !/SYN|FIN/.test(flags[row] ?? "");
  }

  /** What an ACK acknowledges: a segment, or all bytes below a number; NaN where the table does not say it. */
  acknowledged(row: number): number {
    if (this.unit === "segments") return this.table.seq[row];
    return this.unit === "kB" ? this.table.tcp_ack[row] * this.scale : NaN;
  }

  /** The end of the window that the receiver says. */
  offered(row: number): number {
    const { tcp_ack: next, tcp_window_bytes: window } = this.table;
    return window ? this.at(next[row] + window[row]) : NaN;
  }

  /**
   * The SACK blocks of an ACK: first and last number, and whether it tells of data that arrived twice (RFC 2883,
   * section 4).
   */
  blocks(row: number): [number, number, boolean][] {
    const text = this.table.tcp_sack?.[row];
    if (!text) return [];
    const blocks = text.split(" ").map((block) => block.split("-").map(Number));
    const [[first, end], second] = blocks;
    const twice = end <= this.table.tcp_ack[row] || (second !== undefined && first >= second[0] && end <= second[1]);
    // The block's last segment is the one before the byte after it; bytes have no such gap.
    const last = this.unit === "segments" ? 1 : 0;
    return blocks.map(([from, to], i) => [this.at(from), this.at(to) - last, i === 0 && twice]);
  }

  /** The number in the unit at which a byte stands; between two that are known, in proportion. */
  private at(byte: number): number {
    if (this.unit !== "segments") return byte * this.scale;
    const { bytes, begins, fullBytes } = this;
    const i = lastAtOrBefore(bytes, byte);
    if (bytes.length === 0) return NaN;
    if (i < 0) return begins[0] - (bytes[0] - byte) / fullBytes;
    if (i === bytes.length - 1) return begins[i] + (byte - bytes[i]) / fullBytes;
    return begins[i] + ((begins[i + 1] - begins[i]) * (byte - bytes[i])) / (bytes[i + 1] - bytes[i]);
  }
}

/** Data packets of the flow that were lost, wherever it was. */
function lostOf(run: Run, flow: string, part: readonly [number, number] | null, scale: number): Points {
  const { time_s: time, seq, is_ack: ack } = run.tables.drops;
  const lost = new Collected();
  for (const row of run.happenings.dropRows(flow)) {
    if (!ack[row] && (!part || (time[row] >= part[0] && time[row] <= part[1]))) lost.add(time[row], seq[row] * scale);
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

class Stretches {
  private readonly low = new Collected();
  private readonly high = new Collected();

  add(x: number, from: number, to: number): void {
    this.low.add(x, from);
    this.high.add(x, to);
  }

  bars(): Bars {
    return { ...this.low.points(), y2: this.high.points().y };
  }
}
