import { readParquet } from "../data/parquet";
import type { Run } from "../data/run";
import { server, type Job } from "../data/source";
import type { Tables } from "../generated/tables";
import { jobs } from "./app";

/** A run that takes longer is not made again before the reader asks for it, s of wall time. */
export const UNASKED_S = 60;
/** Opening a finding records its packets where the run takes less, s of wall time. */
export const AT_ONCE_S = 10;

export type Part = readonly [number, number] | null;

const KEPT = 8; // tables

const asked = new Map<string, Promise<Tables["packets"]>>();

/**
 * The packets of a flow in a part of a run (null: all of it). The server makes the run again for them, unless it kept
 * them.
 * `told` hears how far that is.
 */
export function recordPackets(
  run: Run,
  flow: string,
  part: Part,
  told: (text: string) => void = () => {},
): Promise<Tables["packets"]> {
  const name = JSON.stringify([run.id, run.entry.records_hash, flow, part]);
  let table = asked.get(name);
  if (!table) {
    asked.set(name, (table = ask(run, flow, part)));
    table.catch(() => asked.delete(name));
    if (asked.size > KEPT) asked.delete(asked.keys().next().value!);
  }
  const tell = (all: Job[]): void => {
    const job = all.find((one) => one.packets !== null && one.packets === keys.get(name) && one.state !== "done");
    if (job) told(job.state === "running" ? `${Math.round(100 * job.fraction)} %` : job.state);
  };
  const end = jobs.watch(tell);
  table.then(end, end);
  return table;

  async function ask(run: Run, flow: string, part: Part): Promise<Tables["packets"]> {
    if (!server) throw new Error("an exported page has no server that makes a run again");
    const { key, job } = await server.recordPackets(run.id, flow, part);
    keys.set(name, key);
    if (job) await ended(job);
    return (await readParquet(await server.recordedPackets(key))) as unknown as Tables["packets"];
  }
}

/** The server's key of what was asked for. */
const keys = new Map<string, string>();

/** Waits until a job is done; fails with what the server says where it failed. */
function ended(job: Job): Promise<void> {
  return new Promise((done, failed) => {
    const look = (all: Job[]): void => {
      const { state, message } = all.find((one) => one.id === job.id) ?? job;
      if (state === "waiting" || state === "running") return;
      end();
      if (state === "done") done();
      else failed(new Error(message || "the recording was cancelled"));
    };
    const end = jobs.watch(look);
    look(jobs.value);
  });
}
