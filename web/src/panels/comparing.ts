import { lastAtOrBefore } from "../data/columns";
import { decimate } from "../data/decimate";
import { earlierLegs, isOfPart, splitLegs } from "../data/legs";
import type { FlowMeasure, Run } from "../data/run";
import { difference, distribution, estimate, meanCurve, type Estimate, type Sample } from "../data/samples";
import type { Bars, Curve, Curves } from "./figure";

type How = "sum" | "mean";
interface Total {
  title: string;
  unit: string;
  column: string;
  scale: number;
  how: How;
}

export const TOTALS: Total[] = [
  { title: "Goodput", unit: "Mbit/s", column: "goodput_bps", scale: 1e-6, how: "sum" },
  { title: "Throughput", unit: "Mbit/s", column: "throughput_bps", scale: 1e-6, how: "sum" },
  { title: "Packets dropped", unit: "packets", column: "dropped", scale: 1, how: "sum" },
  { title: "Retransmissions", unit: "packets", column: "retransmissions", scale: 1, how: "sum" },
  { title: "Timeouts", unit: "", column: "timeouts", scale: 1, how: "sum" },
  { title: "One-way delay, mean", unit: "ms", column: "delay_mean_s", scale: 1e3, how: "mean" },
  { title: "Round-trip time, mean", unit: "ms", column: "rtt_mean_s", scale: 1e3, how: "mean" },
  { title: "Jitter, mean", unit: "ms", column: "jitter_mean_s", scale: 1e3, how: "mean" },
  { title: "Delivery fraction", unit: "%", column: "delivery_fraction", scale: 100, how: "mean" },
];

interface OverTime {
  title: string;
  unit: string;
  column: FlowMeasure;
  scale: number;
}

export const OVER_TIME: OverTime[] = [
  { title: "Congestion window", unit: "segments", column: "cwnd", scale: 1 },
  { title: "Round-trip time", unit: "ms", column: "rtt_s", scale: 1e3 },
  { title: "One-way delay", unit: "ms", column: "delay_mean_s", scale: 1e3 },
  { title: "Throughput", unit: "Mbit/s", column: "throughput_bps", scale: 1e-6 },
  { title: "Pacing rate", unit: "Mbit/s", column: "pacing_bps", scale: 1e-6 },
];

/** Totals of flows whose distribution over the flows is drawn. */
export const OVER_FLOWS: Omit<Total, "how">[] = [
  { title: "Goodput of the flows", unit: "Mbit/s", column: "goodput_bps", scale: 1e-6 },
  { title: "Completion time of the flows", unit: "s", column: "completion_s", scale: 1 },
  { title: "One-way delay of the flows, mean", unit: "ms", column: "delay_mean_s", scale: 1e3 },
];

/** Columns of the table of workloads' transfers whose distribution is drawn. */
export const OVER_TRANSFERS: Omit<Total, "how">[] = [
  { title: "Completion time of the workloads' transfers", unit: "s", column: "completion_s", scale: 1 },
  { title: "Slowdown of the workloads' transfers", unit: "", column: "slowdown", scale: 1 },
];

/** What can be compared, by the names that the address uses. */
export const MEASURES = [
  ...TOTALS.map((_, i) => `total ${i}`),
  ...OVER_TIME.map((_, i) => `time ${i}`),
  ...OVER_TIME.map((_, i) => `steps ${i}`),
  ...OVER_FLOWS.map((_, i) => `flows ${i}`),
  ...OVER_TRANSFERS.map((_, i) => `transfers ${i}`),
];

/** Stands for every flow. */
export const EVERY = "*";

const POINTS = 900; // of a curve
const MOST_CURVES = 18; // more cannot be told apart
const MOST_GROUPS = 12; // of bars

/** Runs that count as one: a single run, or those of one scenario with different seeds. */
export interface Group {
  name: string;
  runs: Run[];
}

/** What is drawn: bars, or curves for a part of the x axis. */
export interface Drawn {
  name: string;
  bars?: Bars;
  curves?: (window: readonly [number, number] | null) => Curves;
  csv: () => string;
  /** What the figure leaves out, or what must be known of it. */
  notes: string[];
}

/** Each run for itself, or the runs of a scenario together. */
export function groupsOf(runs: Run[], together: boolean): Group[] {
  const names = titles(runs);
  if (!together) return runs.map((one, i) => ({ name: names[i], runs: [one] }));
  const groups = new Map<string, Group>();
  runs.forEach((one, i) => {
    const key = one.entry.scenario_hash;
    const known = groups.get(key);
    // A seed that was run twice counts once: it is the same run.
    if (known)
      known.runs = known.runs.some((other) => other.entry.seed === one.entry.seed) ? known.runs : [...known.runs, one];
    else groups.set(key, { name: names[i].replace(/, seed \d+$/, ""), runs: [one] });
  });
  return [...groups.values()].map(({ name, runs: own }) => ({
    name: own.length > 1 ? `${name} (${own.length} seeds)` : name,
    runs: own,
  }));
}

/** The figure of a measure; with a baseline, of the differences to it. */
export function figureOf(groups: Group[], base: Group | null, measure: string, flow: string): Drawn {
  const [kind, index] = measure.split(" ");
  const at = Number(index);
  if (kind === "total") return totals(groups, base, TOTALS[at]);
  if (kind === "time") return curves(groups, base, OVER_TIME[at], flow);
  if (kind === "steps") return steps(groups, OVER_TIME[at], flow);
  return kind === "flows"
    ? flowsOf(groups, OVER_FLOWS[at], "flows")
    : flowsOf(groups, OVER_TRANSFERS[at], "workload_transfers");
}

const compared = (groups: Group[], base: Group | null): Group[] =>
  base ? groups.filter((one) => one !== base) : groups;
const seedsOf = (group: Group): number[] => group.runs.map((one) => one.entry.seed);
const lessOf = (base: Group | null): string => (base ? `, less that of ${base.name}` : "");

/** Legs that hand on what the last leg of their connection delivers, in any of the runs. */
const legsOf = (groups: Group[]): Set<string> =>
  new Set(groups.flatMap(({ runs }) => runs.flatMap((one) => [...earlierLegs(one.flows)])));

/** All legs in any of the runs, where the column is of their own part of the path. */
const partsOf = (groups: Group[], column: string): Set<string> =>
  new Set(isOfPart(column) ? groups.flatMap(({ runs }) => runs.flatMap((one) => [...splitLegs(one.flows)])) : []);

/** Which legs are among the flows, where the column is of their own part of the path; empty where none is. */
function partNote(groups: Group[], column: string, flows: readonly string[], then: string): string {
  const told = groups.flatMap(({ name, runs }) => {
    const legs = partsOf([{ name, runs }], column);
    const shown = flows.filter((flow) => legs.has(flow));
    return shown.length > 0 ? [{ name, shown }] : [];
  });
  if (told.length === 0) return "";
  const legs = [...new Set(told.flatMap(({ shown }) => shown))].join(", ");
  const where = told.length < groups.length ? ` in ${told.map(({ name }) => name).join(", ")}` : "";
  const what = `What they have is of their part of the path, not from end to end${then}.`;
  return `Legs of split connections${where}: ${legs}. ${what}`;
}

/** From the first flow's start to the last flow's stop, s. */
function length(one: Run): number {
  const [from, to] = one.activeTime();
  return to - from;
}

function totals(groups: Group[], base: Group | null, { title, unit, column, scale, how }: Total): Drawn {
  const every = [...new Set(groups.flatMap((group) => group.runs.flatMap((one) => one.flows)))];
  const flows = every.slice(0, MOST_GROUPS);
  const value = (one: Run, flow: string): number => {
    const row = one.flows.indexOf(flow);
    return row < 0 ? NaN : (one.tables.flows as unknown as Record<string, Float64Array>)[column][row] * scale;
  };
  // A rate is over the flow's own time: its bits over one time of all flows are what adds up.
  const inAll = (one: Run, flow: string): number => {
    const row = one.flows.indexOf(flow);
    const { start_s, stop_s } = one.tables.flows;
    return column.endsWith("_bps") ? (value(one, flow) * (stop_s[row] - start_s[row])) / length(one) : value(one, flow);
  };
  // Each leg of a split connection delivers the same bytes; a packet is dropped or sent again on one leg.
  const isRate = column.endsWith("_bps");
  const legs = isRate ? legsOf(groups) : new Set<string>();
  // A flow that is split in one of the runs is left out of all: else the means would be of other connections.
  const parts = partsOf(groups, column);
  const all = (one: Run): number => {
    const counted = one.flows.filter((flow) => !legs.has(flow) && !parts.has(flow));
    const values = counted.map((flow) => inAll(one, flow)).filter(Number.isFinite);
    const sum = values.reduce((a, b) => a + b, 0);
    return values.length === 0 ? NaN : how === "sum" ? sum : sum / values.length;
  };
  const shown = compared(groups, base);
  const row = (name: string, of: (one: Run) => number): Bars["groups"][number] & { halves: (number | null)[] } => {
    const sample = (group: Group): Sample => ({ seeds: seedsOf(group), values: group.runs.map(of) });
    const found = shown.map((group): Estimate =>
      base ? difference(sample(group), sample(base)) : estimate(group.runs.map(of)),
    );
    return { name, values: found.map(({ mean }) => finite(mean)), halves: found.map(({ half }) => finite(half)) };
  };
  const rows = flows.map((flow) => row(flow, (one) => value(one, flow)));
  // Means over seeds and over flows, and pairs, are of those runs and flows that have a value.
  const lacking = groups
    .flatMap(({ runs }) => runs)
    .reduce((sum, one) => sum + one.flows.filter((flow) => !Number.isFinite(value(one, flow))).length, 0);
  const mean = parts.size > 0 ? "mean of all but legs" : "mean of all";
  if (every.length > 1 && every.some((flow) => !parts.has(flow)))
    rows.push(row(how === "sum" ? (isRate ? "all, first start to last stop" : "all together") : mean, all));
  const bars: Bars = { title: title + lessOf(base), unit, groups: rows, runs: shown.map(({ name }) => name) };
  const intervals = rows.some(({ halves }) => halves.some((half) => half !== null));
  const csv = (): string => {
    const head = shown.flatMap(({ name }) => (intervals ? [name, `${name}, half of the 95 % interval`] : [name]));
    const lines = rows.map(({ name, values, halves }) =>
      [cell(name), ...values.flatMap((v, i) => (intervals ? [v ?? "", halves[i] ?? ""] : [v ?? ""]))].join(","),
    );
    return `${["flow", ...head.map(cell)].join(",")}\n${lines.join("\n")}\n`;
  };
  return {
    name: column,
    bars,
    csv,
    notes: [
      every.length > MOST_GROUPS ? `The first ${MOST_GROUPS} of ${every.length} flows.` : "",
      legs.size > 0 ? `All together counts the last leg of a split connection, not ${[...legs].join(", ")}.` : "",
      lacking > 0 ? `${lacking} values do not exist, of flows without a packet for example: means leave them out.` : "",
      partNote(groups, column, every, ": no mean is taken over them"),
      intervalNote(groups, intervals),
      equalNote(shown, base, rows),
    ],
  };
}

/** Why means over several seeds have no interval. */
function equalNote(
  shown: Group[],
  base: Group | null,
  rows: { values: (number | null)[]; halves: (number | null)[] }[],
): string {
  const several = shown.map(({ runs }) => runs.length > 1 && (!base || base.runs.length > 1));
  const equal = rows.reduce(
    (sum, { values, halves }) =>
      sum + values.filter((value, i) => several[i] && value !== null && halves[i] === null).length,
    0,
  );
  const alike = shown.filter(
    ({ runs }) => runs.length > 1 && new Set(runs.map((one) => one.entry.records_hash)).size === 1,
  );
  return [
    alike.length > 0
      ? `No random element: every seed of ${alike.map(({ name }) => name).join(", ")} gave the same records.`
      : "",
    equal > 0
      ? `${equal} of the means over seeds have no interval: all seeds gave the same value, or one alone has any.`
      : "",
  ]
    .filter((one) => one !== "")
    .join(" ");
}

function intervalNote(groups: Group[], intervals: boolean): string {
  if (intervals)
    return (
      "Means over the seeds with 95 % intervals (Student's t). A difference pairs runs of equal seeds; where " +
      "the seeds differ the interval is Welch's."
    );
  return groups.some(({ runs }) => runs.length > 1) ? "Means over the seeds; no interval can be given here." : "";
}

interface Picked {
  name: string;
  group: Group;
  flow: string;
}

/** The curves of a figure: each group with each flow that is asked for. */
function picked(groups: Group[], flow: string): Picked[] {
  return groups.flatMap((group) => {
    const flows = [...new Set(group.runs.flatMap((one) => one.flows))];
    return flows
      .filter((each) => flow === EVERY || each === flow)
      .map((each) => ({ name: `${group.name}, ${each}`, group, flow: each }));
  });
}

/** One curve per group and flow; `flow` is the only one to show, or EVERY. */
function curves(groups: Group[], base: Group | null, { title, unit, column, scale }: OverTime, flow: string): Drawn {
  const all = picked(compared(groups, base), flow);
  const series = (group: Group, of: string) =>
    group.runs.filter((one) => one.flows.includes(of)).map((one) => one.flowSeries(of, column));
  const made = all.map(({ name, group, flow: of }) => ({
    name,
    flow: of,
    single: group.runs.length === 1 && !base ? series(group, of)[0] : null,
    group,
  }));
  const bands = made.map(({ single, group, flow: of }) => {
    if (single) return null;
    const [own, other] = [series(group, of), base ? series(base, of) : []];
    return base && other.length === 0 ? null : meanCurve(own, seedsOf(group), other, base ? seedsOf(base) : []);
  });
  let left = 0;
  const drawn = (window: readonly [number, number] | null): Curves => {
    const [from, to] = window ?? [-Infinity, Infinity];
    const found = made.slice(0, MOST_CURVES).map(({ name, single }, i): Curve => {
      const band = bands[i];
      if (single) {
        const few = decimate(single, from, to, POINTS / 2);
        const all = { x: single.x, y: single.ys[0], scale };
        return { name, x: few.x, y: few.ys[0].map((v) => (v === null ? null : v * scale)), all };
      }
      if (!band) return { name, x: [], y: [] };
      const rows = [...band.x.keys()].filter((row) => band.x[row] >= from && band.x[row] <= to);
      left = Math.max(left, Math.ceil(rows.length / POINTS));
      const few = rows.filter((_, k) => k % Math.ceil(rows.length / POINTS) === 0);
      const halves = few.map((row) => finite(band.half[row] * scale));
      return {
        name,
        x: few.map((row) => band.x[row]),
        y: few.map((row) => finite(band.mean[row] * scale)),
        all: { x: band.x, y: band.mean, half: band.half, scale },
        ...(halves.some((half) => half !== null) ? { half: halves } : {}),
      };
    });
    return {
      title: `${title} over time${lessOf(base)}`,
      unit,
      xUnit: "Time (s)",
      curves: found,
      ...(window ? { window } : {}),
    };
  };
  const first = drawn(null);
  const csv = (): string => {
    const rows = [`run,flow,time_s,${column}${bands.some((band) => band) ? ",half_of_95_percent_interval" : ""}`];
    made.forEach(({ single, group, flow: of }, i) => {
      const x = single?.x ?? bands[i]?.x ?? [];
      const y = single?.ys[0] ?? bands[i]?.mean ?? [];
      for (let k = 0; k < x.length; k++)
        rows.push(
          [
            cell(group.name),
            cell(of),
            x[k],
            finite(y[k]) ?? "",
            ...(bands[i] ? [finite(bands[i].half[k]) ?? ""] : []),
          ].join(","),
        );
    });
    return `${rows.join("\n")}\n`;
  };
  const missing = base ? made.filter((_, i) => !bands[i]).map(({ name }) => name) : [];
  const several = compared(groups, base).some(({ runs }) => runs.length > 1);
  const notes = [
    partNote(
      groups,
      column,
      all.map(({ flow: of }) => of),
      "",
    ),
    several
      ? "Each mean is of the seeds that have a value at that step; where all have the same, there is no band."
      : "",
    all.length > MOST_CURVES ? `The first ${MOST_CURVES} of ${all.length} curves; the CSV file has all.` : "",
    left > 1 ? `The whole curves show every ${left}th step of the recording; a part of the time shows more.` : "",
    missing.length > 0 ? `${base!.name} has no such flow, so there is no difference of ${missing.join(", ")}.` : "",
    intervalNote(
      groups,
      first.curves.some(({ half }) => half !== undefined),
    ),
  ];
  return { name: column, curves: drawn, csv, notes };
}

/** How often a measure had which values, over the steps of the recording. */
function steps(groups: Group[], { title, unit, column, scale }: OverTime, flow: string): Drawn {
  const values = picked(groups, flow).map(({ name, group, flow: of }) => ({
    name,
    values: group.runs.filter((one) => one.flows.includes(of)).map((one) => one.flowSeries(of, column).ys[0]),
  }));
  return shares(
    `${column}_steps`,
    `${title}: distribution over the steps`,
    unit,
    scale,
    values,
    "Each step of the recording in which the measure has a value counts once, those before a flow's start and after " +
      "its end, too: a throughput is 0 there.",
    partNote(
      groups,
      column,
      groups.flatMap(({ runs }) => runs.flatMap((one) => one.flows)).filter((of) => flow === EVERY || of === flow),
      "",
    ),
  );
}

/** How many flows, or transfers, had which total. */
function flowsOf(
  groups: Group[],
  { title, unit, column, scale }: Omit<Total, "how">,
  table: "flows" | "workload_transfers",
): Drawn {
  const isPart = isOfPart(column);
  const legs = table !== "flows" ? new Set<string>() : isPart ? partsOf(groups, column) : legsOf(groups);
  const values = groups.map(({ name, runs }) => ({
    name,
    values: runs.map((one) => {
      const all = (one.tables[table] as unknown as Record<string, Float64Array>)[column] ?? new Float64Array(0);
      return legs.size > 0 ? all.filter((_, row) => !legs.has(one.flows[row])) : all;
    }),
  }));
  const open = values.reduce(
    (sum, one) => sum + one.values.reduce((n, v) => n + v.filter((x) => !Number.isFinite(x)).length, 0),
    0,
  );
  const what = table === "flows" ? "flows" : "transfers";
  return shares(
    `${column}_${what}`,
    `${title}: distribution`,
    unit,
    scale,
    values,
    [
      open > 0 ? `${open} ${what} have no value, because they did not finish for example, and are left out.` : "",
      legs.size > 0 && isPart
        ? `Left out are legs of split connections, whose delay is of a part of the path: ${[...legs].join(", ")}.`
        : legs.size > 0
          ? `Of a split connection the last leg counts, not ${[...legs].join(", ")}.`
          : "",
    ]
      .filter((one) => one !== "")
      .join(" "),
  );
}

function shares(
  name: string,
  title: string,
  unit: string,
  scale: number,
  all: { name: string; values: Float64Array[] }[],
  ...said: string[]
): Drawn {
  const made = all.map(({ name: own, values }) => ({ name: own, ...distribution(values) }));
  const drawn = (window: readonly [number, number] | null): Curves => ({
    title,
    unit: "share of the values that are not larger",
    xUnit: unit ? `${unit}` : "value",
    ...(window ? { window } : {}),
    curves: made.slice(0, MOST_CURVES).map(({ name: own, x, share }): Curve => {
      const [begin, end] = window ? window.map((edge) => lastAtOrBefore(x, edge / scale) + 1) : [0, x.length];
      const every = Math.max(1, Math.ceil((end - begin) / POINTS));
      const few: number[] = [];
      for (let i = begin; i < end; i += every) few.push(i);
      if (end > begin && few.at(-1) !== end - 1) few.push(end - 1);
      return { name: own, x: few.map((i) => x[i] * scale), y: few.map((i) => share[i]) };
    }),
  });
  const csv = (): string => {
    const rows = made.flatMap(({ name: own, x, share }) =>
      Array.from(x, (value, i) => `${cell(own)},${value},${share[i]}`),
    );
    return `run,value,share\n${rows.join("\n")}\n`;
  };
  return {
    name,
    curves: drawn,
    csv,
    notes: [
      ...said,
      made.length > MOST_CURVES ? `The first ${MOST_CURVES} of ${made.length} curves; the CSV file has all.` : "",
    ],
  };
}

/** The runs' titles; with their folders where two have the same. */
export function titles(runs: Run[]): string[] {
  return runs.map((one) => (runs.some((other) => other !== one && other.title === one.title) ? one.id : one.title));
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

function cell(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
