/** Figures for papers as SVG text: labelled axes with units, told apart by dash and hatching as well as by colour. */

/** Size and colours of a figure. */
export interface FigureLook {
  width: number;
  height: number;
  paper: string;
  ink: string;
  muted: string;
  rule: string;
  series: string[];
}

export interface Bars {
  title: string;
  unit: string;
  /** One group per measure or flow, one bar per run; `halves` are halves of 95 % intervals, where there are any. */
  groups: { name: string; values: (number | null)[]; halves?: (number | null)[] }[];
  runs: string[];
}

export interface Curves {
  title: string;
  unit: string;
  xUnit: string;
  curves: Curve[];
  /** The part of the x axis that is drawn; all of it when absent. */
  window?: readonly [number, number];
}

export interface Curve {
  name: string;
  x: ArrayLike<number>;
  y: ArrayLike<number | null>;
  /** Half of the 95 % interval at each point. */
  half?: ArrayLike<number | null>;
  /** All points, for a cursor: those that are drawn of a long curve are the extremes of stretches, or some of them. */
  all?: Points;
}

/** Points of a curve as they were recorded; values times `scale` are in the unit of the figure. */
export interface Points {
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  half?: ArrayLike<number>;
  scale: number;
}

const LEFT = 64;
const RIGHT = 16;
const BOTTOM = 46;
const DASHES = ["", "8 4", "2 3", "10 3 2 3", "5 2 1 2", "14 4"];
const FONT = "DejaVu Sans, Verdana, sans-serif";

export interface Area {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

/** Grouped bars, with whiskers where there are intervals. */
export function barFigure(bars: Bars, look: FigureLook): string {
  const legend = legendOf(
    bars.runs,
    look,
    (i) => `<rect width="14" height="12" y="-10" fill="url(#hatch-${i % KINDS})"/>`,
  );
  const area = { top: 44 + legend.height, bottom: look.height - BOTTOM, left: LEFT, right: look.width - RIGHT };
  let [least, most] = [0, 0];
  for (const { values, halves } of bars.groups) {
    values.forEach((value, i) => {
      least = Math.min(least, (value ?? 0) - (halves?.[i] ?? 0));
      most = Math.max(most, (value ?? 0) + (halves?.[i] ?? 0));
    });
  }
  const [low, high] = niceRange(least, most);
  const y = (value: number): number => area.bottom - ((value - low) / (high - low)) * (area.bottom - area.top);
  const slot = (area.right - area.left) / Math.max(1, bars.groups.length);
  const bar = Math.min(64, (slot * 0.76) / Math.max(1, bars.runs.length));
  let body = yAxis(area, low, high, y, look);
  bars.groups.forEach((group, g) => {
    const begin = area.left + slot * (g + 0.5) - (bar * group.values.length) / 2;
    group.values.forEach((value, i) => {
      if (value === null || !Number.isFinite(value)) return;
      const x = begin + i * bar;
      const half = group.halves?.[i] ?? null;
      body +=
        `<rect x="${r(x + 1)}" y="${r(Math.min(y(0), y(value)))}" width="${r(bar - 2)}" ` +
        `height="${r(Math.abs(y(0) - y(value)))}" fill="url(#hatch-${i % KINDS})"/>`;
      if (half !== null && Number.isFinite(half))
        body += whisker(x + bar / 2, y(value - half), y(value + half), Math.min(7, bar / 4), look);
      const beyond = half !== null && Number.isFinite(half) ? half : 0;
      if (bar > 30)
        body += text(
          x + bar / 2,
          value >= 0 ? y(value + beyond) - 5 : y(value - beyond) + 13,
          short(value),
          look.ink,
          "middle",
          11,
        );
    });
    body += text(area.left + slot * (g + 0.5), area.bottom + 18, group.name, look.ink, "middle", 12);
  });
  if (low < 0) body += `<path d="M${area.left} ${r(y(0))}H${area.right}" stroke="${look.muted}"/>`;
  return frame(
    bars.title,
    bars.unit,
    look,
    hatches(look, bars.runs.length) + legend.text + body + baseline(area, look),
  );
}

function whisker(x: number, from: number, to: number, wide: number, look: FigureLook): string {
  return (
    `<path class="whisker" d="M${r(x)} ${r(from)}V${r(to)}M${r(x - wide)} ` +
    `${r(from)}h${r(2 * wide)}M${r(x - wide)} ${r(to)}h${r(2 * wide)}" stroke="${look.ink}" stroke-width="1.4" ` +
    `fill="none"/>`
  );
}

/** So many runs or curves are told apart by colour and hatching, or by colour and dash. */
export const KINDS = 36;

/** Colour and dash together tell 36 curves apart. */
function dash(i: number): string {
  return DASHES[(i + Math.floor(i / 6)) % 6];
}

/** Where the axes of a figure of curves are, in its own units and in those of its values. */
export interface CurveScale {
  area: Area;
  x: readonly [number, number];
  y: readonly [number, number];
}

export function curveScale(figure: Curves, look: FigureLook): CurveScale {
  const names = figure.curves.map((curve) => curve.name);
  const area = {
    top: 44 + legendOf(names, look, () => "").height,
    bottom: look.height - BOTTOM,
    left: LEFT,
    right: look.width - RIGHT,
  };
  let [least, most, from, to] = [0, 0, Infinity, -Infinity];
  for (const { x, y, half } of figure.curves) {
    for (let i = 0; i < x.length; i++) {
      from = Math.min(from, x[i]);
      to = Math.max(to, x[i]);
      if (figure.window && (x[i] < figure.window[0] || x[i] > figure.window[1])) continue;
      most = Math.max(most, (y[i] ?? 0) + (half?.[i] || 0));
      least = Math.min(least, (y[i] ?? 0) - (half?.[i] || 0));
    }
  }
  if (!(to > from)) [from, to] = [0, 1];
  return { area, x: figure.window ?? [from, to], y: niceRange(least, most) };
}

/** Lines over time or over a value, with bands where there are intervals. */
export function curveFigure(figure: Curves, look: FigureLook): string {
  const line = (i: number): string =>
    `<path d="M0 -4h22" stroke="${look.series[i % 6]}" stroke-width="2" stroke-dasharray="${dash(i)}"/>`;
  const legend = legendOf(
    figure.curves.map((curve) => curve.name),
    look,
    line,
  );
  const {
    area,
    x: [from, to],
    y: [low, high],
  } = curveScale(figure, look);
  const px = (value: number): number => area.left + ((value - from) / (to - from)) * (area.right - area.left);
  const py = (value: number): number => area.bottom - ((value - low) / (high - low)) * (area.bottom - area.top);
  let body = yAxis(area, low, high, py, look);
  for (const tick of ticks(from, to, 8)) {
    body +=
      `<path d="M${r(px(tick))} ${area.bottom}v5" stroke="${look.muted}"/>` +
      text(px(tick), area.bottom + 18, String(tick), look.ink, "middle", 11);
  }
  body += text((area.left + area.right) / 2, look.height - 8, figure.xUnit, look.ink, "middle", 12);
  let drawn = "";
  figure.curves.forEach((curve, i) => {
    const stroke = look.series[i % 6];
    if (curve.half) drawn += `<path class="band" d="${bandPath(curve, px, py)}" fill="${stroke}" fill-opacity="0.2"/>`;
    drawn +=
      `<path class="curve" d="${linePath(curve, px, py)}" fill="none" stroke="${stroke}" ` +
      `stroke-width="1.6" stroke-linejoin="round" stroke-dasharray="${dash(i)}"/>`;
  });
  // An id of its own: the clip of a figure in a hidden panel would hide the curves.
  const id = `curve-area-${++figures}`;
  const clip =
    `<clipPath id="${id}"><rect x="${area.left}" y="${area.top - 2}" width="${area.right - area.left}" ` +
    `height="${area.bottom - area.top + 4}"/></clipPath>`;
  if (low < 0) body += `<path d="M${area.left} ${r(py(0))}H${area.right}" stroke="${look.muted}"/>`;
  return frame(
    figure.title,
    figure.unit,
    look,
    `${clip}${legend.text}${body}<g clip-path="url(#${id})">${drawn}</g>${baseline(area, look)}`,
  );
}

let figures = 0;

type Place = (value: number) => number;

function linePath({ x, y }: Curve, px: Place, py: Place): string {
  let path = "";
  let pen = "M";
  for (let k = 0; k < x.length; k++) {
    const value = y[k];
    if (value === null || !Number.isFinite(value)) {
      pen = "M";
      continue;
    }
    path += `${pen}${r(px(x[k]))} ${r(py(value))}`;
    pen = "L";
  }
  return path;
}

/** One closed shape for each stretch of points with an interval. */
function bandPath({ x, y, half }: Curve, px: Place, py: Place): string {
  let path = "";
  let [above, below]: [string[], string[]] = [[], []];
  const end = (): void => {
    if (above.length > 1) path += `M${above.join("L")}L${below.reverse().join("L")}Z`;
    [above, below] = [[], []];
  };
  for (let k = 0; k < x.length; k++) {
    const [value, by] = [y[k], half?.[k] ?? NaN];
    if (value === null || !Number.isFinite(value) || !Number.isFinite(by)) {
      end();
      continue;
    }
    above.push(`${r(px(x[k]))} ${r(py(value + by))}`);
    below.push(`${r(px(x[k]))} ${r(py(value - by))}`);
  }
  end();
  return path;
}

function frame(title: string, unit: string, look: FigureLook, body: string): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${look.width} ${look.height}" font-family="${FONT}" ` +
    `role="img" aria-label="${escape(title)}">` +
    `<rect width="${look.width}" height="${look.height}" fill="${look.paper}"/>` +
    text(LEFT, 24, `${title}${unit ? ` (${unit})` : ""}`, look.ink, "start", 15) +
    body +
    "</svg>"
  );
}

/** Names in rows below the title. */
function legendOf(names: string[], look: FigureLook, key: (index: number) => string): { text: string; height: number } {
  let [x, row, out] = [LEFT, 0, ""];
  names.forEach((name, i) => {
    const wide = 34 + name.length * 7.2;
    if (x + wide > look.width - RIGHT && x > LEFT) [x, row] = [LEFT, row + 1];
    out +=
      `<g transform="translate(${r(x)} ` +
      `${48 + row * 18})">${key(i)}${text(28, 0, name, look.ink, "start", 12)}</g>`;
    x += wide + 14;
  });
  return { text: out, height: names.length > 0 ? 18 * (row + 1) : 0 };
}

function yAxis(area: Area, low: number, high: number, y: Place, look: FigureLook): string {
  return ticks(low, high, 6)
    .map(
      (tick) =>
        `<path d="M${area.left} ${r(y(tick))}H${area.right}" ` +
        `stroke="${look.rule}"/>${text(area.left - 8, y(tick) + 4, String(tick), look.ink, "end", 11)}`,
    )
    .join("");
}

function baseline(area: Area, look: FigureLook): string {
  return `<path d="M${area.left} ${area.top}V${area.bottom}H${area.right}" fill="none" stroke="${look.muted}"/>`;
}

/** Six colours with six hatchings, shifted by one after each six. */
function hatches(look: FigureLook, count: number): string {
  const lines = ["", "M0 8L8 0", "M0 0L8 8", "M0 4H8", "M4 0V8", "M0 4H8M4 0V8"];
  const pattern = (_: unknown, i: number): string =>
    `<pattern id="hatch-${i}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" ` +
    `fill="${look.series[i % 6]}"/><path d="${lines[(i + Math.floor(i / 6)) % 6]}" stroke="${look.paper}" ` +
    `stroke-width="1.3"/></pattern>`;
  return `<defs>${Array.from({ length: Math.min(count, KINDS) }, pattern).join("")}</defs>`;
}

/** Round values; they have so few digits that a label with all of them is short, and any fewer would move it. */
export function ticks(from: number, to: number, most: number): number[] {
  const raw = (to - from) / most || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw) ?? raw;
  const found: number[] = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to + step * 1e-6; tick += step)
    found.push(Number(tick.toPrecision(12)));
  return found;
}

/** The range of an axis that holds zero and both values, with whole steps at its ends. */
function niceRange(least: number, most: number): [number, number] {
  if (!(most > least)) return [0, 1];
  const [first, second] = ticks(least, most, 6);
  const step = second - first || most - least;
  return [
    least < 0 ? Math.floor((least * 1.03) / step) * step : 0,
    most > 0 ? Math.ceil((most * 1.03) / step) * step : 0,
  ];
}

function short(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  return String(Number(value.toPrecision(size >= 100 ? 4 : 3)));
}

function r(value: number): string {
  return value.toFixed(1);
}

function text(x: number, y: number, content: string, colour: string, anchor: string, size: number): string {
  return (
    `<text x="${r(x)}" y="${r(y)}" font-size="${size}" fill="${colour}" ` +
    `text-anchor="${anchor}">${escape(content)}</text>`
  );
}

function escape(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}
