/** One table of series over a common, ascending x. */
export interface Series {
  x: Float64Array;
  ys: Float64Array[];
}

/**
 * At most two points per bucket for each series, its smallest and its largest value in their order, so that a peak of
 * one point stays visible however many points there are. A bucket without values becomes a gap. With `steps`, values
 * stand until the next one, and the window's edges get points of their own.
 */
export function decimate(
  series: Series,
  from: number,
  to: number,
  buckets: number,
  steps = false,
): { x: number[]; ys: (number | null)[][] } {
  const { x, ys } = series;
  const first = Math.max(0, lowerBound(x, from) - 1);
  const last = Math.min(x.length, lowerBound(x, to) + 1);
  const count = last - first;
  const out = count <= buckets * 2 ? all(series, first, last) : thinned(x, ys, first, last, buckets);
  if (steps && out.x.length > 0) pin(out, from, to);
  return out;
}

function all({ x, ys }: Series, first: number, last: number): { x: number[]; ys: (number | null)[][] } {
  return { x: Array.from(x.subarray(first, last)), ys: ys.map((y) => Array.from(y.subarray(first, last), finite)) };
}

function thinned(
  x: Float64Array,
  ys: Float64Array[],
  first: number,
  last: number,
  buckets: number,
): { x: number[]; ys: (number | null)[][] } {
  const count = last - first;
  const outX: number[] = [];
  const outYs: (number | null)[][] = ys.map(() => []);
  for (let bucket = 0; bucket < buckets; bucket++) {
    const begin = first + Math.floor((bucket * count) / buckets);
    const end = first + Math.floor(((bucket + 1) * count) / buckets);
    outX.push(x[begin], end - begin > 1 ? x[end - 1] : x[begin]);
    ys.forEach((y, s) => outYs[s].push(...extremes(y, begin, end)));
  }
  return { x: outX, ys: outYs };
}

/** Puts the point before the window to its left edge, and the value that stands at its right edge there. */
function pin(out: { x: number[]; ys: (number | null)[][] }, from: number, to: number): void {
  if (out.x[0] < from) out.x[0] = from;
  const last = out.x.length - 1;
  if (out.x[last] <= to) {
    if (out.x[last] === to) return;
    out.x.push(to);
    for (const y of out.ys) y.push(y[last]);
  } else if (last > 0) {
    out.x[last] = to;
    for (const y of out.ys) y[last] = y[last - 1];
  }
}

/** The mean over the `window` before each point; steps without a value do not count. */
export function rollingMean(series: Series, window: number): Series {
  const { x, ys } = series;
  const means = ys.map((y) => {
    const out = new Float64Array(y.length);
    // Statements of their own: pairs in brackets would make this several times as slow over a million steps.
    let sum = 0;
    let count = 0;
    let tail = 0;
    for (let i = 0; i < y.length; i++) {
      const value = y[i];
      if (value === value) {
        sum += value;
        count++;
      }
      for (const least = x[i] - window + 1e-9; x[tail] <= least; tail++) {
        const gone = y[tail];
        if (gone !== gone) continue;
        sum -= gone;
        count--;
      }
      out[i] = count > 0 ? sum / count : NaN;
    }
    return out;
  });
  return { x, ys: means };
}

/** Closes gaps shorter than `longest`: a step without a measurement does not interrupt the curve. */
export function bridge(series: Series, longest: number): Series {
  const { x, ys } = series;
  const closed = ys.map((y) => {
    const out = y.slice();
    let last = -1;
    for (let i = 0; i < y.length; i++) {
      if (Number.isNaN(y[i])) continue;
      if (last >= 0 && x[i] - x[last] <= longest) for (let k = last + 1; k < i; k++) out[k] = y[last];
      last = i;
    }
    return out;
  });
  return { x, ys: closed };
}

const BLOCK = 128;
const LONG = 20_000; // values: shorter columns are searched as they stand

/** For each block of a long column the places of its smallest and its largest value; -1 where it has none. */
const blocksOf = new WeakMap<Float64Array, { low: Int32Array; high: Int32Array }>();

function blocks(y: Float64Array): { low: Int32Array; high: Int32Array } {
  let known = blocksOf.get(y);
  if (known) return known;
  const count = Math.ceil(y.length / BLOCK);
  known = { low: new Int32Array(count), high: new Int32Array(count) };
  for (let block = 0; block < count; block++) {
    const [low, high] = search(y, block * BLOCK, Math.min(y.length, (block + 1) * BLOCK), -1, -1);
    known.low[block] = low;
    known.high[block] = high;
  }
  blocksOf.set(y, known);
  return known;
}

/** The places of the smallest and the largest value from `begin` to before `end`, and of those found before. */
function search(y: Float64Array, begin: number, end: number, low: number, high: number): [number, number] {
  for (let i = begin; i < end; i++) {
    const value = y[i];
    if (value !== value) continue;
    if (low < 0 || value < y[low]) low = i;
    if (high < 0 || value > y[high]) high = i;
  }
  return [low, high];
}

function extremes(y: Float64Array, begin: number, end: number): [number | null, number | null] {
  let [low, high] = [-1, -1];
  const first = Math.ceil(begin / BLOCK);
  const last = Math.floor(end / BLOCK);
  if (y.length < LONG || first >= last) {
    [low, high] = search(y, begin, end, low, high);
  } else {
    // Zooming over a million values looks at some thousand of them.
    const known = blocks(y);
    [low, high] = search(y, begin, first * BLOCK, low, high);
    for (let block = first; block < last; block++) {
      const [small, large] = [known.low[block], known.high[block]];
      if (small < 0) continue;
      if (low < 0 || y[small] < y[low]) low = small;
      if (high < 0 || y[large] > y[high]) high = large;
    }
    [low, high] = search(y, last * BLOCK, end, low, high);
  }
  if (low < 0) return [null, null];
  return low < high ? [y[low], y[high]] : [y[high], y[low]];
}

function finite(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

function lowerBound(ascending: Float64Array, x: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}
