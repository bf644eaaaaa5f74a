import type { Series } from "./decimate";

/**
 * A mean over runs that differ only in their seed, and half of its 95 % interval; NaN where there is no interval, as of
 * one value and of equal ones: two zeros do not prove that a third run gives 0.
 */
export interface Estimate {
  mean: number;
  half: number;
}

/**
 * 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom (NIST/SEMATECH e-Handbook of Statistical Methods,
 * 1.3.6.7.2).
 */
const T_975 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];
const NORMAL_975 = 1.95996;

/** Half of a 95 % interval is this many standard errors; between whole numbers of degrees of freedom the wider one. */
function student(freedom: number): number {
  const whole = Math.floor(freedom);
  if (whole < 1) return NaN;
  // Above 30 the first term of the expansion for large numbers (Abramowitz and Stegun 26.7.5) is exact to 0.1 %.
  return T_975[whole - 1] ?? NORMAL_975 + (NORMAL_975 ** 3 + NORMAL_975) / (4 * whole);
}

function moments(values: readonly number[]): { mean: number; variance: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { mean, variance: values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1) };
}

/** Whether two values or more are all the same, but for the rounding of sums. */
export function allEqual(values: readonly number[]): boolean {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return values.length > 1 && most - least <= 1e-12 * Math.max(Math.abs(least), Math.abs(most));
}

/** The mean of some values with its 95 % interval (Student's t); one value, or equal ones, have no interval. */
export function estimate(values: readonly number[]): Estimate {
  const known = values.filter((value) => Number.isFinite(value));
  if (known.length === 0) return { mean: NaN, half: NaN };
  const { mean, variance } = moments(known);
  const scatters = known.length > 1 && !allEqual(known);
  return { mean, half: scatters ? student(known.length - 1) * Math.sqrt(variance / known.length) : NaN };
}

/** Values of runs with their seeds. */
export interface Sample {
  seeds: readonly number[];
  values: readonly number[];
}

/** The difference of two means: of pairs where both have the same seeds, else with Welch's interval. */
export function difference(one: Sample, other: Sample): Estimate {
  const paired = one.seeds.length === other.seeds.length && one.seeds.every((seed) => other.seeds.includes(seed));
  if (paired) return estimate(one.values.map((value, i) => value - other.values[other.seeds.indexOf(one.seeds[i])]));
  const [a, b] = [one.values.filter(Number.isFinite), other.values.filter(Number.isFinite)];
  if (a.length === 0 || b.length === 0) return { mean: NaN, half: NaN };
  const [p, q] = [moments(a), moments(b)];
  const mean = p.mean - q.mean;
  if (a.length < 2 || b.length < 2 || allEqual(a) || allEqual(b)) return { mean, half: NaN };
  const [u, v] = [p.variance / a.length, q.variance / b.length];
  // Welch and Satterthwaite's degrees of freedom (B. L. Welch, Biometrika 34, 1947).
  const freedom = (u + v) ** 2 / (u ** 2 / (a.length - 1) + v ** 2 / (b.length - 1));
  return { mean, half: student(freedom) * Math.sqrt(u + v) };
}

/** The value that a series has at a time: that of the step which holds it; NaN outside of the series and in gaps. */
function stepAt({ x, ys: [y] }: Series, time: number, from: number): [number, number] {
  let i = from;
  while (i < x.length && x[i] < time - 1e-9) i++;
  return [i, i < x.length ? y[i] : NaN];
}

/** At each step of the first series, the values of all. A run that ended before has none. */
function aligned(all: readonly Series[], x: Float64Array): Float64Array[] {
  return all.map((series) => {
    // The common case: runs of one scenario have the same steps.
    if (series.x === x) return series.ys[0];
    let place = 0;
    return x.map((time) => {
      const [at, value] = stepAt(series, time, place);
      place = at;
      return value;
    });
  });
}

/** A curve of means with its 95 % interval. */
export interface Band {
  x: Float64Array;
  mean: Float64Array;
  half: Float64Array;
}

/** The mean over runs at each step; less that of a baseline, where there is one. */
export function meanCurve(
  runs: readonly Series[],
  seeds: readonly number[],
  base: readonly Series[],
  baseSeeds: readonly number[],
): Band {
  const { x } = runs.reduce((a, b) => (b.x.length > a.x.length ? b : a));
  const [own, others] = [aligned(runs, x), aligned(base, x)];
  const [mean, half] = [new Float64Array(x.length), new Float64Array(x.length)];
  for (let i = 0; i < x.length; i++) {
    const values = own.map((y) => y[i]);
    const found =
      base.length > 0
        ? difference({ seeds, values }, { seeds: baseSeeds, values: others.map((y) => y[i]) })
        : estimate(values);
    mean[i] = found.mean;
    half[i] = found.half;
  }
  return { x, mean, half };
}

/** The empirical distribution of some values: for each value, the share of values that are not larger. */
export function distribution(values: readonly Float64Array[]): { x: Float64Array; share: Float64Array } {
  const size = values.reduce((sum, one) => sum + one.length, 0);
  const x = new Float64Array(size);
  let count = 0;
  for (const one of values) for (const value of one) if (!Number.isNaN(value)) x[count++] = value;
  const sorted = x.subarray(0, count).sort();
  return { x: sorted, share: sorted.map((_, i) => (i + 1) / count) };
}
