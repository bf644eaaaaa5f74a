/**
 * Where flows fell behind, and by how much.
 *
 * A finding begins where a flow loses packets, gets nothing through or slows down, and ends when the flow is back at
 * `BACK` of its rate before. Its cost is the bytes that the rate before would have delivered in that time, less those
 * that were delivered. Findings of a flow do not overlap, so none of its time is counted twice.
 *
 * A flow whose connection ends is never back. Where it carried one file, the cost is what the file still lacked.
 */
import { Curve } from "./curve";
import { endingOf, fileBytesOf } from "./endings";
import type { Happenings } from "./happenings";
import { breath } from "./parquet";
import { median } from "./quantile";
import type { Run } from "./run";

export type FindingKind = "nothing" | "stall" | "repair" | "slow" | "share" | "delay" | "ended";

export interface Finding {
  /** Stands in the address: flow and time. */
  id: string;
  flow: string;
  kind: FindingKind;
  begin: number;
  /** The end of the silence, the repairs or the slow stretch. */
  end: number;
  /** Up to where the cost is counted. */
  until: number;
  /** When the flow was back at its rate before; null if it was not within `HORIZON_S`, or by its end. */
  back: number | null;
  /** The longest time within in which nothing arrived; null if it is not longer than usual. */
  silence: readonly [number, number] | null;
  /** When a stack ended the flow's connection, s; null where none did. */
  ended: number | null;
  /** The size of the file whose rest the cost is; null where the cost is counted by a rate. */
  fileBytes: number | null;
  /** Length of all such times within, s. */
  stalledS: number;
  /** User bytes that did not arrive; for a delay, those that arrived late. Infinite where nothing ever arrived. */
  bytes: number;
  /** The rate before, of user bytes, bit/s; for a share that is too small, the fair one. */
  rateBps: number;
  /** The time over which that rate was measured, s. */
  beforeS: number;
  /** Mean one-way delay until `until` less that before, s; NaN where it was not measured. */
  delayS: number;
}

const BEFORE_S = 5; // the rate before is the mean over so long, or over BEFORE_STEPS
const BEFORE_STEPS = 1; // of the recording: less than a step would mix the times before and after the start
const BACK = 0.9; // of the rate before: the flow is back
const AGAIN = 0.7; // of the rate before: what happens from there on is a finding of its own
const HORIZON_S = 30; // a cost is counted for so long at most, or for HORIZON_RTTS
const HORIZON_RTTS = 30;
const SLOW = 0.5; // of the rate before: the flow slowed down
const LEAST_STEPS = 3; // shorter silences are those of a window that waits for its ACKs
const LATE = 0.5; // of the median delay, and at least LATE_S: the flow's packets are late
const LATE_S = 0.01;
const MOST_DELAYS = 3; // stretches of long delays told per flow
const RTT_UNKNOWN_S = 0.1;
const LOOK_S = 0.02; // between two looks whether a flow is back

interface Span {
  begin: number;
  end: number;
  kind: FindingKind;
}

/** All that the findings of one flow are made from. */
class Flow {
  readonly curve: Curve;
  readonly x: Float64Array;
  readonly step: number;
  readonly start: number;
  readonly stop: number;
  readonly done: boolean;
  readonly isTcp: boolean;
  /** When its connection ended before its application was done, s. */
  readonly ended: number | null;
  /** The size of the one file that it carries, bytes. */
  readonly fileBytes: number | null;
  readonly delivered: number;
  readonly received: Float64Array;
  readonly inFlight: Float64Array;
  /** The last round trip known at each step, s; before the first, the first. */
  readonly rtt: Float64Array;
  private readonly delay: Float64Array;

  constructor(
    run: Run,
    readonly name: string,
    readonly happenings: Happenings,
  ) {
    const row = run.flows.indexOf(name);
    const { flows } = run.tables;
    const goodput = run.flowSeries(name, "goodput_bps");
    const column = (measure: "received" | "in_flight" | "rtt_s" | "delay_mean_s" | "cwnd"): Float64Array =>
      run.flowSeries(name, measure).ys[0];
    this.x = goodput.x;
    this.curve = new Curve(goodput.x, goodput.ys[0]);
    this.step = this.x.length > 1 ? this.x[1] - this.x[0] : 1;
    this.start = flows.start_s[row] ?? 0;
    this.stop = Math.min(flows.stop_s[row] ?? run.duration, run.duration);
    this.done = Number.isFinite(flows.completion_s[row] ?? NaN);
    const ending = endingOf(happenings, name);
    this.ended = ending && !this.done && ending.at < this.stop ? ending.at : null;
    this.fileBytes = fileBytesOf(run, name);
    this.delivered = flows.bytes_delivered[row];
    this.received = column("received");
    this.inFlight = column("in_flight");
    this.isTcp = column("cwnd").some((value) => !Number.isNaN(value));
    this.delay = column("delay_mean_s");
    this.rtt = carried(
      column("rtt_s"),
      this.isTcp ? RTT_UNKNOWN_S : 2 * (this.delay.find((value) => value > 0) ?? RTT_UNKNOWN_S / 2),
    );
  }

  /** The step that a time falls into. */
  at(time: number): number {
    let low = 0;
    let high = this.x.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.x[middle] < time) low = middle + 1;
      else high = middle;
    }
    return Math.min(low, this.x.length - 1);
  }

  rttAt(time: number): number {
    return this.rtt[this.at(time)] ?? RTT_UNKNOWN_S;
  }

  /** So long a mean says whether the flow is back. */
  glance(time: number): number {
    return Math.max(0.5, 2 * this.rttAt(time), 5 * this.step);
  }

  get beforeS(): number {
    return Math.max(BEFORE_S, BEFORE_STEPS * this.step);
  }

  rateBefore(time: number): number {
    return this.curve.rate(Math.max(this.start, time - this.beforeS), time);
  }

  /** Mean delay of what arrived in a time, weighted with the packets, s; NaN without packets. */
  meanDelay(from: number, to: number): number {
    let [sum, packets] = [0, 0];
    for (let i = this.at(from); i < this.x.length && this.x[i] <= to; i++) {
      if (this.x[i] <= from || Number.isNaN(this.delay[i])) continue;
      sum += this.delay[i] * this.received[i];
      packets += this.received[i];
    }
    return packets > 0 ? sum / packets : NaN;
  }

  medianDelay(): number {
    return median(this.delay.filter((value) => !Number.isNaN(value)));
  }

  lateSteps(limit: number): Span[] {
    const found: Span[] = [];
    const gap = Math.max(1, 5 * this.step);
    for (let i = 0; i < this.x.length; i++) {
      if (!(this.delay[i] > limit)) continue;
      const last = found.at(-1);
      const begin = i > 0 ? this.x[i - 1] : 0;
      if (last && begin - last.end <= gap) last.end = this.x[i];
      else found.push({ begin, end: this.x[i], kind: "delay" });
    }
    return found.filter((one) => one.end - one.begin >= gap);
  }
}

/** Values with gaps closed: each gap takes the value before it, the first one the value after it. */
function carried(values: Float64Array, otherwise: number): Float64Array {
  const out = values.slice();
  let last = values.find((value) => !Number.isNaN(value)) ?? otherwise;
  for (let i = 0; i < out.length; i++) {
    if (Number.isNaN(out[i])) out[i] = last;
    else last = out[i];
  }
  return out;
}

/** Where a flow fell behind, in the order of time. */
export async function findingsOf(run: Run, name: string, happenings: Happenings): Promise<Finding[]> {
  const flow = new Flow(run, name, happenings);
  if (flow.x.length === 0) return [];
  const nothing = neverArrived(run, flow);
  if (nothing) return [nothing];
  // A flow of a million steps takes a second in all.
  await breath();
  const spans = anchors(flow);
  await breath();
  const found = behind(flow, spans);
  await breath();
  return [...found, ...delays(flow, found)].sort((a, b) => a.begin - b.begin);
}

function neverArrived(run: Run, flow: Flow): Finding | null {
  const row = run.flows.indexOf(flow.name);
  const { packets_sent: sent, bytes_delivered: delivered } = run.tables.flows;
  if (!(sent[row] > 0) || delivered[row] > 0 || flow.stop - flow.start < 3 * flow.rttAt(flow.start)) return null;
  const [begin, end] = [flow.start, flow.stop];
  return {
    id: idOf(flow.name, begin),
    flow: flow.name,
    kind: "nothing",
    begin,
    end,
    until: end,
    back: null,
    silence: [begin, end],
    ended: flow.ended,
    fileBytes: null,
    stalledS: end - begin,
    bytes: Infinity,
    rateBps: 0,
    beforeS: 0,
    delayS: NaN,
  };
}

/** Times in which something went wrong, in the order of their start. */
function anchors(flow: Flow): Span[] {
  const found = [...silences(flow), ...slowStretches(flow)];
  if (flow.ended !== null) found.push({ begin: flow.ended, end: flow.stop, kind: "ended" });
  for (const one of flow.happenings.of(flow.name)) {
    if (one.kind === "recovery" || one.kind === "timeout")
      found.push({ begin: one.begin, end: one.end, kind: "repair" });
    else if (one.kind === "drop" && !one.acks && !flow.isTcp)
      found.push({ begin: one.begin, end: one.end, kind: "repair" });
  }
  return found.filter((one) => one.begin < flow.stop).sort((a, b) => a.begin - b.begin);
}

/** Stretches longer than usual in which nothing arrived though something should have. */
function silences(flow: Flow): Span[] {
  const { x, received } = flow;
  const found: Span[] = [];
  const drops = flow.happenings
    .of(flow.name)
    .filter((one) => (one.kind === "drop" && !one.acks) || one.text.startsWith("there was no route"));
  const judge = (begin: number, end: number, from: number, to: number): void => {
    const usual = Math.max(LEAST_STEPS * flow.step, 1.5 * flow.rtt[Math.max(0, from)]) + flow.step;
    if (end - begin <= usual) return;
    let wanting = drops.some(
      // Drops close together are one happening, which may have begun long before.
      (one) => one.end >= begin - 2 * flow.rtt[Math.max(0, from)] - flow.step && one.begin <= end,
    );
    // A sender without data in flight has nothing to say.
    for (let i = Math.max(0, from); i < to && !wanting; i++) wanting = flow.inFlight[i] > 0 && flow.isTcp;
    if (wanting) found.push({ begin, end, kind: "stall" });
  };
  let last = -1;
  for (let i = 0; i < x.length; i++) {
    if (!(received[i] > 0)) continue;
    const begin = last < 0 ? flow.start : x[last];
    // Packets arrived somewhere in the step i: the silence lasted to its start at least.
    const end = i > 0 ? x[i - 1] : 0;
    // A first arrival takes a round trip for the handshake and half of one for the data.
    if (end > begin && (last >= 0 || end - begin > 2 * flow.rtt[i])) judge(begin, end, last, i);
    last = i;
  }
  if (last >= 0 && !flow.done && flow.stop > x[last]) judge(x[last], flow.stop, last, x.length);
  return found;
}

/** Stretches with less than SLOW of the rate before, with data under way. */
function slowStretches(flow: Flow): Span[] {
  const found: Span[] = [];
  if (!flow.isTcp) return found;
  const { x, curve } = flow;
  const every = Math.max(1, Math.floor(0.25 / flow.step));
  for (let i = every; i < x.length; i += every) {
    const begin = x[i];
    const long = Math.max(1, flow.glance(begin));
    if (begin - flow.start < long || begin + long > flow.stop) continue;
    const before = flow.rateBefore(begin);
    if (!(curve.rate(begin, begin + long) < SLOW * before) || !busy(flow, begin, begin + long)) continue;
    let end = begin + long;
    const latest = Math.min(flow.stop, begin + Math.max(HORIZON_S, HORIZON_RTTS * flow.rttAt(begin)));
    while (end + long < latest && curve.rate(end, end + long) < SLOW * before) end += Math.max(flow.step, long / 2);
    // The mean over `long` falls before the rate does.
    let from = begin;
    while (from < begin + long && curve.rate(from, from + Math.max(2 * flow.step, long / 4)) >= SLOW * before)
      from += flow.step;
    found.push({ begin: from, end: Math.max(from, Math.min(end, latest)), kind: "slow" });
    while (i + every < x.length && x[i + every] < end) i += every;
  }
  return found;
}

/** Whether data were in flight for most of a time. */
function busy(flow: Flow, from: number, to: number): boolean {
  let [on, all] = [0, 0];
  for (let i = flow.at(from); i < flow.x.length && flow.x[i] <= to; i++) {
    all++;
    if (flow.inFlight[i] > 0) on++;
  }
  return on * 2 > all;
}

/** Findings from what went wrong: whatever happens before the flow is back belongs to what began it. */
function behind(flow: Flow, spans: Span[]): Finding[] {
  const found: Finding[] = [];
  let i = 0;
  while (i < spans.length) {
    const { begin } = spans[i];
    const before = firstRate(flow, spans[i]);
    const horizon = Math.max(HORIZON_S, HORIZON_RTTS * flow.rttAt(begin));
    let latest = Math.min(flow.stop, spans[i].end + horizon);
    let end = Math.min(spans[i].end, latest);
    const members = [spans[i++]];
    let back = backAt(flow, end, latest, before);
    while (i < spans.length && spans[i].begin < (back ?? latest)) {
      const next = spans[i];
      if (
        next.begin > end &&
        flow.curve.rate(Math.max(end, next.begin - flow.glance(next.begin)), next.begin) >= AGAIN * before
      ) {
        back = null;
        break;
      }
      members.push(next);
      // A silence that has begun is counted to its end, and so is the time without a connection. It gives no further
      // time to come back: a flow that loses its share for good falls silent again and again, and its cost would grow
      // with the length of the run.
      if (next.kind === "stall" || next.kind === "ended") latest = Math.min(flow.stop, Math.max(latest, next.end));
      end = Math.min(latest, Math.max(end, next.end));
      back = backAt(flow, end, latest, before);
      i++;
    }
    // Where the next finding begins, this one ends.
    const cut = i < spans.length && spans[i].begin < (back ?? latest) ? spans[i].begin : latest;
    found.push(finding(flow, members, before, end, back, Math.min(back ?? cut, latest)));
  }
  return found;
}

/** The rate that a finding is measured by: that before it; for a silence at the start, that after it. */
function firstRate(flow: Flow, span: Span): number {
  return span.begin - flow.start < flow.step
    ? flow.curve.rate(span.end, Math.min(flow.stop, span.end + flow.beforeS))
    : flow.rateBefore(span.begin);
}

function backAt(flow: Flow, from: number, latest: number, rate: number): number | null {
  const long = flow.glance(from);
  for (
    let time = from;
    time + long <= Math.min(flow.stop, latest + long) + 1e-9 && time <= latest;
    time += Math.max(flow.step, LOOK_S)
  ) {
    if (flow.curve.rate(time, time + long) >= BACK * rate) return time;
  }
  return null;
}

function finding(flow: Flow, members: Span[], rate: number, end: number, back: number | null, until: number): Finding {
  const { begin } = members[0];
  const silent = members.filter((one) => one.kind === "stall").sort((a, b) => b.end - b.begin - (a.end - a.begin))[0];
  const has = (kind: FindingKind): boolean => members.some((one) => one.kind === kind);
  const kind = has("ended") ? "ended" : silent ? "stall" : has("repair") ? "repair" : "slow";
  const fileBytes = kind === "ended" ? flow.fileBytes : null;
  return {
    id: idOf(flow.name, begin),
    flow: flow.name,
    kind,
    begin,
    end: Math.max(begin, Math.min(end, until)),
    until: Math.max(begin, until),
    back,
    silence: silent ? [silent.begin, silent.end] : null,
    ended: kind === "ended" ? flow.ended : null,
    fileBytes,
    stalledS: members.reduce((sum, one) => sum + (one.kind === "stall" ? one.end - one.begin : 0), 0),
    bytes: fileBytes === null ? missed(flow, begin, until, rate) : Math.max(0, fileBytes - flow.delivered),
    rateBps: rate * 8,
    beforeS: Math.min(flow.beforeS, begin > flow.start ? begin - flow.start : flow.beforeS),
    delayS: flow.meanDelay(begin, until) - flow.meanDelay(Math.max(flow.start, begin - flow.beforeS), begin),
  };
}

/** The bytes that a rate would have delivered, less those that came. */
function missed(flow: Flow, from: number, to: number, rate: number): number {
  return Math.max(0, rate * (to - from) - flow.curve.bytes(from, to));
}

/** The worst stretches in which packets took much longer than usual, outside of what is told already. */
function delays(flow: Flow, told: Finding[]): Finding[] {
  const usual = flow.medianDelay();
  if (!(usual > 0)) return [];
  const free = flow
    .lateSteps(usual + Math.max(LATE * usual, LATE_S))
    .filter((one) => told.every((other) => one.end < other.begin - 1 || one.begin > other.until));
  const found = free.map(({ begin, end }): Finding => {
    const delayS = flow.meanDelay(begin, end) - usual;
    const rate = flow.curve.rate(begin, end);
    return {
      id: idOf(flow.name, begin),
      flow: flow.name,
      kind: "delay",
      begin,
      end,
      until: end,
      back: end < flow.stop ? end : null,
      silence: null,
      ended: null,
      fileBytes: null,
      stalledS: 0,
      bytes: delayS * rate,
      rateBps: rate * 8,
      beforeS: 0,
      delayS,
    };
  });
  return found.sort((a, b) => b.bytes - a.bytes).slice(0, MOST_DELAYS);
}

function idOf(flow: string, begin: number): string {
  return `${flow}@${begin.toFixed(3)}`;
}

/** When to look at a finding: at the end of the connection, else where its silence begins. */
export function momentOf({ kind, begin, silence, ended }: Finding): number {
  return (kind === "ended" ? ended : null) ?? silence?.[0] ?? begin;
}

/** The order in which findings are told: the dearest first. */
export function byCost(a: Finding, b: Finding): number {
  if (a.bytes !== b.bytes) return b.bytes - a.bytes;
  return a.begin - b.begin || (a.flow < b.flow ? -1 : 1);
}
