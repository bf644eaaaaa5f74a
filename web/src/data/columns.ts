/** Columns of a table as the page holds them. A value that does not exist is NaN in numbers and null in texts. */
export type Real = Float64Array;
export type Count = Float64Array;
export type Flag = boolean[];
export type Text = (string | null)[];
export type Column = Real | Flag | Text;
export type Columns = Record<string, Column>;

/** The number of rows; a table that a run has not recorded has none. */
export function rowsOf(table: Columns): number {
  for (const column of Object.values(table)) return column.length;
  return 0;
}

/** Row numbers by the text in a column, in the order in which the texts appear. */
export function groupBy(column: Text): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  for (let row = 0; row < column.length; row++) {
    const key = column[row] ?? "";
    const rows = groups.get(key);
    if (rows) rows.push(row);
    else groups.set(key, [row]);
  }
  return groups;
}

/** The chosen rows of a column of numbers; of neighbouring rows the column's own memory, which nobody may change. */
export function pick(column: Real, rows: readonly number[]): Float64Array {
  const [first, last] = [rows[0], rows[rows.length - 1]];
  if (rows.length > 0 && last - first === rows.length - 1) return column.subarray(first, last + 1);
  const out = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) out[i] = column[rows[i]];
  return out;
}

/** The position of the last value that is not above `x` in an ascending array; -1 if all are above. */
export function lastAtOrBefore(ascending: ArrayLike<number>, x: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
