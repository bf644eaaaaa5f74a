import type { Series } from "../data/decimate";
import type { Run } from "../data/run";
import { firstLink, sequenceFrom, sequenceOf, type Sequence } from "../data/sequence";
import { server } from "../data/source";
import { wholeFlow } from "../state/app";
import { openFinding } from "../state/findings";
import { AT_ONCE_S, recordPackets, UNASKED_S, type Part } from "../state/recording";
import { colour } from "../state/theme";
import type { ChartSpec, Line } from "./chart";
import { moment } from "./format";

/** The sender's states, in the order in which the flow has them; no sender has more. */
const PHASE_COLOURS = ["series-2", "series-0", "series-1", "series-3", "series-4", "series-5", "handover", "drop"];

/** Flags in headers and marks of queues that have a lane where they occur. */
const FLAGS: readonly [name: string, role: string][] = [
  ["SYN", "series-2"],
  ["FIN", "series-2"],
  ["marked", "drop"],
  ["ECE", "series-3"],
  ["CWR", "series-4"],
];

/** What is known of the packets of a flow in a part of a run, or why nothing is. */
const read = new WeakMap<Run, Map<string, Sequence | string>>();

/** The part of the run whose packets are shown: that of the open finding, with room on both sides; else all of it. */
export function partShown(run: Run, flow: string): Part {
  const open = openFinding.value;
  if (wholeFlow.value || open?.flow !== flow) return null;
  const room = Math.max(LEAST_ROOM_S, ROOM * (open.until - open.begin));
  const [from, to] = [Math.max(0, open.begin - room), Math.min(run.duration, open.until + room)];
  return to - from < MOST_OF * run.duration ? [Math.floor(1000 * from) / 1000, Math.ceil(1000 * to) / 1000] : null;
}

/** Whether the packets of a flow are recorded only when the reader asks for them: the run takes long. */
export function asksFirst(run: Run, flow: string): boolean {
  return server !== null && waits(run) && read.get(run)?.get(nameOf(run, flow)) === LONG;
}

/** Records the packets of a flow of a long run. */
export function recordNow(run: Run, flow: string, again: () => void): void {
  wanted.add(run);
  read.get(run)?.delete(nameOf(run, flow));
  again();
}

/** Whether the packets that are shown were recorded for the page: then there are those around the finding, and all. */
export function recordedLater(run: Run, flow: string): boolean {
  const known = read.get(run)?.get(nameOf(run, flow));
  // While they are read, or where that failed, the choice of all packets can be taken back.
  return known === undefined || typeof known === "string" ? wholeFlow.value : known.later;
}

/** Has the packets around the open finding recorded before the reader asks for them, where the run takes seconds. */
export function prefetchPackets(run: Run, flow: string): void {
  if (!server || run.entry.wall_time_s > AT_ONCE_S || run.entry.tables.includes("packets")) return;
  // Whoever opens the packets later is told why there are none.
  recordPackets(run, flow, partShown(run, flow)).catch(() => {});
}

const ROOM = 0.6; // of a finding's length: more than the charts show on either side of it
const LEAST_ROOM_S = 3;
const MOST_OF = 0.8; // of a run: from there on all of it
const LONG = "This run took long. Record, above, makes it again with the packets of this flow.";
/** Long runs of which the reader wants the packets. */
const wanted = new WeakSet<Run>();

function waits(run: Run): boolean {
  return run.entry.wall_time_s > UNASKED_S && !wanted.has(run);
}

function nameOf(run: Run, flow: string): string {
  return JSON.stringify([flow, partShown(run, flow)]);
}

/**
 * Three charts of one flow on the time axis of all others: its sequence numbers, what is in flight against its window
 * with lanes of events, and its timer. Calls `again` when more is known of the packets.
 */
export function sequenceCharts(
  run: Run,
  flow: string,
  marks: Pick<ChartSpec, "drops" | "handovers" | "shades">,
  again: () => void,
): ChartSpec[] {
  let flows = read.get(run);
  if (!flows) read.set(run, (flows = new Map()));
  const name = nameOf(run, flow);
  let known = flows.get(name);
  if (known === undefined) {
    const keep = (what: Sequence | string): void => {
      read.get(run)?.set(name, what);
      again();
    };
    flows.set(name, (known = "Reading the packets …"));
    find(run, flow, partShown(run, flow), keep).then(keep, (error: unknown) =>
      keep(`The packets cannot be shown: ${error instanceof Error ? error.message : String(error)}`),
    );
  }
  return [numbers(flow, known, marks), inFlight(run, flow, known, marks), timer(run, flow, marks)];
}

/** From the run's own recording, else from one that the server makes now. */
async function find(run: Run, flow: string, part: Part, told: (text: string) => void): Promise<Sequence | string> {
  const own = await sequenceOf(run, flow);
  if (own) return own;
  if (!server)
    return (
      `This run recorded no packets of ${flow}. Put  packets = ["${firstLink(run, flow)}"]  under [records] ` +
      `and run it again.`
    );
  if (waits(run)) return LONG;
  const table = await recordPackets(run, flow, part, (how) =>
    told(`The run is made again with the packets of ${flow}: ${how}`),
  );
  return (
    sequenceFrom(run, flow, table, part) ??
    `No data packet of ${flow} left its source ${part ? "in this time" : "in this run"}.`
  );
}

type Marks = Parameters<typeof sequenceCharts>[2];

function line(label: string, role: string, series: Series, rest: Partial<Line> = {}): Line {
  return { label, colour: colour(role), dash: [], width: 1.5, scales: true, series, ...rest };
}

function numbers(flow: string, known: Sequence | string, marks: Marks): ChartSpec {
  const base = { title: `Sequence of ${flow}`, scale: 1, ...marks, drops: [], steps: true, tight: true };
  if (typeof known === "string") return { ...base, unit: "segments", lines: [], empty: known };
  const { link, unit, part, sent, again, lost, duplicates, sacks, dsacks, acks, window, offered } = known;
  const missing = unit === "packet numbers" ? "; no table has what QUIC's ACKs acknowledge" : "";
  const recorded = part ? `, recorded from ${moment(part[0])} to ${moment(part[1])}` : "";
  return {
    ...base,
    unit: `${unit} at ${link.replace("->", " → ")}${recorded}${missing}`,
    lines: present([
      line("acknowledged", "series-2", acks),
      line("window (ACK + cwnd)", "series-4", window, { dash: [4, 3] }),
      // Far above the data as a rule: it is in sight where it limits the sender.
      line("receive window", "handover", offered, { dash: [2, 3], scales: false }),
    ]),
    // Later ones are drawn over earlier ones.
    points: [
      { label: "SACK", role: "series-5", shape: "bar" as const, ...sacks },
      { label: "D-SACK", role: "series-3", shape: "bar" as const, ...dsacks },
      { label: "sent", role: "series-0", shape: "tick" as const, ...sent },
      { label: "sent again", role: "series-1", shape: "dot" as const, ...again },
      { label: "lost", role: "drop", shape: "cross" as const, ...lost },
      { label: "duplicate ACK", role: "series-2", shape: "dot" as const, ...duplicates },
    ].filter(({ x }) => x.length > 0),
    empty: "No packet of this flow was recorded in this time.",
  };
}

function inFlight(run: Run, flow: string, known: Sequence | string, marks: Marks): ChartSpec {
  const times = (kind: string): number[] =>
    run.happenings
      .of(flow)
      .filter((one) => one.kind === kind)
      .map((one) => one.begin);
  const phases = [...run.phases(flow)]
    .slice(0, PHASE_COLOURS.length)
    .map(([label, own], i) => ({ label, role: PHASE_COLOURS[i], times: own, joins: i > 0 }));
  const lanes = [
    ...phases,
    { label: "handover", role: "handover", times: times("handover") },
    { label: "timeout", role: "series-3", times: times("timeout") },
    { label: "recovery", role: "series-4", times: times("recovery") },
    { label: "lost", role: "drop", times: typeof known === "string" ? times("drop") : Array.from(known.lost.x) },
    { label: "sent again", role: "series-1", times: typeof known === "string" ? [] : Array.from(known.again.x) },
    ...FLAGS.map(([label, role]) => ({
      label,
      role,
      times: typeof known === "string" ? [] : (known.flags.get(label) ?? []),
    })),
  ];
  return {
    title: "In flight",
    unit: "segments, against cwnd",
    scale: 1,
    ...marks,
    drops: [],
    lanes: lanes.filter((lane) => lane.times.length > 0),
    lines: present([
      line("in flight", "series-0", run.flowSeries(flow, "in_flight")),
      line("cwnd", "series-4", run.flowSeries(flow, "cwnd"), { dash: [4, 3] }),
    ]),
    empty: 'No time series: put  grid = "100 ms"  under [records] and run again.',
  };
}

function timer(run: Run, flow: string, marks: Marks): ChartSpec {
  return {
    title: "Timer",
    unit: "ms: RTO, smoothed RTT, RTT",
    scale: 1e3,
    ...marks,
    drops: [],
    lines: present([
      line("RTO", "series-3", run.flowSeries(flow, "rto_s")),
      line("smoothed RTT", "series-2", run.flowSeries(flow, "srtt_s")),
      line("RTT", "series-0", run.flowSeries(flow, "rtt_s"), { dash: [2, 2] }),
    ]),
    empty: "This flow has no timer, or no series was recorded.",
  };
}

function present(lines: Line[]): Line[] {
  return lines.filter(({ series }) => series.ys[0].some((value) => !Number.isNaN(value)));
}
