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

/** For a column of texts or flags: the number of each row's value, and the values. */
const numbersOf = new WeakMap<readonly unknown[], { codes: Int32Array; values: readonly (string | null)[] }>();

/** A column of texts or flags from the numbers of its values. */
export function numbered(codes: Int32Array, values: readonly (string | null)[]): Text {
  const column = new Array<string | null>(codes.length);
  for (let row = 0; row < codes.length; row++) column[row] = values[codes[row]];
  numbersOf.set(column, { codes, values });
  return column;
}

/** Row numbers by the text in a column, in the order in which the texts appear. */
export function groupBy(column: Text): Map<string, number[]> {
  const known = numbersOf.get(column);
  // An absent text and an empty one are the same group.
  if (known && !(known.values.includes(null) && known.values.includes("")))
    return groupByNumber(known.codes, known.values);
  const groups = new Map<string, number[]>();
  for (let row = 0; row < column.length; row++) {
    const key = column[row] ?? "";
    const rows = groups.get(key);
    if (rows) rows.push(row);
    else groups.set(key, [row]);
  }
  return groups;
}

/** Values are numbered in the order in which they appear, so the groups are in that order, too. */
function groupByNumber(codes: Int32Array, values: readonly (string | null)[]): Map<string, number[]> {
  const counts = new Int32Array(values.length);
  for (let row = 0; row < codes.length; row++) counts[codes[row]]++;
  const groups = values.map((_, code) => new Array<number>(counts[code]));
  counts.fill(0);
  for (let row = 0; row < codes.length; row++) groups[codes[row]][counts[codes[row]]++] = row;
  return new Map(values.map((value, code) => [value ?? "", groups[code]]));
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
