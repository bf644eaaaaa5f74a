/** Where runs come from: the server on this machine, or what was exported with the page. */

export interface FlowTotals {
  name: string;
  from: string;
  to: string;
  [measure: string]: unknown;
}

export interface RunEntry {
  /** Its folder, relative to the folder served. */
  id: string;
  /** For people: the folder's last part, or what the study calls it. */
  title: string;
  study: string | null;
  seed: number;
  simulated_s: number;
  wall_time_s: number;
  scenario_hash: string;
  records_hash: string;
  version: string;
  modified: number;
  /** The first flows of many. */
  flows: FlowTotals[];
  flow_count: number;
  /** Of all flows together, over the time of the run. */
  goodput_bps: number;
  jain: number | null;
  packets: { sent: number; delivered: number; conserved: boolean };
  tables: string[];
}

export interface StudyEntry {
  name: string;
  title: string;
  question: string;
  paper: string;
  problem: string | null;
  /** Absent while the study has not been run. */
  header: string[] | null;
  rows: { cells: string[]; first_of_measure: boolean; run: string | null }[];
  reasons: [string, string][];
}

/** A sweep, or a study with results. */
export interface Grid {
  name: string;
  kind: "sweep" | "study";
  axes: string[];
  metrics: { name: string; unit: string }[];
  cells: GridCell[];
}

export interface CellValue {
  mean: number | null;
  low: number | null;
  high: number | null;
  runs: number | null;
  failed: number;
  /** How many seeds gave the one value that all of them gave, though their runs differ; else 0. */
  equal: number;
}

export interface GridCell {
  /** Its value on each axis. */
  at: string[];
  /**
   * Means over the runs that finished, with the ends of their 95 % intervals where there are any, the number of these
   * runs, and of those that failed.
   */
  values: Record<string, CellValue>;
  /** Its runs, as far as they are kept. */
  runs: string[];
}

export interface Diagnostic {
  file: string;
  line: number | null;
  column: number | null;
  path: string;
  message: string;
  help: string | null;
}

export interface Verdict {
  ok: boolean;
  diagnostics: Diagnostic[];
  /** Why the text was not checked; then nothing is known of it. */
  unchecked?: string;
  duration_s?: number;
  hash?: string;
}

export interface Preset {
  name: string;
  title: string;
  text: string;
}

export type JobState = "waiting" | "running" | "done" | "failed" | "cancelled";

export interface Job {
  id: string;
  title: string;
  state: JobState;
  fraction: number;
  message: string;
  run: string | null;
  /** Seconds since it began to run. */
  elapsed_s: number;
  /** The key of the packets that the job records; null for a run from the editor. */
  packets: string | null;
}

/** The first flows of a run under way. */
export interface Live {
  flows: string[];
  /** Simulated seconds, goodput of each flow in bit/s since the point before, its window in segments (none for UDP). */
  points: [number, number[], (number | null)[]][];
}

/** Points that are new, and their place among all. */
export interface NewPoints extends Live {
  id: string;
  from: number;
}

export interface Source {
  readonly writable: boolean;
  runs(): Promise<RunEntry[]>;
  studies(): Promise<StudyEntry[]>;
  /** A file of a run; null when the run has none of that name. */
  file(run: string, name: string): Promise<ArrayBuffer | null>;
}

interface Export {
  runs: RunEntry[];
  studies: StudyEntry[];
  /** `<run>/<file>` to base64. */
  files: Record<string, string>;
}

declare global {
  interface Window {
    SKYHOP_EXPORT?: Export;
  }
}

class ExportedSource implements Source {
  readonly writable = false;
  constructor(private readonly content: Export) {}

  async runs(): Promise<RunEntry[]> {
    return this.content.runs;
  }

  async studies(): Promise<StudyEntry[]> {
    return this.content.studies;
  }

  async file(run: string, name: string): Promise<ArrayBuffer | null> {
    const text = this.content.files[`${run}/${name}`];
    if (text === undefined) return null;
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes.buffer;
  }
}

/** A message for people from a server that refused. */
export class Refused extends Error {}

export class ServerSource implements Source {
  readonly writable = true;

  runs(): Promise<RunEntry[]> {
    return this.get("api/runs");
  }

  studies(): Promise<StudyEntry[]> {
    return this.get("api/studies");
  }

  async file(run: string, name: string): Promise<ArrayBuffer | null> {
    const response = await fetch(`api/files/${run.split("/").map(encodeURIComponent).join("/")}/${name}`);
    if (response.status === 404) return null;
    if (!response.ok) throw new Refused(await reason(response));
    return response.arrayBuffer();
  }

  grids(): Promise<Grid[]> {
    return this.get("api/grids");
  }

  /** One run, also one that the list leaves out; null where there is none. */
  async run(id: string): Promise<RunEntry | null> {
    const response = await fetch(`api/run/${id.split("/").map(encodeURIComponent).join("/")}`);
    return response.status === 404 ? null : answer(response);
  }

  schema(): Promise<unknown> {
    return this.get("api/schema");
  }

  presets(): Promise<Preset[]> {
    return this.get("api/presets");
  }

  /** Files of orbital elements that a scenario from the page may name. */
  catalogues(): Promise<string[]> {
    return this.get("api/catalogues");
  }

  check(text: string): Promise<Verdict> {
    return this.post("api/check", { text });
  }

  start(text: string, seed: number): Promise<Job> {
    return this.post("api/jobs", { text, seed });
  }

  jobs(): Promise<Job[]> {
    return this.get("api/jobs");
  }

  cancel(job: string): Promise<Job> {
    return this.post(`api/jobs/${encodeURIComponent(job)}/cancel`, {});
  }

  /** Asks for the packets of a flow; there is no job where they are kept already. */
  recordPackets(
    run: string,
    flow: string,
    part: readonly [number, number] | null,
  ): Promise<{ key: string; job: Job | null }> {
    return this.post("api/packets", { run, flow, begin_s: part?.[0] ?? null, end_s: part?.[1] ?? null });
  }

  async recordedPackets(key: string): Promise<ArrayBuffer> {
    const response = await fetch(`api/packets/${key}`);
    if (!response.ok) throw new Refused(await reason(response));
    return response.arrayBuffer();
  }

  private async get<T>(path: string): Promise<T> {
    return answer(await fetch(path));
  }

  private async post<T>(path: string, body: unknown): Promise<T> {
    const headers = { "Content-Type": "application/json" };
    return answer(await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
  }
}

async function answer<T>(response: Response): Promise<T> {
  if (!response.ok) throw new Refused(await reason(response));
  return (await response.json()) as T;
}

async function reason(response: Response): Promise<string> {
  try {
    const body = (await response.json()) as { message?: string };
    return body.message ?? response.statusText;
  } catch {
    return `${response.status} ${response.statusText}`;
  }
}

export const server: ServerSource | null = window.SKYHOP_EXPORT ? null : new ServerSource();
export const source: Source = window.SKYHOP_EXPORT ? new ExportedSource(window.SKYHOP_EXPORT) : server!;
