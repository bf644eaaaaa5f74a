import { type Column, type Columns, numbered } from "./columns";
import { decode, type Answer, type Encoded, type Found, type Question } from "./decode";
import Decoder from "./decode.worker?worker&inline";

/** Reads a Parquet file into columns, in a worker: a table of a million rows takes seconds. The file is used up. */
export async function readParquet(file: ArrayBuffer, only?: readonly string[]): Promise<Columns> {
  const { table: encoded } = await found({ file, only, by: undefined });
  const table: Columns = {};
  for (const [name, column] of Object.entries(encoded)) {
    table[name] = columnOf(column);
    await breath();
  }
  return table;
}

/** Columns in which the rows of each flow or link stand together. */
export interface SeriesTable {
  columns: Record<string, Float64Array>;
  /** Columns of texts: the number of each row's text, and the texts. */
  texts: Record<string, { codes: Int32Array; values: readonly (string | null)[] }>;
  /** The first row of a flow or link, and the one after its last. */
  rows: ReadonlyMap<string, readonly [number, number]>;
}

/** Reads some columns of a Parquet file by the values of the column `by`. */
export async function readSeries(file: ArrayBuffer, by: string, only: readonly string[]): Promise<SeriesTable> {
  const { table, groups } = await found({ file, only: [by, ...only], by });
  const columns: SeriesTable["columns"] = {};
  const texts: SeriesTable["texts"] = {};
  for (const [name, column] of Object.entries(table)) {
    if (column instanceof Float64Array) columns[name] = column;
    else texts[name] = column as SeriesTable["texts"][string];
  }
  return { columns, texts, rows: new Map(groups.map(([name, first, end]) => [name, [first, end]])) };
}

async function found(question: Omit<Question, "id">): Promise<Found> {
  const worker = await (reader ??= theWorker());
  return worker ? worker.ask(question) : decode(question);
}

function columnOf(column: Encoded): Column {
  return column instanceof Float64Array ? column : numbered(column.codes, column.values as (string | null)[]);
}

/** The worker, with those who wait for its answers. */
class Asked {
  private readonly waiting = new Map<number, { done: (found: Found) => void; failed: (error: Error) => void }>();
  private asked = 0;

  constructor(private readonly worker: Worker) {
    worker.addEventListener("message", ({ data }: MessageEvent<Answer>) => {
      const one = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if ("error" in data) one?.failed(new Error(data.error));
      else one?.done(data);
    });
    worker.addEventListener("error", ({ message }) => {
      for (const one of this.waiting.values()) one.failed(new Error(message || "the reader of tables ended"));
      this.waiting.clear();
      reader = undefined;
    });
  }

  ask(question: Omit<Question, "id">): Promise<Found> {
    const id = this.asked++;
    return new Promise((done, failed) => {
      this.waiting.set(id, { done, failed });
      this.worker.postMessage({ id, ...question } satisfies Question, [question.file]);
    });
  }
}

let reader: Promise<Asked | null> | undefined;

/** One worker for the whole page; null where none starts, as on a web space whose policy allows none. */
function theWorker(): Promise<Asked | null> {
  return new Promise((done) => {
    try {
      const worker = new Decoder();
      worker.addEventListener("message", () => done(new Asked(worker)), { once: true });
      worker.addEventListener("error", () => done(null), { once: true });
    } catch {
      done(null);
    }
  });
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
