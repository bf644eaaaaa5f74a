import { bridge, rollingMean, type Series } from "../data/decimate";
import type { FlowMeasure, Run } from "../data/run";
import { overlays, run, shownRuns } from "../state/app";
import { Signal } from "../state/signal";
import { DASHES, seriesColour, theme } from "../state/theme";
import { Chart, wholeRun, type ChartSpec, type Line } from "./chart";
import { h } from "./dom";

const QUEUES = 2; // links whose queues are drawn, per run
const BRIDGED_S = 1;
const MOST_FLOWS = 8; // more flows than that are chosen from

/** Flows that are switched off, by name. */
const hidden = new Signal<ReadonlySet<string>>(new Set());

interface Measure {
  title: string;
  unit: string;
  scale: number;
  column: FlowMeasure;
  /** Length of the mean that is drawn, s: a step of the grid holds a few packets only. */
  smoothed?: number;
}

const MEASURES: Measure[] = [
  { title: "Congestion window", unit: "segments", scale: 1, column: "cwnd" },
  { title: "Round-trip time", unit: "ms", scale: 1e3, column: "rtt_s" },
  { title: "One-way delay", unit: "ms", scale: 1e3, column: "delay_mean_s" },
  { title: "Throughput", unit: "Mbit/s, mean of 1 s", scale: 1e-6, column: "throughput_bps", smoothed: 1 },
];

const NO_SERIES = "No time series: put  grid = \"100 ms\"  under [records] and run again.";
const NO_VALUE = "Nothing was measured: no packet came that far.";

/** The charts under the globe. */
export function chartsPanel(): HTMLElement {
  const charts = Array.from({ length: 6 }, () => new Chart());
  const legend = h("div", { class: "legend" });
  const grid = h("div", { class: "charts" }, ...charts.map((chart) => chart.element));
  const draw = (): void => {
    const runs = shownRuns();
    legend.replaceChildren(...legendOf(runs));
    const specs = [...MEASURES.map((measure) => flowChart(runs, measure)), queueChart(runs), dropChart(runs)];
    charts.forEach((chart, i) => chart.show(specs[i]));
  };
  run.watch(() => {
    hidden.value = new Set(manyFlows(run.value));
    wholeRun();
    draw();
  });
  overlays.watch(draw);
  hidden.watch(draw);
  theme.watch(draw);
  draw();
  return h("section", { class: "charts-panel", "aria-label": "Charts" }, legend, grid);
}

/** Of many flows only the first are drawn at first. */
function manyFlows(current: Run | null): string[] {
  return current ? current.flows.slice(MOST_FLOWS) : [];
}

/** With one run, colours tell flows apart; with several, colours tell runs and dashes flows. */
export function strokeOf(runs: Run[], at: number, flow: string): { colour: string; dash: readonly number[] } {
  const number = runs[at].flows.indexOf(flow);
  return runs.length === 1 ? { colour: seriesColour(number), dash: DASHES[Math.floor(number / 6) % 6] } : { colour: seriesColour(at), dash: DASHES[number % 6] };
}

function legendOf(runs: Run[]): HTMLElement[] {
  const chips: HTMLElement[] = [];
  if (runs.length > 1) {
    runs.forEach((one, i) => {
      const swatch = h("i", { style: `background:${seriesColour(i)}` });
      chips.push(h("span", { class: "chip run" }, swatch, one.title));
    });
  }
  const flows = [...new Set(runs.flatMap((one) => one.flows))];
  for (const flow of flows.slice(0, 24)) {
    const at = runs.findIndex((one) => one.flows.includes(flow));
    const style = runs.length === 1 ? `background:${strokeOf(runs, at, flow).colour}` : "background:var(--muted)";
    const on = !hidden.value.has(flow);
    const toggle = (): void => {
      const next = new Set(hidden.value);
      if (on) next.add(flow);
      else next.delete(flow);
      hidden.value = next;
    };
    chips.push(h("button", { type: "button", class: "chip", "aria-pressed": on ? "true" : "false", onclick: toggle }, h("i", { style }), flow));
  }
  if (runs.length === 1) chips.push(h("span", { class: "key" }, h("i", { class: "key-ssthresh" }), "ssthresh"));
  chips.push(h("span", { class: "key" }, h("i", { class: "key-handover" }), "handover"), h("span", { class: "key" }, h("i", { class: "key-drop" }), "packet dropped"));
  return chips;
}

function marks(runs: Run[]): Pick<ChartSpec, "drops" | "handovers"> {
  const { drops, handovers } = runs[0].tables;
  const real = Array.from(handovers.time_s).filter((_, row) => handovers.from[row]);
  return { drops: drops.time_s, handovers: real };
}

function flowChart(runs: Run[], measure: Measure): ChartSpec {
  const { title, unit, scale, column, smoothed } = measure;
  const lines: Line[] = [];
  runs.forEach((one, at) => {
    for (const flow of one.flows) {
      if (hidden.value.has(flow)) continue;
      const stroke = strokeOf(runs, at, flow);
      const label = runs.length > 1 ? `${one.title}: ${flow}` : flow;
      if (column === "cwnd" && runs.length === 1) addLine(lines, { label: `${flow} ssthresh`, colour: `${stroke.colour}99`, dash: [3, 3], width: 1, scales: false, series: one.flowSeries(flow, "ssthresh") });
      const series = one.flowSeries(flow, column);
      addLine(lines, { label, ...stroke, width: 1.5, scales: true, series: smoothed ? rollingMean(series, smoothed) : bridge(series, BRIDGED_S) });
    }
  });
  const nothing = runs.length === 0 ? { drops: [], handovers: [] } : marks(runs);
  const recorded = runs.some((one) => one.tables.flow_series.time_s.length > 0);
  return { title, unit, scale, lines, ...nothing, empty: runs.length === 0 ? "" : recorded ? NO_VALUE : NO_SERIES };
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
      addLine(lines, { label: link, colour: seriesColour(runs.length > 1 ? at : i + 3), dash: DASHES[runs.length > 1 ? i : 0], width: 1.5, scales: true, series: one.linkSeries(link, "queue_packets") });
    });
  });
  const nothing = runs.length === 0 ? { drops: [], handovers: [] } : marks(runs);
  const unit = names.size > 0 ? `packets: ${[...names].slice(0, 2).join(", ")}` : "packets";
  return { title: "Queue", unit, scale: 1, lines, ...nothing, empty: runs.length === 0 ? "" : "No link had to let a packet wait, or no series was recorded." };
}

function dropChart(runs: Run[]): ChartSpec {
  const lines: Line[] = [];
  runs.forEach((one, at) => {
    for (const flow of one.flows) {
      if (hidden.value.has(flow)) continue;
      const series = lossesOf(one, flow);
      const label = runs.length > 1 ? `${one.title}: ${flow}` : flow;
      if (series.ys[0].at(-1)) lines.push({ label, ...strokeOf(runs, at, flow), width: 1.5, scales: true, series });
    }
  });
  const nothing = runs.length === 0 ? { drops: [], handovers: [] } : marks(runs);
  return { title: "Packets dropped", unit: "since the start", scale: 1, lines, ...nothing, steps: true, empty: runs.length === 0 ? "" : "No data packet was dropped." };
}

/** Data packets of a flow that were lost, counted up. */
export function lossesOf(one: Run, flow: string): Series {
  const { time_s: times, flow: flows, is_ack: ack } = one.tables.drops;
  const x: number[] = [0];
  const y: number[] = [0];
  for (let row = 0; row < times.length; row++) {
    if (flows[row] !== flow || ack[row]) continue;
    x.push(times[row]);
    y.push(y.length);
  }
  x.push(one.duration);
  y.push(y.length - 1);
  return { x: Float64Array.from(x), ys: [Float64Array.from(y)] };
}
