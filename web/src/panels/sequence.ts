import type { Series } from "../data/decimate";
import type { Run } from "../data/run";
import { NoSequence, sequenceOf, type Sequence } from "../data/sequence";
import { notice } from "../state/app";
import { colour } from "../state/theme";
import type { ChartSpec, Line } from "./chart";

const read = new WeakMap<Run, Map<string, Sequence | string>>();

/**
 * Three charts of one flow on the time axis of all others: its sequence numbers, what is in flight against its window
 * with lanes of events, and its timer. Calls `again` when the packets have been read.
 */
export function sequenceCharts(run: Run, flow: string, marks: Pick<ChartSpec, "drops" | "handovers" | "shades">, again: () => void): ChartSpec[] {
  let flows = read.get(run);
  if (!flows) read.set(run, (flows = new Map()));
  let known = flows.get(flow);
  if (known === undefined) {
    flows.set(flow, (known = "Reading the packets …"));
    const keep = (what: Sequence | string): void => {
      read.get(run)?.set(flow, what);
      again();
    };
    sequenceOf(run, flow).then(keep, (error: unknown) => {
      keep(error instanceof NoSequence ? error.message : "The packets of this run cannot be read.");
      if (!(error instanceof NoSequence)) notice.value = `The packets cannot be read: ${String(error)}`;
    });
  }
  return [numbers(flow, known, marks), inFlight(run, flow, known, marks), timer(run, flow, marks)];
}

type Marks = Parameters<typeof sequenceCharts>[2];

function line(label: string, role: string, series: Series, rest: Partial<Line> = {}): Line {
  return { label, colour: colour(role), dash: [], width: 1.5, scales: true, series, ...rest };
}

function numbers(flow: string, known: Sequence | string, marks: Marks): ChartSpec {
  const base = { title: `Sequence of ${flow}`, scale: 1, ...marks, drops: [], steps: true, tight: true };
  if (typeof known === "string") return { ...base, unit: "segments", lines: [], empty: known };
  const { link, sent, again, lost, duplicates, acks, window } = known;
  return {
    ...base,
    unit: `segments at ${link.replace("->", " → ")}; the table of packets has no SACK blocks`,
    lines: [line("acknowledged", "series-2", acks), line("window (ACK + cwnd)", "series-4", window, { dash: [4, 3] })],
    points: [
      { label: "sent", role: "series-0", shape: "tick", ...sent },
      { label: "sent again", role: "series-1", shape: "dot", ...again },
      { label: "lost", role: "drop", shape: "cross", ...lost },
      { label: "duplicate ACK", role: "series-2", shape: "dot", ...duplicates },
    ],
    empty: "No ACK of this flow arrived.",
  };
}

function inFlight(run: Run, flow: string, known: Sequence | string, marks: Marks): ChartSpec {
  const times = (kind: string): number[] => run.happenings.of(flow).filter((one) => one.kind === kind).map((one) => one.begin);
  const lanes = [
    { label: "handover", role: "handover", times: times("handover") },
    { label: "timeout", role: "series-3", times: times("timeout") },
    { label: "recovery", role: "series-4", times: times("recovery") },
    { label: "lost", role: "drop", times: typeof known === "string" ? times("drop") : Array.from(known.lost.x) },
    { label: "sent again", role: "series-1", times: typeof known === "string" ? [] : Array.from(known.again.x) },
  ];
  return {
    title: "In flight", unit: "segments, against cwnd", scale: 1, ...marks, drops: [], lanes: lanes.filter((lane) => lane.times.length > 0),
    lines: present([line("in flight", "series-0", run.flowSeries(flow, "in_flight")), line("cwnd", "series-4", run.flowSeries(flow, "cwnd"), { dash: [4, 3] })]),
    empty: 'No time series: put  grid = "100 ms"  under [records] and run again.',
  };
}

function timer(run: Run, flow: string, marks: Marks): ChartSpec {
  return {
    title: "Timer", unit: "ms: RTO, smoothed RTT, RTT", scale: 1e3, ...marks, drops: [],
    lines: present([
      line("RTO", "series-3", run.flowSeries(flow, "rto_s")), line("smoothed RTT", "series-2", run.flowSeries(flow, "srtt_s")),
      line("RTT", "series-0", run.flowSeries(flow, "rtt_s"), { dash: [2, 2] }),
    ]),
    empty: "This flow has no timer, or no series was recorded.",
  };
}

function present(lines: Line[]): Line[] {
  return lines.filter(({ series }) => series.ys[0].some((value) => !Number.isNaN(value)));
}
