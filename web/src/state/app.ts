import { loadRun, type Run } from "../data/run";
import { server, source, type Job, type Live, type NewPoints, type RunEntry } from "../data/source";
import { followEvents, type Connection, type News } from "../data/stream";
import { Clock } from "./clock";
import { Signal } from "./signal";

export const PANELS = ["watch", "compare", "studies", "try"] as const;
export type Panel = (typeof PANELS)[number];
export type View = "globe" | "map";

export interface Selection {
  kind: "satellite" | "station" | "link";
  name: string;
}

/** What the panel Compare shows. */
export interface Comparison {
  /** Ids of runs; null while the reader has not chosen. */
  runs: readonly string[] | null;
  measure: string;
  flow: string;
  /** Id of the run that the others are compared with; empty for none. */
  base: string;
  /** Whether runs that differ only in their seed count as one. */
  seeds: boolean;
  /** The part of the x axis that a figure of curves shows; null for all of it. */
  zoom: readonly [number, number] | null;
}

export const clock = new Clock();
export const panel = new Signal<Panel>("watch");
export const view = new Signal<View>("globe");
export const entries = new Signal<RunEntry[]>([]);
/** The run on the globe. */
export const run = new Signal<Run | null>(null);
/** The title of a run that takes long to read, as long as it does; empty otherwise. */
export const reading = new Signal("");
/** The run that was asked for and is not here. */
export const missing = new Signal<string | null>(null);
/** Runs drawn over it in the charts. */
export const overlays = new Signal<Run[]>([]);
export const selection = new Signal<Selection | null>(null);
/** The part of the run that charts show, in seconds; null for the whole. */
export const range = new Signal<readonly [number, number] | null>(null);
/** The finding that is open, by its id: null stands for the dearest one, an empty text for none. */
export const opened = new Signal<string | null>(null);
/** The flows in the charts; null stands for the first of the run. */
export const chosenFlows = new Signal<readonly string[] | null>(null);
/** Whether the charts show the packets of one flow. */
export const sequenceShown = new Signal(false);
/** Whether those are all packets of the flow, not only those around the open finding. */
export const wholeFlow = new Signal(false);
export const comparison = new Signal<Comparison>({
  runs: null,
  measure: "",
  flow: "",
  base: "",
  seeds: false,
  zoom: null,
});

/** Compares something else, or otherwise. */
export function change(to: Partial<Comparison>): void {
  comparison.value = { ...comparison.value, ...to };
}

export const jobs = new Signal<Job[]>([]);
/** What is known of the flows of runs under way, by job. */
export const live = new Signal<ReadonlyMap<string, Live>>(new Map());
export const connection = new Signal<Connection>("connecting");
/** A message for the reader; empty when there is none. */
export const notice = new Signal("");

/** Flows in the charts before the reader chooses. */
export const FIRST_FLOWS = 8;
const LEAST_WINDOW_S = 0.01;
const ACTIVE_SHARE = 0.5; // of a run: flows that are active for less of it have the charts for themselves

/** The names of the flows that charts show. */
export function shownFlows(): readonly string[] {
  return chosenFlows.value ?? run.value?.flows.slice(0, FIRST_FLOWS) ?? [];
}

/** Puts a flow into the charts, or takes it out. */
export function toggleFlow(name: string, on = !shownFlows().includes(name)): void {
  const without = shownFlows().filter((one) => one !== name);
  chosenFlows.value = on ? [...without, name] : without;
}

/** Shows a part of the run in all charts, within its bounds; the whole when the part is as long. */
export function zoomTo(from: number, to: number): void {
  const end = clock.end.value;
  const length = Math.min(end, Math.max(LEAST_WINDOW_S, to - from));
  if (!(length < end * 0.9995)) {
    range.value = null;
    return;
  }
  const begin = Math.min(Math.max(0, from), end - length);
  range.value = [begin, begin + length];
}

/** The part of the run that charts show. */
export function windowShown(): readonly [number, number] {
  return range.value ?? [0, clock.end.value];
}

/** Reads the list of runs again. */
export async function refreshRuns(): Promise<void> {
  const listed = await source.runs();
  entries.value = [...listed, ...[...unlisted.values()].filter((one) => !listed.some(({ id }) => id === one.id))];
}

/** Runs of sweeps that the reader opened: the list leaves them out. */
const unlisted = new Map<string, RunEntry>();

/** Has runs at hand that the list may leave out. */
export async function fetchRuns(ids: readonly string[]): Promise<void> {
  const absent = ids.filter((id) => !entries.value.some((entry) => entry.id === id));
  if (!server || absent.length === 0) return;
  for (const entry of await Promise.all(absent.map((id) => server!.run(id)))) if (entry) unlisted.set(entry.id, entry);
  await refreshRuns();
}

/** Runs that are being read, by their titles. */
const underWay: string[] = [];
/** Most runs are read in less, and a word that flashes up tells nobody anything. */
const LONG_MS = 300;

async function read(entry: RunEntry): Promise<Run> {
  underWay.push(entry.title);
  const timer = setTimeout(() => (reading.value = underWay.at(-1) ?? ""), LONG_MS);
  try {
    return await loadRun(entry);
  } finally {
    clearTimeout(timer);
    underWay.splice(underWay.indexOf(entry.title), 1);
    if (reading.value) reading.value = underWay.at(-1) ?? "";
  }
}

let latest = 0;

/** Shows a run on the globe and in the charts. */
export async function openRun(id: string): Promise<void> {
  const mine = ++latest;
  const entry = entries.value.find((one) => one.id === id);
  if (!entry) {
    missing.value = id;
    run.value = null;
    notice.value =
      `There is no run “${id}” here. It may have been renamed or removed; the list of runs at the ` +
      `top right has the others.`;
    return;
  }
  try {
    const next = await read(entry);
    // Somebody may have asked for another run meanwhile.
    if (mine !== latest) return;
    notice.value = "";
    missing.value = null;
    clock.pause();
    clock.end.value = next.duration;
    clock.seek(clock.time.value);
    selection.value = null;
    showActive(next);
    opened.value = null;
    chosenFlows.value = null;
    overlays.value = overlays.value.filter((one) => one.id !== id);
    run.value = next;
  } catch (error) {
    notice.value = `The run ${entry.title} cannot be read: ${String(error)}`;
  }
}

/** Shows all of a run in the charts, or the part in which its flows are active where that is short. */
function showActive(next: Run): void {
  const [from, to] = next.activeTime();
  range.value = null;
  if (to - from < ACTIVE_SHARE * next.duration) zoomTo(from - 0.02 * (to - from), to + 0.02 * (to - from));
}

/** Draws another run over the first, or takes it away. */
export async function toggleOverlay(id: string): Promise<void> {
  const without = overlays.value.filter((one) => one.id !== id);
  if (without.length < overlays.value.length) {
    overlays.value = without;
    return;
  }
  const entry = entries.value.find((one) => one.id === id);
  if (!entry) return;
  try {
    const added = await read(entry);
    overlays.value = [...overlays.value.filter((one) => one.id !== id), added];
  } catch (error) {
    notice.value = `The run ${entry.title} cannot be read: ${String(error)}`;
  }
}

/** The runs in the charts, the one on the globe first. */
export function shownRuns(): Run[] {
  return run.value ? [run.value, ...overlays.value.filter((one) => one.id !== run.value?.id)] : [];
}

/** Follows the runs that the server works on, and those that appear in its folder. */
export function followServer(): void {
  if (!server) return;
  const told = (): News[] => [
    { kind: "connection", data: connection.value },
    { kind: "known", data: jobs.value.map((job) => job.id) },
    ...[...jobs.value].reverse().map((job): News => ({ kind: "job", data: job })),
    ...[...live.value].map(([id, known]): News => ({ kind: "points", data: { id, from: 0, ...known } })),
  ];
  followEvents(hear, told);
}

function hear(news: News): void {
  if (news.kind === "connection") connection.value = news.data;
  else if (news.kind === "known") forgetAllBut(news.data);
  else if (news.kind === "job") hearJob(news.data);
  else if (news.kind === "points") hearPoints(news.data);
  else refresh();
}

function refresh(): void {
  refreshRuns().catch((error: unknown) => (notice.value = `The list of runs cannot be read: ${String(error)}`));
}

/** A server that was started again knows nothing of the runs of the one before, which ended with it. */
function forgetAllBut(known: readonly string[]): void {
  jobs.value = jobs.value.map((job) => {
    const over = known.includes(job.id) || !["waiting", "running"].includes(job.state);
    return over
      ? job
      : { ...job, state: "failed", message: "The server was started again; this run ended with the one before." };
  });
}

function hearJob(job: Job): void {
  const known = jobs.value.find((one) => one.id === job.id);
  const finished = job.state === "done" && known?.state !== "done";
  jobs.value = known ? jobs.value.map((one) => (one === known ? job : one)) : [job, ...jobs.value];
  if (finished) refresh();
}

function hearPoints({ id, flows, from, points }: NewPoints): void {
  const known = live.value.get(id)?.points.slice(0, from) ?? [];
  live.value = new Map(live.value).set(id, { flows, points: [...known, ...points] });
}
