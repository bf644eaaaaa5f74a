import { parquetMetadata, parquetRead, type FileMetaData } from "hyparquet";

/**
 * A column as it goes from the worker to the page. Texts and flags are numbered, because single texts are slow to send.
 */
export type Encoded = Float64Array | { codes: Int32Array; values: unknown[] };

/** Reads a Parquet file (plain, dictionary, Snappy: what the engine writes). An absent number is NaN. */
export async function decode({ file, only, by }: Omit<Question, "id">): Promise<Found> {
  const metadata = parquetMetadata(file);
  const rows = Number(metadata.num_rows);
  const table: Record<string, Encoded> = {};
  for (const { name, type } of metadata.schema.slice(1)) {
    if (only && !only.includes(name)) continue;
    const column = type === "BOOLEAN" || type === "BYTE_ARRAY" ? new Numbered(rows) : new Reals(rows);
    await read(file, metadata, name, column);
    table[name] = column.encoded;
  }
  return { table, groups: by === undefined ? [] : grouped(table, by) };
}

/** The rows of one flow or link in a table of series: from the first one to before the second one. */
export type Groups = [name: string, first: number, end: number][];

/**
 * Puts the rows of each value of a column together, in the order of the values and of the rows; the column itself goes.
 */
export function grouped(table: Record<string, Encoded>, by: string): Groups {
  const { codes, values } = table[by] as { codes: Int32Array; values: unknown[] };
  delete table[by];
  const place = new Int32Array(values.length + 1);
  for (let row = 0; row < codes.length; row++) place[codes[row] + 1]++;
  for (let code = 0; code < values.length; code++) place[code + 1] += place[code];
  const groups: Groups = values.map((value, code) => [String(value ?? ""), place[code], place[code + 1]]);
  const target = codes.map((code) => place[code]++);
  if (target.some((to, row) => to !== row))
    for (const name of Object.keys(table)) table[name] = moved(table[name], target);
  return groups;
}

function moved(column: Encoded, target: Int32Array): Encoded {
  const from = column instanceof Float64Array ? column : column.codes;
  const to = from.slice();
  for (let row = 0; row < from.length; row++) to[target[row]] = from[row];
  return to instanceof Float64Array ? to : { codes: to, values: (column as { values: unknown[] }).values };
}

function read(file: ArrayBuffer, metadata: FileMetaData, name: string, column: Numbered | Reals): Promise<unknown> {
  return parquetRead({
    file,
    metadata,
    columns: [name],
    onChunk: ({ columnData, rowStart }) => column.copy(columnData, rowStart),
  });
}

class Reals {
  readonly encoded: Float64Array;

  constructor(rows: number) {
    this.encoded = new Float64Array(rows);
  }

  copy(data: ArrayLike<unknown>, start: number): void {
    for (let i = 0; i < data.length; i++) {
      const value = data[i];
      this.encoded[start + i] = value === null || value === undefined ? NaN : Number(value);
    }
  }
}

class Numbered {
  readonly encoded: { codes: Int32Array; values: unknown[] };
  private readonly known = new Map<unknown, number>();

  constructor(rows: number) {
    this.encoded = { codes: new Int32Array(rows), values: [] };
  }

  copy(data: ArrayLike<unknown>, start: number): void {
    const { codes, values } = this.encoded;
    for (let i = 0; i < data.length; i++) {
      const value = data[i] ?? null;
      let code = this.known.get(value);
      if (code === undefined) {
        this.known.set(value, (code = values.length));
        values.push(value);
      }
      codes[start + i] = code;
    }
  }
}

/** What the page asks of the worker, and what it says. */
export interface Question {
  id: number;
  file: ArrayBuffer;
  only: readonly string[] | undefined;
  /** The column by which rows are put together. */
  by: string | undefined;
}

export interface Found {
  table: Record<string, Encoded>;
  groups: Groups;
}

export type Answer = ({ id: number } & Found) | { id: number; error: string };
