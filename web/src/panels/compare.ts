import { decimate } from "../data/decimate";
import { loadRun, type FlowMeasure, type Run } from "../data/run";
import type { RunEntry } from "../data/source";
import { comparison, entries, notice } from "../state/app";
import { theme } from "../state/theme";
import { h, icon, ICONS } from "./dom";
import { barFigure, curveFigure, type Bars, type Curves, type FigureLook } from "./figure";
import { pageLook } from "./look";

type How = "sum" | "mean";
interface Total {
  title: string;
  unit: string;
  column: string;
  scale: number;
  how: How;
}

const TOTALS: Total[] = [
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

const OVER_TIME: { title: string; unit: string; column: FlowMeasure; scale: number }[] = [
  { title: "Congestion window over time", unit: "segments", column: "cwnd", scale: 1 },
  { title: "Round-trip time over time", unit: "ms", column: "rtt_s", scale: 1e3 },
  { title: "One-way delay over time", unit: "ms", column: "delay_mean_s", scale: 1e3 },
  { title: "Throughput over time", unit: "Mbit/s", column: "throughput_bps", scale: 1e-6 },
];

const MEASURES = [...TOTALS.map((_, i) => `total ${i}`), ...OVER_TIME.map((_, i) => `time ${i}`)];
const POINTS = 700; // of a curve; a figure of 760 shows no more
const MOST_CURVES = 18; // more cannot be told apart
const MOST_GROUPS = 12; // of bars
const FIRST_RUNS = 6; // compared before the reader chooses

interface Drawn {
  name: string;
  svg: (look: FigureLook) => string;
  csv: string;
  /** What the figure leaves out. */
  note: string;
}

/** Ids of the runs that are compared: those chosen, else those of one study, which are there to be compared. */
function chosen(): readonly string[] {
  if (comparison.value.runs) return comparison.value.runs;
  const all = entries.value;
  const study = all.find((entry) => entry.study)?.study ?? null;
  return all.filter((entry) => study === null || entry.study === study).slice(0, FIRST_RUNS).map((entry) => entry.id);
}

/** Chosen runs, one chosen measure, one figure to take away. */
export function comparePanel(): HTMLElement {
  const runs = h("fieldset", {}, h("legend", {}, "Runs"));
  const measure = h("select", { id: "measure", "aria-label": "Measure" });
  measure.append(
    h("optgroup", { label: "One number per flow" }, ...TOTALS.map((one, i) => h("option", { value: `total ${i}` }, one.title))),
    h("optgroup", { label: "Over time" }, ...OVER_TIME.map((one, i) => h("option", { value: `time ${i}` }, one.title))),
  );
  const flow = h("select", { id: "flow", "aria-label": "Flow" });
  const flowLabel = h("label", {}, "Flow ", flow);
  const figure = h("div", { class: "figure" });
  let drawn: Drawn | null = null;
  let latest = 0;
  const save = (kind: "svg" | "png" | "csv"): void => void (drawn && download(drawn, kind));
  const downloads = (["svg", "png", "csv"] as const).map((kind) => h("button", { type: "button", onclick: () => save(kind) }, icon(ICONS.download), kind.toUpperCase()));
  const draw = async (): Promise<void> => {
    const mine = ++latest;
    const wanted = entries.value.filter((entry) => chosen().includes(entry.id));
    downloads.forEach((button) => (button.disabled = wanted.length === 0));
    if (wanted.length === 0) {
      drawn = null;
      figure.replaceChildren(h("p", { class: "empty" }, entries.value.length > 0 ? "Choose the runs to compare." : "There is no run to compare yet."));
      return;
    }
    try {
      const loaded = await Promise.all(wanted.map(loadRun));
      // The reader may have chosen others meanwhile.
      if (mine !== latest) return;
      measure.value = MEASURES.includes(comparison.value.measure) ? comparison.value.measure : MEASURES[0];
      flowLabel.hidden = !measure.value.startsWith("time");
      offer(flow, loaded, comparison.value.flow);
      drawn = make(loaded, measure.value, flow.value);
      figure.innerHTML = drawn.svg(pageLook(sizeIn(figure.clientWidth)));
      const gone = chosen().filter((id) => !entries.value.some((entry) => entry.id === id));
      for (const note of [drawn.note, lengths(loaded), gone.length > 0 ? `Not here any more: ${gone.join(", ")}.` : ""]) if (note) figure.append(h("p", { class: "note" }, note));
    } catch (error) {
      notice.value = `The runs cannot be compared: ${String(error)}`;
    }
  };
  const listRuns = (): void => {
    runs.replaceChildren(h("legend", {}, "Runs"), ...entries.value.map(runBox));
  };
  entries.follow(() => {
    listRuns();
    void draw();
  });
  comparison.watch(() => {
    for (const box of runs.querySelectorAll("input")) box.checked = chosen().includes(box.value);
    void draw();
  });
  theme.watch(() => void draw());
  measure.addEventListener("change", () => (comparison.value = { ...comparison.value, measure: measure.value }));
  flow.addEventListener("change", () => (comparison.value = { ...comparison.value, flow: flow.value }));
  const side = h("div", { class: "choices" }, h("label", {}, "Measure ", measure), flowLabel, runs);
  return h("div", { class: "compare" }, h("h2", {}, "Compare runs"), side, h("div", { class: "result" }, figure, h("div", { class: "downloads" }, ...downloads)));
}

function runBox(entry: RunEntry): HTMLElement {
  const box = h("input", { type: "checkbox", value: entry.id, checked: chosen().includes(entry.id) });
  box.addEventListener("change", () => {
    const without = chosen().filter((id) => id !== entry.id);
    comparison.value = { ...comparison.value, runs: box.checked ? [...without, entry.id] : without };
  });
  return h("label", {}, box, h("span", {}, entry.title, h("small", {}, entry.study ?? "")));
}

const EVERY = "*";

/** Offers the runs' flows and, at the end, all of them at once; what was chosen stays chosen where it can. */
function offer(select: HTMLSelectElement, runs: Run[], before: string): void {
  const names = [...new Set(runs.flatMap((one) => one.flows))];
  select.replaceChildren(...names.map((name) => h("option", { value: name }, name)), h("option", { value: EVERY }, "every flow"));
  select.value = names.includes(before) || before === EVERY ? before : (names[0] ?? EVERY);
}

/** From the first flow's start to the last flow's stop, s. */
function length(one: Run): number {
  const [from, to] = one.activeTime();
  return to - from;
}

/** What must be known of runs that differ in length; empty where they do not. */
function lengths(runs: Run[]): string {
  const all = runs.map((one) => one.duration);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  return most > least * 1.001 ? `These runs differ in length, from ${Number(least.toPrecision(6))} s to ${Number(most.toPrecision(6))} s: sums are over the whole of each run, rates over the time from its first flow's start to its last flow's stop, and curves end where their run ends.` : "";
}

function make(runs: Run[], measure: string, flow: string): Drawn {
  const [kind, index] = measure.split(" ");
  return kind === "total" ? totals(runs, TOTALS[Number(index)]) : curves(runs, OVER_TIME[Number(index)], flow);
}

function totals(runs: Run[], { title, unit, column, scale, how }: Total): Drawn {
  const every = [...new Set(runs.flatMap((one) => one.flows))];
  const flows = every.slice(0, MOST_GROUPS);
  const value = (one: Run, flow: string): number | null => {
    const row = one.flows.indexOf(flow);
    const cell = row < 0 ? NaN : (one.tables.flows as unknown as Record<string, Float64Array>)[column][row];
    return Number.isFinite(cell) ? cell * scale : null;
  };
  // A rate is over the flow's own time: its bits over one time of all flows are what adds up.
  const inAll = (one: Run, flow: string): number | null => {
    const own = value(one, flow);
    const row = one.flows.indexOf(flow);
    const { start_s, stop_s } = one.tables.flows;
    return own === null || !column.endsWith("_bps") ? own : (own * (stop_s[row] - start_s[row])) / length(one);
  };
  const groups = flows.map((flow) => ({ name: flow, values: runs.map((one) => value(one, flow)) }));
  if (flows.length > 1) {
    const all = runs.map((one) => {
      const values = one.flows.map((flow) => inAll(one, flow)).filter((v) => v !== null);
      const sum = values.reduce((a, b) => a + b, 0);
      return values.length === 0 ? null : how === "sum" ? sum : sum / values.length;
    });
    groups.push({ name: how === "sum" ? (column.endsWith("_bps") ? "all, first start to last stop" : "all together") : "mean of all", values: all });
  }
  const bars: Bars = { title, unit, groups, runs: titles(runs) };
  const csv = [["flow", ...bars.runs].map(cell).join(","), ...groups.map((group) => [cell(group.name), ...group.values.map((v) => v ?? "")].join(","))];
  const note = every.length > MOST_GROUPS ? `The first ${MOST_GROUPS} of ${every.length} flows.` : "";
  return { name: column, svg: (look) => barFigure(bars, look), csv: `${csv.join("\n")}\n`, note };
}

/** One curve per run and flow; `flow` is the only one to show, or EVERY. */
function curves(runs: Run[], { title, unit, column, scale }: (typeof OVER_TIME)[number], flow: string): Drawn {
  const found: Curves["curves"] = [];
  const rows = [`run,flow,time_s,${column}`];
  titles(runs).forEach((name, i) => {
    for (const one of runs[i].flows.filter((each) => flow === EVERY || each === flow)) {
      const series = runs[i].flowSeries(one, column);
      const few = decimate(series, -Infinity, Infinity, POINTS);
      found.push({ name: `${name}, ${one}`, x: few.x, y: few.ys[0].map((v) => (v === null ? null : v * scale)) });
      series.x.forEach((time, k) => rows.push(`${cell(name)},${cell(one)},${time},${Number.isNaN(series.ys[0][k]) ? "" : series.ys[0][k]}`));
    }
  });
  const figure: Curves = { title, unit, xUnit: "Time (s)", curves: found.slice(0, MOST_CURVES) };
  const note = found.length > MOST_CURVES ? `The first ${MOST_CURVES} of ${found.length} curves; the CSV file has all.` : "";
  return { name: column, svg: (look) => curveFigure(figure, look), csv: `${rows.join("\n")}\n`, note };
}

/** The runs' titles; with their folders where two have the same. */
function titles(runs: Run[]): string[] {
  return runs.map((one) => (runs.some((other) => other !== one && other.title === one.title) ? one.id : one.title));
}

function cell(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

function sizeIn(width: number): { width: number; height: number } {
  return width < 520 ? { width: 420, height: 380 } : { width: 760, height: 400 };
}

/** White paper, whatever the page looks like. */
const PRINT: FigureLook = {
  width: 760, height: 400,
  paper: "#ffffff", ink: "#1b1b1b", muted: "#6a6a6a", rule: "#dddddd",
  series: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"],
};

async function download(drawn: Drawn, kind: "svg" | "png" | "csv"): Promise<void> {
  const text = kind === "csv" ? drawn.csv : drawn.svg(PRINT);
  const blob = kind === "png" ? await raster(text) : new Blob([text], { type: kind === "csv" ? "text/csv" : "image/svg+xml" });
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: `${drawn.name}.${kind}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

async function raster(text: string): Promise<Blob> {
  const image = new Image(1520, 800);
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = h("canvas", { width: 1520, height: 800 });
  canvas.getContext("2d")?.drawImage(image, 0, 0, 1520, 800);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"));
}
