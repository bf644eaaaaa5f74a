import { loadRun, type Run } from "../data/run";
import { source, server, type Job, type Live, type RunEntry } from "../data/source";
import { Clock } from "./clock";
import { Signal } from "./signal";

export const PANELS = ["watch", "why", "compare", "studies", "try"] as const;
export type Panel = (typeof PANELS)[number];
export type View = "globe" | "map";

export interface Selection {
  kind: "satellite" | "station" | "link";
  name: string;
}

export const clock = new Clock();
export const panel = new Signal<Panel>("watch");
export const view = new Signal<View>("globe");
export const entries = new Signal<RunEntry[]>([]);
/** The run on the globe. */
export const run = new Signal<Run | null>(null);
/** Runs drawn over it in the charts. */
export const overlays = new Signal<Run[]>([]);
export const selection = new Signal<Selection | null>(null);
export const jobs = new Signal<Job[]>([]);
/** What is known of the flows of runs under way, by job. */
export const live = new Signal<ReadonlyMap<string, Live>>(new Map());
/** A message for the reader; empty when there is none. */
export const notice = new Signal("");

/** Reads the list of runs again. */
export async function refreshRuns(): Promise<void> {
  entries.value = await source.runs();
}

/** Shows a run on the globe and in the charts. */
export async function openRun(id: string): Promise<void> {
  const entry = entries.value.find((one) => one.id === id);
  if (!entry) {
    notice.value = `There is no run “${id}” here (any more).`;
    return;
  }
  try {
    const next = await loadRun(entry);
    notice.value = "";
    clock.pause();
    clock.end.value = next.duration;
    clock.seek(clock.time.value);
    selection.value = null;
    overlays.value = overlays.value.filter((one) => one.id !== id);
    run.value = next;
  } catch (error) {
    notice.value = `The run ${entry.title} cannot be read: ${String(error)}`;
  }
}

/** Draws another run over the first, or takes it away. */
export async function toggleOverlay(id: string): Promise<void> {
  const without = overlays.value.filter((one) => one.id !== id);
  if (without.length < overlays.value.length) {
    overlays.value = without;
    return;
  }
  const entry = entries.value.find((one) => one.id === id);
  if (entry) {
    const added = await loadRun(entry);
    overlays.value = [...overlays.value.filter((one) => one.id !== id), added];
  }
}

/** The runs in the charts, the one on the globe first. */
export function shownRuns(): Run[] {
  return run.value ? [run.value, ...overlays.value.filter((one) => one.id !== run.value?.id)] : [];
}

/** Follows the runs that the server works on. */
export function followJobs(): void {
  server?.watchJobs((job) => {
    const known = jobs.value.find((one) => one.id === job.id);
    const finished = job.state === "done" && known?.state !== "done";
    jobs.value = known ? jobs.value.map((one) => (one === known ? job : one)) : [job, ...jobs.value];
    if (finished) void refreshRuns();
  }, ({ id, flows, from, points }) => {
    const known = live.value.get(id)?.points.slice(0, from) ?? [];
    live.value = new Map(live.value).set(id, { flows, points: [...known, ...points] });
  });
}
