import uPlot from "uplot";
import { decimate, type Series } from "../data/decimate";
import { clock, range, windowShown, zoomTo } from "../state/app";
import { colour } from "../state/theme";
import { h } from "./dom";
import { moment, number } from "./format";

/** One line of a chart. */
export interface Line {
  label: string;
  colour: string;
  dash: readonly number[];
  width: number;
  /** Whether the chart is made high enough for it. */
  scales: boolean;
  series: Series;
  /** The area down to the line after this one is filled with that colour. */
  fill?: string;
}

/** A stretch of time that is shaded. */
export interface Shade {
  from: number;
  to: number;
  role: string;
}

/** Single points: packets; with `y2`, lines upright from `y` to there. */
export interface Marks {
  label: string;
  role: string;
  shape: "tick" | "dot" | "cross" | "bar";
  /** Ascending. */
  x: Float64Array;
  y: Float64Array;
  y2?: Float64Array;
}

/** Events on a line of their own at the top of the chart. */
export interface Lane {
  label: string;
  role: string;
  times: ArrayLike<number>;
  /** Shares the line of the lane before, as one of several states that exclude one another. */
  joins?: boolean;
}

export interface ChartSpec {
  title: string;
  unit: string;
  /** What the columns are multiplied by to be in that unit. */
  scale: number;
  lines: Line[];
  /** Drawn as ticks at the bottom; higher where there are many. */
  drops: ArrayLike<number>;
  /** Drawn as dashed lines from bottom to top. */
  handovers: ArrayLike<number>;
  shades: readonly Shade[];
  steps?: boolean;
  points?: readonly Marks[];
  lanes?: readonly Lane[];
  /** The height goes from the smallest to the largest value in sight, not from zero. */
  tight?: boolean;
  /** Said instead of a chart without lines. */
  empty: string;
}

/** What a chart shows: for tests. */
export interface Shown {
  x: [number, number];
  y: [number, number];
  labels: string[];
  data: uPlot.AlignedData;
  points: [string, number][];
  bars: Bar[];
  lanes: [string, number][];
}

/** Label, time, and both ends. */
type Bar = [string, number, number, number];

const SYNC = "skyhop";
const WHEEL = 0.0016; // share of zoom per pixel of the wheel
const KEY_SHARE = 0.1; // of the window: what an arrow key moves the time by
const STANDS_S = 1; // a value is read where nothing newer was measured for so long, or for a step
const DRAG = 4; // pixels: what moves less is a click

/** A chart of series over the run's time. Its cursor, its window and its playhead are those of all charts. */
export class Chart {
  readonly element: HTMLElement;
  private readonly head = h("h3");
  private readonly values = h("p", { class: "values" });
  private readonly plotBox = h("div", { class: "plot", tabindex: 0, role: "group", "aria-roledescription": "chart" });
  private readonly playhead = h("div", { class: "playhead" });
  private plot: uPlot | null = null;
  private spec: ChartSpec | null = null;
  private drawnWidth = 0;
  private wanted = false;

  constructor(enlarge: (chart: Chart) => void) {
    const grow = h(
      "button",
      {
        type: "button",
        class: "quiet grow",
        title: "Large (double-click)",
        "aria-label": "Large",
        onclick: () => enlarge(this),
      },
      "⤢",
    );
    this.element = h("figure", { class: "chart" }, h("figcaption", {}, this.head, this.values, grow), this.plotBox);
    new ResizeObserver(() => this.resize()).observe(this.plotBox);
    clock.time.watch(() => this.followTime());
    range.watch(() => this.request());
    this.plotBox.addEventListener("keydown", (event) => this.key(event, () => enlarge(this)));
    this.plotBox.addEventListener("dblclick", () => enlarge(this));
    this.plotBox.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  show(spec: ChartSpec): void {
    this.spec = spec;
    this.rebuild();
  }

  /** What the chart shows: for tests. */
  shown(): Shown | null {
    const { plot } = this;
    if (!plot) return null;
    const bounds = (key: string): [number, number] => [plot.scales[key].min ?? NaN, plot.scales[key].max ?? NaN];
    const { lines = [], points = [], lanes = [] } = this.spec ?? {};
    return {
      x: bounds("x"),
      y: bounds("y"),
      labels: lines.map((line) => line.label),
      data: plot.data,
      points: points.map(({ label, x }) => [label, x.length]),
      bars: points.flatMap(({ label, x, y, y2 }) =>
        y2 ? Array.from(x, (at, i): Bar => [label, at, y[i], y2[i]]) : [],
      ),
      lanes: lanes.map(({ label, times }) => [label, times.length]),
    };
  }

  /** Draws anew, also with the colours of another theme. */
  private rebuild(): void {
    const { spec } = this;
    this.plot?.destroy();
    this.plot = null;
    if (!spec) return;
    this.head.replaceChildren(spec.title, h("small", {}, spec.unit));
    const width = this.plotBox.clientWidth;
    const height = this.plotBox.clientHeight;
    if (width < 40 || height < 30) return;
    this.drawnWidth = width;
    if (spec.lines.length === 0 && !spec.points?.some(({ x }) => x.length > 0)) {
      this.plotBox.replaceChildren(h("p", { class: "empty" }, spec.empty));
      this.values.replaceChildren();
      return;
    }
    this.plotBox.replaceChildren();
    this.plot = new uPlot(this.options(spec, width, height), this.data(), this.plotBox);
    this.plot.over.append(this.playhead);
    this.followTime();
  }

  /** Draws another window before the browser shows its next picture, however often it changes until then. */
  private request(): void {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      this.rewind();
    });
  }

  private rewind(): void {
    const { plot } = this;
    if (!plot) return;
    const [min, max] = windowShown();
    plot.batch(() => {
      plot.setData(this.data(), false);
      plot.setScale("x", { min, max });
    });
    this.followTime();
  }

  private options(spec: ChartSpec, width: number, height: number): uPlot.Options {
    const ink = colour("muted");
    const grid = { stroke: colour("rule"), width: 1 };
    const axis = { stroke: ink, grid, ticks: { ...grid, size: 3 }, font: "11px system-ui, sans-serif", gap: 4 };
    const [min, max] = windowShown();
    const bands = spec.lines.flatMap((line, i): uPlot.Band[] =>
      line.fill ? [{ series: [i + 1, i + 2], fill: line.fill }] : [],
    );
    return {
      width,
      height,
      padding: [6, 16, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: false, min, max },
        y: { range: spec.tight ? (_, min, max) => around(spec, min, max) : fromZero },
      },
      axes: [
        { ...axis, size: 22, values: (_, ticks) => ticks.map((tick) => `${plain(tick)} s`) },
        { ...axis, size: 48, values: (_, ticks) => ticks.map(plain) },
      ],
      bands,
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
        // The height of the pointer means something in one chart only, and differs from that of the lines there.
        y: false,
        sync: { key: SYNC, setSeries: false },
        points: { size: 6 },
        drag: { x: false, y: false, setScale: false },
        focus: { prox: 24 },
      },
      hooks: {
        drawClear: [(plot) => drawShades(plot, spec)],
        draw: [(plot) => drawMarks(plot, spec), (plot) => drawPoints(plot, spec), (plot) => drawLanes(plot, spec)],
        setCursor: [
          (plot) =>
            this.readAt(
              plot.cursor.left !== undefined && plot.cursor.left >= 0
                ? plot.posToVal(plot.cursor.left, "x")
                : clock.time.value,
            ),
        ],
        ready: [(plot) => this.listen(plot)],
      },
    };
  }

  /** Dragging moves the window, with Shift it chooses one; a click goes to a time. */
  private listen(plot: uPlot): void {
    let pressed: { x: number; from: number; to: number; choose: boolean; moved: boolean } | null = null;
    const at = (x: number): number => plot.posToVal(x - plot.over.getBoundingClientRect().left, "x");
    plot.over.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const [from, to] = windowShown();
      pressed = { x: event.clientX, from, to, choose: event.shiftKey, moved: false };
      plot.over.setPointerCapture(event.pointerId);
    });
    plot.over.addEventListener("pointermove", (event) => {
      if (!pressed) return;
      const by = event.clientX - pressed.x;
      pressed.moved ||= Math.abs(by) > DRAG;
      if (!pressed.moved) return;
      if (pressed.choose) {
        const left = plot.over.getBoundingClientRect().left;
        const [a, b] = [pressed.x - left, event.clientX - left].sort((one, other) => one - other);
        plot.setSelect({ left: a, top: 0, width: b - a, height: plot.over.clientHeight }, false);
      } else {
        const length = pressed.to - pressed.from;
        const shift = (by / plot.over.clientWidth) * length;
        const begin = Math.min(Math.max(0, pressed.from - shift), clock.end.value - length);
        zoomTo(begin, begin + length);
      }
    });
    plot.over.addEventListener("pointerup", (event) => {
      const was = pressed;
      pressed = null;
      if (!was) return;
      if (!was.moved) {
        clock.seek(at(event.clientX));
      } else if (was.choose) {
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        const [a, b] = [at(was.x), at(event.clientX)].sort((one, other) => one - other);
        zoomTo(a, b);
      }
    });
    plot.over.addEventListener("pointercancel", () => (pressed = null));
  }

  /** The wheel zooms at the pointer; sideways it moves the window. */
  private wheel(event: WheelEvent): void {
    const { plot } = this;
    if (!plot) return;
    event.preventDefault();
    const [from, to] = windowShown();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = Math.min(Math.max(-from, (event.deltaX / plot.over.clientWidth) * (to - from)), clock.end.value - to);
      zoomTo(from + by, to + by);
      return;
    }
    const at = Math.min(to, Math.max(from, plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x")));
    const factor = Math.exp(event.deltaY * WHEEL * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1));
    zoomTo(at - (at - from) * factor, at + (to - at) * factor);
  }

  private key(event: KeyboardEvent, enlarge: () => void): void {
    const [from, to] = windowShown();
    const time = clock.time.value;
    const step = (to - from) * KEY_SHARE * (event.shiftKey ? 0.1 : 1);
    const zoom = (factor: number): void => {
      const at = time >= from && time <= to ? time : (from + to) / 2;
      zoomTo(at - (at - from) * factor, at + (to - at) * factor);
    };
    const keys: Record<string, () => void> = {
      ArrowLeft: () => clock.seek(time - step),
      ArrowRight: () => clock.seek(time + step),
      Home: () => clock.seek(from),
      End: () => clock.seek(to),
      "+": () => zoom(0.6),
      "=": () => zoom(0.6),
      "-": () => zoom(1 / 0.6),
      "0": () => (range.value = null),
      Enter: enlarge,
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  private data(): uPlot.AlignedData {
    const [from, to] = windowShown();
    const { lines, scale, steps } = this.spec!;
    const buckets = Math.max(200, this.drawnWidth);
    const tables = lines.map(({ series }) => {
      const { x, ys } = decimate(series, from, to, buckets, steps);
      if (scale !== 1)
        for (const y of ys) for (let i = 0; i < y.length; i++) if (y[i] !== null) y[i] = (y[i] as number) * scale;
      return [x, ...ys] as unknown as uPlot.AlignedData;
    });
    if (tables.length === 0) return [[from, to]];
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
    // The width that was drawn: asking the element would lay out the page in each frame.
    this.playhead.hidden = left < 0 || left > plot.bbox.width / window.devicePixelRatio;
    if (plot.cursor.left === undefined || plot.cursor.left < 0) this.readAt(time);
  }

  /** The numbers of all lines at a time, in their colours. */
  private readAt(time: number): void {
    const { spec } = this;
    if (!spec) return;
    const items = readable(spec.lines);
    while (this.values.childElementCount > items.length) this.values.lastElementChild?.remove();
    while (this.values.childElementCount < items.length) this.values.append(h("span"));
    const read = items.map((line) => number(valueAt(line.series, time) * spec.scale, 3));
    items.forEach((line, i) => {
      const item = this.values.children[i] as HTMLElement;
      item.style.color = line.colour;
      item.title = line.label;
      item.textContent = read[i];
    });
    this.plotBox.setAttribute(
      "aria-label",
      `${spec.title}, ${spec.unit}, at ${moment(time)}: ` +
        `${items.map((line, i) => `${line.label} ${read[i]}`).join(", ")}. Arrow keys move the time, plus and ` +
        `minus zoom, 0 shows the whole run, Enter makes the chart large.`,
    );
  }
}

/** The lines whose numbers are written: all of a few, of many the first in each colour. */
function readable(lines: Line[]): Line[] {
  const drawn = lines.filter((line) => line.scales);
  return drawn.length <= 3
    ? drawn
    : drawn.filter((line, i) => drawn.findIndex((other) => other.colour === line.colour) === i).slice(0, 4);
}

/** Without the noise of its last bits, but with all digits: far into a run a window may have a few milliseconds. */
function plain(tick: number): string {
  return String(Number(tick.toPrecision(12)));
}

function fromZero(_: uPlot, min: number | null, max: number | null): uPlot.Range.MinMax {
  const top = Math.max(max ?? 1, 1e-9);
  const bottom = (min ?? 0) > top * 0.6 ? (min ?? 0) - (top - (min ?? 0)) * 0.15 : 0;
  return [Math.max(0, bottom), top * 1.08];
}

/** A little room around the lines and points in sight. */
function around({ points = [] }: ChartSpec, min: number | null, max: number | null): uPlot.Range.MinMax {
  const [from, to] = windowShown();
  let [low, high] = [min ?? Infinity, max ?? -Infinity];
  for (const { x, y, y2 } of points) {
    for (let i = firstAt(x, from); i < x.length && x[i] <= to; i++) {
      low = Math.min(low, y[i]);
      high = Math.max(high, y2?.[i] ?? y[i]);
    }
  }
  if (!(high >= low)) return [0, 1];
  const room = Math.max(2, 0.06 * (high - low));
  return [low - room, high + room];
}

function valueAt({ x, ys }: Series, time: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] <= time) low = middle + 1;
    else high = middle;
  }
  // Where a step measured nothing, the last value before it stands, as long as the drawn line bridges the gap: a flow
  // that stands still, or has ended, has no round trip.
  const oldest = low > 1 ? Math.min(time - STANDS_S, x[low - 2]) : -Infinity;
  while (low > 0 && x[low - 1] >= oldest && Number.isNaN(ys[0][low - 1])) low--;
  return low > 0 && x[low - 1] >= oldest ? ys[0][low - 1] : NaN;
}

function clipped(plot: uPlot, draw: (context: CanvasRenderingContext2D, ratio: number) => void): void {
  const { ctx: context, bbox } = plot;
  context.save();
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  draw(context, window.devicePixelRatio);
  context.restore();
}

function drawShades(plot: uPlot, spec: ChartSpec): void {
  clipped(plot, (context) => {
    context.globalAlpha = 0.16;
    for (const { from, to, role } of spec.shades) {
      const left = plot.valToPos(from, "x", true);
      context.fillStyle = colour(role);
      context.fillRect(left, plot.bbox.top, Math.max(2, plot.valToPos(to, "x", true) - left), plot.bbox.height);
    }
  });
}

function drawMarks(plot: uPlot, spec: ChartSpec): void {
  clipped(plot, (context, ratio) => {
    const { bbox } = plot;
    const [from, to] = windowShown();
    const bottom = bbox.top + bbox.height;
    context.strokeStyle = colour("handover");
    context.lineWidth = ratio;
    context.setLineDash([4 * ratio, 3 * ratio]);
    context.beginPath();
    for (let i = 0; i < spec.handovers.length; i++) {
      if (spec.handovers[i] < from || spec.handovers[i] > to) continue;
      const x = Math.round(plot.valToPos(spec.handovers[i], "x", true));
      context.moveTo(x, bbox.top);
      context.lineTo(x, bottom);
    }
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = colour("drop");
    for (const [x, packets] of density(spec.drops, from, to, Math.round(bbox.width / ratio))) {
      const high = (5 + 4 * Math.log2(packets)) * ratio;
      context.fillRect(bbox.left + x * ratio - ratio * 0.6, bottom - high, ratio * 1.2, high);
    }
  });
}

/** Single packets; of those that fall on the same pixel one is drawn. */
function drawPoints(plot: uPlot, spec: ChartSpec): void {
  if (!spec.points) return;
  clipped(plot, (context, ratio) => {
    const [from, to] = windowShown();
    for (const { role, shape, x, y, y2 } of spec.points!) {
      context.fillStyle = context.strokeStyle = colour(role);
      context.lineWidth = 1.6 * ratio;
      const size = (shape === "tick" ? 1.4 : 2.2) * ratio;
      let last: [number, number, number] = [NaN, NaN, NaN];
      context.beginPath();
      for (let i = firstAt(x, from); i < x.length && x[i] <= to; i++) {
        const [left, top] = [Math.round(plot.valToPos(x[i], "x", true)), Math.round(plot.valToPos(y[i], "y", true))];
        const end = y2 ? Math.round(plot.valToPos(y2[i], "y", true)) : top;
        if (left === last[0] && top === last[1] && end === last[2]) continue;
        last = [left, top, end];
        if (shape === "bar") {
          context.rect(left - 0.6 * ratio, end - ratio, 1.2 * ratio, top - end + 2 * ratio);
        } else if (shape === "cross") {
          context.moveTo(left - 4 * ratio, top - 4 * ratio);
          context.lineTo(left + 4 * ratio, top + 4 * ratio);
          context.moveTo(left - 4 * ratio, top + 4 * ratio);
          context.lineTo(left + 4 * ratio, top - 4 * ratio);
        } else {
          context.rect(left - size, top - size, 2 * size, 2 * size);
        }
      }
      if (shape === "cross") context.stroke();
      else context.fill();
    }
  });
}

const LANE = 11; // pixels

function drawLanes(plot: uPlot, spec: ChartSpec): void {
  if (!spec.lanes) return;
  clipped(plot, (context, ratio) => {
    const { bbox } = plot;
    const [from, to] = windowShown();
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.font = `${9.5 * ratio}px system-ui, sans-serif`;
    let [line, end] = [-1, 0];
    for (const { label, role, times, joins } of spec.lanes!) {
      if (!joins) [line, end] = [line + 1, 0];
      const top = bbox.top + line * LANE * ratio;
      context.fillStyle = colour(role);
      context.globalAlpha = joins === undefined ? 1 : 0.55;
      const seen = density(times, from, to, Math.round(bbox.width / ratio));
      for (const [x] of seen) context.fillRect(bbox.left + x * ratio, top + ratio, 1.5 * ratio, (LANE - 2) * ratio);
      // States stand where they begin, those that would cover another name not at all.
      const at = joins === undefined ? 3 * ratio : (seen[0]?.[0] ?? 0) * ratio;
      if (joins !== undefined && (seen.length === 0 || at < end)) continue;
      context.globalAlpha = 1;
      if (joins !== undefined) context.fillStyle = colour("ink");
      context.fillText(label, bbox.left + at, top + (LANE - 2) * ratio);
      end = at + context.measureText(label).width + 4 * ratio;
    }
    context.globalAlpha = 1;
  });
}

/** How many of ascending times fall into each of so many columns of a window; columns without any are left out. */
export function density(times: ArrayLike<number>, from: number, to: number, columns: number): [number, number][] {
  const found: [number, number][] = [];
  if (!(to > from)) return found;
  for (let i = firstAt(times, from); i < times.length && times[i] <= to; i++) {
    const column = Math.floor(((times[i] - from) / (to - from)) * columns);
    const last = found.at(-1);
    if (last?.[0] === column) last[1]++;
    else found.push([column, 1]);
  }
  return found;
}

function firstAt(ascending: ArrayLike<number>, time: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
