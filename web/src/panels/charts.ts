import { bridge, rollingMean, type Series } from "../data/decimate";
import { earlierLegs } from "../data/legs";
import { pause } from "../data/parquet";
import type { FlowMeasure, Run } from "../data/run";
import { chosenFlows, FIRST_FLOWS, overlays, run, sequenceShown, shownRuns, toggleFlow, wholeFlow } from "../state/app";
import { openFinding } from "../state/findings";
import { colour, DASHES, seriesColour, theme } from "../state/theme";
import { Chart, type ChartSpec, type Line, type Shade } from "./chart";
import { h } from "./dom";
import { flowTable } from "./flows";
import { asksFirst, recordedLater, recordNow, sequenceCharts } from "./sequence";
import { tablesShown } from "./tables";

declare global {
  interface Window {
    /** What the charts show: for tests. */
    skyhopCharts?: () => ReturnType<Chart["shown"]>[];
  }
}

const QUEUES = 2; // links whose queues are drawn, per run
const BRIDGED_S = 1;
const LONG_MS = 25; // of work before the page gets its turn
const MOST_CHIPS = 12; // names of flows beside the charts

interface Measure {
  title: string;
  unit: string;
  scale: number;
  column: FlowMeasure;
  /** There is no chart where no run has a value. */
  optional?: boolean;
  /** Length of the mean that is drawn, s: a step of the grid holds a few packets only. */
  smoothed?: number;
}

const MEASURES: Measure[] = [
  { title: "Congestion window", unit: "segments", scale: 1, column: "cwnd" },
  { title: "Pacing rate", unit: "Mbit/s", scale: 1e-6, column: "pacing_bps", optional: true },
  { title: "Round-trip time", unit: "ms", scale: 1e3, column: "rtt_s" },
  { title: "One-way delay", unit: "ms", scale: 1e3, column: "delay_mean_s" },
  { title: "Throughput", unit: "Mbit/s", scale: 1e-6, column: "throughput_bps", smoothed: 1 },
];

const NO_RATE = "These flows pace nothing: their packets leave as the window allows.";
const NO_SERIES = 'No time series: put  grid = "100 ms"  under [records] and run again.';
const NO_VALUE = "Nothing was measured: no packet came that far.";

/** The charts beside the globe, with the names of the flows in them. */
export function chartsPanel(): HTMLElement {
  const legend = h("div", { class: "legend" });
  const grid = h("div", { class: "charts" });
  const enlarge = (chart: Chart): void => {
    const on = !chart.element.classList.contains("large");
    for (const other of charts) other.element.classList.toggle("large", on && other === chart);
    grid.classList.toggle("one", on);
  };
  const charts = Array.from({ length: MEASURES.length + 2 }, () => new Chart(enlarge));
  window.skyhopCharts = () => charts.filter((chart) => !chart.element.hidden).map((chart) => chart.shown());
  grid.append(...charts.map((chart) => chart.element));
  let latest = 0;
  const draw = async (): Promise<void> => {
    const mine = ++latest;
    const runs = shownRuns();
    legend.replaceChildren(...legendOf(runs, request));
    const flow = sequenceFlow(runs);
    grid.classList.toggle("sequence", flow !== null);
    const sequence = flow === null ? null : sequenceCharts(runs[0], flow, marks(runs), request);
    const measures = MEASURES.filter(({ optional, column }) => !optional || runs.some((one) => one.hasMeasure(column)));
    const specs = sequence
      ? sequence.map((spec) => () => spec)
      : [...measures.map((measure) => () => flowChart(runs, measure)), () => queueChart(runs), () => dropChart(runs)];
    charts.forEach((chart, i) => (chart.element.hidden = i >= specs.length));
    grid.classList.toggle("many", !sequence && specs.length > 6);
    // Charts of a million steps are made one after the other, so that the page answers in between.
    let begin = performance.now();
    const turn = async (): Promise<boolean> => {
      if (performance.now() - begin < LONG_MS) return true;
      await pause();
      begin = performance.now();
      return mine === latest;
    };
    for (const [i, spec] of specs.entries()) {
      const made = spec();
      if (!(await turn())) return;
      charts[i].show(made);
      if (!(await turn())) return;
    }
    grid.setAttribute("aria-busy", String(wanted));
  };
  let wanted = false;
  const request = (): void => {
    if (wanted) return;
    wanted = true;
    grid.setAttribute("aria-busy", "true");
    requestAnimationFrame(() => {
      wanted = false;
      void draw();
    });
  };
  for (const signal of [run, overlays, chosenFlows, theme, openFinding, sequenceShown, wholeFlow] as const)
    signal.watch(request as () => void);
  request();
  return h("section", { class: "charts-panel", "aria-label": "Charts" }, legend, grid);
}

/**
 * The flow of the sequence view: that of the open finding, else the first in the charts; null while the view is closed.
 */
function sequenceFlow(runs: Run[]): string | null {
  if (!sequenceShown.value || runs.length === 0) return null;
  const open = openFinding.value?.flow;
  return (
    (open !== undefined && runs[0].flows.includes(open)
      ? open
      : drawnFlows(runs).find((flow) => runs[0].flows.includes(flow))) ?? null
  );
}

const SEQUENCE_KEYS: [string, string][] = [
  ["series-0", "sent"],
  ["series-1", "sent again"],
  ["drop", "lost"],
  ["series-2", "acknowledged"],
  ["series-5", "SACK"],
  ["series-4", "window"],
];

/** With one run, colours tell flows apart; with several, colours tell runs and dashes flows. */
export function strokeOf(runs: Run[], at: number, flow: string): { colour: string; dash: readonly number[] } {
  // Of a few flows each keeps its colour whatever is shown; of many, those that are shown get one.
  const among = runs[at].flows.length <= FIRST_FLOWS ? runs[at].flows : drawnFlows(runs);
  const place = Math.max(0, among.indexOf(flow));
  return runs.length === 1
    ? { colour: seriesColour(place), dash: DASHES[Math.floor(place / 6) % 6] }
    : { colour: seriesColour(at), dash: DASHES[place % 6] };
}

/** The flows in the charts: those chosen, or the first of all runs. */
function drawnFlows(runs: Run[]): readonly string[] {
  return chosenFlows.value ?? flowsOf(runs).slice(0, FIRST_FLOWS);
}

function flowsOf(runs: Run[]): string[] {
  return [...new Set(runs.flatMap((one) => one.flows))];
}

function legendOf(runs: Run[], again: () => void): HTMLElement[] {
  const chips: HTMLElement[] = [];
  if (runs.length > 1) {
    runs.forEach((one, i) => {
      const swatch = h("i", { style: `background:${seriesColour(i)}` });
      chips.push(h("span", { class: "chip run" }, swatch, one.title));
    });
  }
  const drawn = drawnFlows(runs);
  const flows = flowsOf(runs);
  // Of a few flows all have a button, of many those in the charts; the table has the others.
  const offered = flows.length <= FIRST_FLOWS ? flows : drawn.slice(0, MOST_CHIPS);
  for (const flow of offered) {
    const at = runs.findIndex((one) => one.flows.includes(flow));
    if (at < 0) continue;
    const on = drawn.includes(flow);
    const style = runs.length === 1 && on ? `background:${strokeOf(runs, at, flow).colour}` : "background:var(--muted)";
    chips.push(
      h(
        "button",
        { type: "button", class: "chip", "aria-pressed": on ? "true" : "false", onclick: () => toggleFlow(flow, !on) },
        h("i", { style }),
        flow,
      ),
    );
  }
  if (drawn.length > offered.length)
    chips.push(h("span", { class: "key" }, `and ${drawn.length - offered.length} more`));
  if (flows.length > 0) {
    const others = flows.length - drawn.length;
    chips.push(
      h(
        "button",
        { type: "button", class: "chip all-flows", onclick: () => (flowTable.value = true) },
        others > 0 ? `${others} more flows …` : "Flows …",
      ),
    );
  }
  if (flows.length > 0)
    chips.push(
      h("button", { type: "button", class: "chip all-tables", onclick: () => (tablesShown.value = true) }, "Tables …"),
    );
  if (flows.length > 0) {
    const title = "Every packet of one flow: that of the open finding, else the first in the charts";
    chips.push(
      h(
        "button",
        {
          type: "button",
          class: "chip packets",
          title,
          "aria-pressed": String(sequenceShown.value),
          onclick: () => (sequenceShown.value = !sequenceShown.value),
        },
        "Packets",
      ),
    );
  }
  if (sequenceShown.value)
    return [
      ...chips,
      ...recordingChips(runs[0], sequenceFlow(runs), again),
      ...SEQUENCE_KEYS.map(([role, name]) =>
        h("span", { class: "key" }, h("i", { class: "key-band", style: `background:var(--${role})` }), name),
      ),
    ];
  if (runs.length === 1) chips.push(h("span", { class: "key" }, h("i", { class: "key-ssthresh" }), "ssthresh"));
  // Marks of several runs could not be told apart.
  const of = runs.length > 1 ? ` in ${runs[0].title}` : "";
  if (hasBand(runs))
    chips.push(h("span", { class: "key" }, h("i", { class: "key-band" }), `${allOf(runs[0])}: median, 5 to 95 %`));
  chips.push(
    h("span", { class: "key" }, h("i", { class: "key-handover" }), `handover${of}`),
    h("span", { class: "key" }, h("i", { class: "key-drop" }), `packet dropped${of}`),
  );
  return chips;
}

/** Beside the packets around a finding: those of the whole flow; and for a long run the button that makes it again. */
function recordingChips(one: Run | undefined, flow: string | null, again: () => void): HTMLElement[] {
  if (!one || flow === null) return [];
  const chips: HTMLElement[] = [];
  if (asksFirst(one, flow)) {
    const minutes = Math.ceil(one.entry.wall_time_s / 60);
    chips.push(
      h(
        "button",
        { type: "button", class: "chip record", onclick: () => recordNow(one, flow, again) },
        `Record (about ${minutes} min)`,
      ),
    );
  }
  if (openFinding.value?.flow === flow && recordedLater(one, flow)) {
    const title = "All packets of the flow, not only those around the open finding";
    chips.push(
      h(
        "button",
        {
          type: "button",
          class: "chip whole-flow",
          title,
          "aria-pressed": String(wholeFlow.value),
          onclick: () => (wholeFlow.value = !wholeFlow.value),
        },
        "Whole flow",
      ),
    );
  }
  return chips;
}

/** Many flows of one run stand behind the chosen ones as a band. */
function hasBand(runs: Run[]): boolean {
  return runs.length === 1 && runs[0].flows.length > FIRST_FLOWS;
}

/** What the band is of: legs of split connections would count their connection again. */
function allOf(one: Run): string {
  return earlierLegs(one.flows).size > 0 ? "all flows but legs of split ones" : "all flows";
}

function bandLines(one: Run, measure: Measure): Line[] {
  const { column, smoothed } = measure;
  const [high, middle, low] = one.quantiles(column, [0.95, 0.5, 0.05], smoothed ?? 0);
  const muted = colour("muted");
  const line = (label: string, series: Series, width: number, fill?: string): Line => ({
    label,
    colour: muted,
    dash: [],
    width,
    scales: true,
    series,
    ...(fill ? { fill } : {}),
  });
  return [
    line(`95 % of ${allOf(one)}`, high, 0.5, `${muted}33`),
    line(`5 % of ${allOf(one)}`, low, 0.5),
    line(`median of ${allOf(one)}`, middle, 1.2),
  ];
}

type Marks = Pick<ChartSpec, "drops" | "handovers" | "shades">;

function marks(runs: Run[]): Marks {
  if (runs.length === 0) return { drops: [], handovers: [], shades: [] };
  const { drops, handovers } = runs[0].tables;
  const real = Array.from(handovers.time_s).filter((_, row) => handovers.from[row]);
  return { drops: drops.time_s, handovers: real, shades: shades() };
}

/** The finding that is open: its time until the flow is back, and the silence in it. */
function shades(): Shade[] {
  const open = openFinding.value;
  if (!open) return [];
  const whole: Shade = { from: open.begin, to: open.until, role: "series-4" };
  return open.silence ? [whole, { from: open.silence[0], to: open.silence[1], role: "drop" }] : [whole];
}

function flowChart(runs: Run[], measure: Measure): ChartSpec {
  const { title, unit, scale, column, smoothed } = measure;
  const lines: Line[] = [];
  const drawn = drawnFlows(runs);
  runs.forEach((one, at) => {
    for (const flow of drawn) {
      if (!one.flows.includes(flow)) continue;
      const stroke = strokeOf(runs, at, flow);
      const label = runs.length > 1 ? `${one.title}: ${flow}` : flow;
      if (column === "cwnd" && runs.length === 1)
        addLine(lines, {
          label: `${flow} ssthresh`,
          colour: `${stroke.colour}99`,
          dash: [3, 3],
          width: 1,
          scales: false,
          series: one.flowSeries(flow, "ssthresh"),
        });
      const series = one.derived(`${flow}\n${column} drawn`, () => {
        const raw = one.flowSeries(flow, column);
        return smoothed ? rollingMean(raw, smoothed) : bridge(raw, BRIDGED_S);
      });
      addLine(lines, { label, ...stroke, width: 1.5, scales: true, series });
    }
  });
  if (hasBand(runs))
    lines.push(
      ...bandLines(runs[0], measure).filter(({ series }) => series.ys[0].some((value) => !Number.isNaN(value))),
    );
  const recorded = runs.some((one) => one.hasSeries);
  const none = column === "pacing_bps" ? NO_RATE : NO_VALUE;
  // A value of a step is a mean over the step, which may be longer than the mean that is drawn.
  const steps = [...new Set(runs.map((one) => Math.max(smoothed ?? 0, one.stepS)))];
  const told = steps.map((step) => Number(step.toPrecision(3))).join(" or ");
  const mean = smoothed && runs.length > 0 ? `, mean of ${told} s` : "";
  const empty = runs.length === 0 ? "" : recorded ? none : NO_SERIES;
  return { title, unit: unit + mean, scale, lines, ...marks(runs), empty };
}

function addLine(lines: Line[], line: Line): void {
  if (line.series.ys[0].some((value) => !Number.isNaN(value))) lines.push(line);
}

function queueChart(runs: Run[]): ChartSpec {
  const lines: Line[] = [];
  const names = new Set<string>();
  runs.forEach((one, at) => {
    one.busiestLinks(QUEUES).forEach((link, i) => {
      names.add(link.replace("->", " → "));
      addLine(lines, {
        label: link,
        colour: seriesColour(runs.length > 1 ? at : i + 3),
        dash: DASHES[runs.length > 1 ? i : 0],
        width: 1.5,
        scales: true,
        series: one.linkSeries(link, "queue_packets"),
      });
    });
  });
  const unit = names.size > 0 ? `packets: ${[...names].slice(0, 2).join(", ")}` : "packets";
  return {
    title: "Queue",
    unit,
    scale: 1,
    lines,
    ...marks(runs),
    empty: runs.length === 0 ? "" : "No link had to let a packet wait, or no series was recorded.",
  };
}

function dropChart(runs: Run[]): ChartSpec {
  const lines: Line[] = [];
  runs.forEach((one, at) => {
    for (const flow of drawnFlows(runs)) {
      if (!one.flows.includes(flow)) continue;
      const series = one.derived(`${flow}\nlosses`, () => lossesOf(one, flow));
      const label = runs.length > 1 ? `${one.title}: ${flow}` : flow;
      if (series.ys[0].at(-1)) lines.push({ label, ...strokeOf(runs, at, flow), width: 1.5, scales: true, series });
    }
  });
  return {
    title: "Packets dropped",
    unit: "since the start",
    scale: 1,
    lines,
    ...marks(runs),
    steps: true,
    empty: runs.length === 0 ? "" : "No data packet was dropped.",
  };
}

/** Data packets of a flow that were lost, counted up. */
function lossesOf(one: Run, flow: string): Series {
  const { time_s: times, is_ack: ack } = one.tables.drops;
  const x: number[] = [0];
  const y: number[] = [0];
  for (const row of one.happenings.dropRows(flow)) {
    if (ack[row]) continue;
    x.push(times[row]);
    y.push(y.length);
  }
  x.push(one.duration);
  y.push(y.length - 1);
  return { x: Float64Array.from(x), ys: [Float64Array.from(y)] };
}
