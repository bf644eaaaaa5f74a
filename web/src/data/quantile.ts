/**
 * The place of a quantile among sorted values: the smallest value that at least this share does not exceed, as in the
 * tables of a run (docs/models/measures.md). The median of an even number is the lower of the two in the middle.
 */
export function rankOf(share: number, count: number): number {
  // Rounding of the product must not lead to the next value.
  return Math.max(0, Math.ceil(share * count - 1e-9) - 1);
}

/** The median of values; NaN of none. It changes their order. Sorting a million would take too long. */
export function median(values: Float64Array): number {
  if (values.length === 0) return NaN;
  const middle = rankOf(0.5, values.length);
  let [low, high] = [0, values.length - 1];
  while (low < high) {
    const pivot = values[(low + high) >> 1];
    let [i, j] = [low, high];
    while (i <= j) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i > j) break;
      [values[i], values[j]] = [values[j], values[i]];
      i++;
      j--;
    }
    if (middle <= j) high = j;
    else if (middle >= i) low = i;
    else break;
  }
  return values[middle];
}
