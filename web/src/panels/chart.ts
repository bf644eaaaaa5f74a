import uPlot from "uplot";
import { decimate, type Series } from "../data/decimate";
import { clock } from "../state/app";
import { colour } from "../state/theme";
import { h } from "./dom";
import { number } from "./format";

/** One line of a chart. */
export interface Line {
  label: string;
  colour: string;
  dash: readonly number[];
  width: number;
  /** Whether the chart is made high enough for it. */
  scales: boolean;
  series: Series;
}

export interface ChartSpec {
  title: string;
  unit: string;
  /** What the columns are multiplied by to be in that unit. */
  scale: number;
  lines: Line[];
  /** Drawn as ticks at the bottom. */
  drops: ArrayLike<number>;
  /** Drawn as dashed lines from bottom to top. */
  handovers: ArrayLike<number>;
  steps?: boolean;
  /** Said instead of a chart without lines. */
  empty: string;
}

const SYNC = "skyhop";
const shown = new Set<Chart>();
let range: [number, number] | null = null;

/** Shows one part of the run in all charts; null for the whole. */
function zoomAll(to: [number, number] | null): void {
  range = to;
  for (const chart of shown) chart.zoom();
}

/** A chart of series over the run's time. Its cursor, its zoom and its playhead are those of all charts. */
export class Chart {
  readonly element: HTMLElement;
  private readonly head = h("h3");
  private readonly values = h("p", { class: "values" });
  private readonly plotBox = h("div", { class: "plot" });
  private readonly playhead = h("div", { class: "playhead" });
  private plot: uPlot | null = null;
  private spec: ChartSpec | null = null;
  private drawnWidth = 0;

  constructor() {
    this.element = h("figure", { class: "chart" }, h("figcaption", {}, this.head, this.values), this.plotBox);
    new ResizeObserver(() => this.resize()).observe(this.plotBox);
    clock.time.watch(() => this.followTime());
    shown.add(this);
  }

  show(spec: ChartSpec): void {
    this.spec = spec;
    this.rebuild();
  }

  /** Draws anew, also with the colours of another theme. */
  rebuild(): void {
    const { spec } = this;
    this.plot?.destroy();
    this.plot = null;
    if (!spec) return;
    this.head.replaceChildren(spec.title, h("small", {}, spec.unit));
    const width = this.plotBox.clientWidth;
    const height = this.plotBox.clientHeight;
    if (width < 40 || height < 30) return;
    this.drawnWidth = width;
    if (spec.lines.length === 0) {
      this.plotBox.replaceChildren(h("p", { class: "empty" }, spec.empty));
      this.values.replaceChildren();
      return;
    }
    this.plotBox.replaceChildren();
    this.plot = new uPlot(this.options(spec, width, height), this.data(), this.plotBox);
    this.plot.over.append(this.playhead);
    this.followTime();
  }

  zoom(): void {
    const { plot } = this;
    if (!plot) return;
    plot.batch(() => {
      plot.setData(this.data(), false);
      const [min, max] = range ?? [0, clock.end.value];
      plot.setScale("x", { min, max });
      if (!range) plot.setScale("y", { min: null as unknown as number, max: null as unknown as number });
    });
    this.followTime();
  }

  private options(spec: ChartSpec, width: number, height: number): uPlot.Options {
    const ink = colour("muted");
    const grid = { stroke: colour("rule"), width: 1 };
    const axis = { stroke: ink, grid, ticks: { ...grid, size: 3 }, font: "11px system-ui, sans-serif", gap: 4 };
    return {
      width,
      height,
      padding: [6, 16, 0, 0],
      legend: { show: false },
      scales: { x: { time: false, min: range?.[0] ?? 0, max: range?.[1] ?? clock.end.value }, y: { range: fromZero } },
      axes: [
        { ...axis, size: 22, values: (_, ticks) => ticks.map((tick) => `${plain(tick)} s`) },
        { ...axis, size: 44, values: (_, ticks) => ticks.map(plain) },
      ],
      series: [
        {},
        ...spec.lines.map((line): uPlot.Series => ({
          label: line.label,
          stroke: line.colour,
          width: line.width,
          dash: [...line.dash],
          points: { show: false },
          auto: line.scales,
          ...(spec.steps ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
        })),
      ],
      cursor: {
        sync: { key: SYNC, setSeries: false },
        points: { size: 6 },
        drag: { x: true, y: false, setScale: false },
        focus: { prox: 24 },
      },
      hooks: {
        draw: [(plot) => drawMarks(plot, spec)],
        setCursor: [(plot) => this.readAt(plot.cursor.left !== undefined && plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : clock.time.value)],
        setSelect: [(plot) => this.select(plot)],
        ready: [(plot) => this.listen(plot)],
      },
    };
  }

  private listen(plot: uPlot): void {
    let pressed = 0;
    plot.over.addEventListener("pointerdown", (event) => (pressed = event.clientX));
    plot.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - pressed) > 4) return;
      const box = plot.over.getBoundingClientRect();
      clock.seek(plot.posToVal(event.clientX - box.left, "x"));
    });
    plot.over.addEventListener("dblclick", () => zoomAll(null));
  }

  private select(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width > 6) zoomAll([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  private data(): uPlot.AlignedData {
    const [from, to] = range ?? [0, clock.end.value];
    const buckets = Math.max(200, this.drawnWidth);
    const tables = this.spec!.lines.map(({ series }) => {
      const { x, ys } = decimate(series, from, to, buckets);
      const scaled = ys.map((y) => y.map((value) => (value === null ? null : value * this.spec!.scale)));
      return [x, ...scaled] as unknown as uPlot.AlignedData;
    });
    return tables.length === 1 ? tables[0] : uPlot.join(tables);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.plotBox;
    if (this.plot && width > 40) {
      this.plot.setSize({ width, height });
      this.drawnWidth = width;
      this.followTime();
    } else {
      this.rebuild();
    }
  }

  private followTime(): void {
    const { plot } = this;
    if (!plot) return;
    const time = clock.time.value;
    const left = plot.valToPos(time, "x");
    this.playhead.style.transform = `translateX(${left.toFixed(1)}px)`;
    this.playhead.hidden = left < 0 || left > plot.over.clientWidth;
    if (plot.cursor.left === undefined || plot.cursor.left < 0) this.readAt(time);
  }

  /** The numbers of all lines at a time, in their colours. */
  private readAt(time: number): void {
    const { spec } = this;
    if (!spec) return;
    const items = readable(spec.lines);
    while (this.values.childElementCount > items.length) this.values.lastElementChild?.remove();
    while (this.values.childElementCount < items.length) this.values.append(h("span"));
    items.forEach((line, i) => {
      const item = this.values.children[i] as HTMLElement;
      item.style.color = line.colour;
      item.title = line.label;
      item.textContent = number(valueAt(line.series, time) * spec.scale, 3);
    });
  }

  forget(): void {
    shown.delete(this);
  }
}

/** The lines whose numbers are written: all of a few, of many the first in each colour. */
function readable(lines: Line[]): Line[] {
  const drawn = lines.filter((line) => line.scales);
  return drawn.length <= 3 ? drawn : drawn.filter((line, i) => drawn.findIndex((other) => other.colour === line.colour) === i).slice(0, 4);
}

/** Takes the zoom back, as for another run. */
export function wholeRun(): void {
  zoomAll(null);
}

function plain(tick: number): string {
  return String(Number(tick.toPrecision(6)));
}

function fromZero(_: uPlot, min: number | null, max: number | null): uPlot.Range.MinMax {
  const top = Math.max(max ?? 1, 1e-9);
  const bottom = (min ?? 0) > top * 0.6 ? (min ?? 0) - (top - (min ?? 0)) * 0.15 : 0;
  return [Math.max(0, bottom), top * 1.08];
}

function valueAt({ x, ys }: Series, time: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] <= time) low = middle + 1;
    else high = middle;
  }
  // Of a step in which nothing was measured, the last value before still stands.
  while (low > 0 && Number.isNaN(ys[0][low - 1])) low--;
  return low > 0 ? ys[0][low - 1] : NaN;
}

function drawMarks(plot: uPlot, spec: ChartSpec): void {
  const { ctx: context, bbox } = plot;
  const ratio = window.devicePixelRatio;
  context.save();
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  context.strokeStyle = colour("handover");
  context.lineWidth = ratio;
  context.setLineDash([4 * ratio, 3 * ratio]);
  context.beginPath();
  for (let i = 0; i < spec.handovers.length; i++) {
    const x = Math.round(plot.valToPos(spec.handovers[i], "x", true));
    context.moveTo(x, bbox.top);
    context.lineTo(x, bbox.top + bbox.height);
  }
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = colour("drop");
  const bottom = bbox.top + bbox.height;
  let last = -Infinity;
  for (let i = 0; i < spec.drops.length; i++) {
    const x = plot.valToPos(spec.drops[i], "x", true);
    if (x - last < ratio) continue;
    context.fillRect(x - ratio * 0.6, bottom - 7 * ratio, ratio * 1.2, 7 * ratio);
    last = x;
  }
  context.restore();
}
