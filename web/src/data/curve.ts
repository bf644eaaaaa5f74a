/** Bytes of a flow over time. */
export class Curve {
  /** User bytes up to the end of each step. */
  private readonly sum: Float64Array;

  constructor(
    readonly x: Float64Array,
    rateBps: Float64Array,
  ) {
    this.sum = new Float64Array(x.length);
    let total = 0;
    for (let i = 0; i < x.length; i++) {
      total += ((rateBps[i] || 0) / 8) * (x[i] - (i > 0 ? x[i - 1] : 0));
      this.sum[i] = total;
    }
  }

  private upTo(time: number): number {
    const { x, sum } = this;
    const n = x.length;
    if (n === 0 || time <= 0) return 0;
    if (time >= x[n - 1]) return sum[n - 1];
    let low = 0;
    let high = n - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (x[middle] < time) low = middle + 1;
      else high = middle;
    }
    const begin = low > 0 ? x[low - 1] : 0;
    const base = low > 0 ? sum[low - 1] : 0;
    return base + ((sum[low] - base) * (time - begin)) / (x[low] - begin || 1);
  }

  bytes(from: number, to: number): number {
    return Math.max(0, this.upTo(to) - this.upTo(from));
  }

  /** Mean rate, bytes per second. */
  rate(from: number, to: number): number {
    return to > from ? this.bytes(from, to) / (to - from) : 0;
  }
}
