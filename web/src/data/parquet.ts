import { parquetMetadata, parquetRead, type FileMetaData } from "hyparquet";
import type { Column, Columns } from "./columns";

/** Reads a Parquet file (plain, dictionary, Snappy: what the engine writes) into columns. */
export async function readParquet(file: ArrayBuffer, only?: readonly string[]): Promise<Columns> {
  const metadata = parquetMetadata(file);
  const rows = Number(metadata.num_rows);
  const table: Columns = {};
  for (const name of namesOf(metadata)) {
    if (!only || only.includes(name)) table[name] = emptyColumn(metadata, name, rows);
  }
  // Column by column: all of a million rows at once would block the page for seconds.
  for (const name of Object.keys(table)) {
    await parquetRead({ file, metadata, columns: [name], onChunk: ({ columnName, columnData, rowStart }) => copy(table[columnName], columnData, rowStart) });
    await breath();
  }
  return table;
}

const WORK_MS = 12; // after so much work the page gets its turn
let since = 0;

/** Lets the page draw and answer before more work is done. */
export async function breath(): Promise<void> {
  if (performance.now() - since < WORK_MS) return;
  await pause();
  since = performance.now();
}

/** The next task. */
export function pause(): Promise<void> {
  return new Promise((done) => setTimeout(done));
}

function namesOf(metadata: FileMetaData): string[] {
  return metadata.schema.slice(1).map((element) => element.name);
}

function emptyColumn(metadata: FileMetaData, name: string, rows: number): Column {
  const type = metadata.schema.find((element) => element.name === name)?.type;
  if (type === "BOOLEAN" || type === "BYTE_ARRAY") return new Array(rows) as Column;
  return new Float64Array(rows);
}

function copy(column: Column, data: ArrayLike<unknown>, start: number): void {
  if (column instanceof Float64Array) {
    for (let i = 0; i < data.length; i++) {
      const value = data[i];
      column[start + i] = value === null || value === undefined ? NaN : Number(value);
    }
  } else {
    const target = column as unknown[];
    for (let i = 0; i < data.length; i++) target[start + i] = data[i] ?? null;
  }
}
