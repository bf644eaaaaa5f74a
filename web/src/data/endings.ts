/**
 * Connections that a stack ended before the application was done.
 *
 * The table of flow events says when and where; the stack's own words stand in the run's warnings alone.
 */
import type { Happenings } from "./happenings";
import type { Run } from "./run";

export interface Ending {
  /** When the first end of the connection ended it, s. */
  at: number;
  /** Whether that was the receiver. */
  byReceiver: boolean;
  /** When the sender heard of it, s; null where it ended the connection itself, or never heard. */
  heard: number | null;
}

/** The end of a flow's connection; null for a flow that kept it. */
export function endingOf(happenings: Happenings, flow: string): Ending | null {
  const ends = happenings.of(flow).filter((one) => one.ended);
  if (ends.length === 0) return null;
  const byReceiver = ends[0].ended === "receiver";
  const heard = byReceiver ? ends.find((one) => one.ended === "sender") : undefined;
  return { at: ends[0].begin, byReceiver, heard: heard?.begin ?? null };
}

/** The stack's words about the end of a flow's connection (crates/sim/src/warnings.rs); null without a warning. */
export function wordsOf(warnings: readonly string[], flow: string): string | null {
  const start = `the connection of flow "${flow.replace(/[\\"]/g, "\\$&")}" ended after `;
  const own = warnings.find((warning) => warning.startsWith(start));
  return own === undefined ? null : own.slice(start.length).replace(/^[\d.e+-]+ s: /, "");
}

interface ScenarioFlow {
  name?: string;
  count?: number;
  quic?: string | { control?: unknown; idle_timeout?: string };
  application?: { ftp?: { bytes?: string } } | string;
}

/** What the scenario says of a flow; null for a flow of a workload. */
function scenarioFlow(run: Run, flow: string): ScenarioFlow | null {
  const all = (run.scenario.flows ?? []) as unknown as ScenarioFlow[];
  // A count of 3 makes ftp-0, ftp-1 and ftp-2 of "ftp".
  const counted = /^(.*)-\d+$/.exec(flow)?.[1];
  return (
    all.find((one) => one.name === flow) ??
    all.find((one) => one.count !== undefined && one.name !== undefined && one.name === counted) ??
    null
  );
}

/** The size of the one file that a flow carries, bytes; null where it carries something else, or has no end. */
export function fileBytesOf(run: Run, flow: string): number | null {
  const application = scenarioFlow(run, flow)?.application;
  const bytes = typeof application === "object" ? application.ftp?.bytes : undefined;
  const written = /^(\d+) B$/.exec(bytes ?? "");
  return written ? Number(written[1]) : null;
}

/** How long an end waits for the other, as the scenario writes it; null where it does not. */
export function idleTimeoutOf(run: Run, flow: string): string | null {
  const quic = scenarioFlow(run, flow)?.quic;
  return (typeof quic === "object" ? quic.idle_timeout : null) ?? null;
}

/** Whether a flow's first reduction of its window ends slow start. A BBR has none, and other controls have names. */
export function hasSlowStart(run: Run, flow: string): boolean {
  const quic = scenarioFlow(run, flow)?.quic;
  return typeof quic === "object" && ["cubic", "newreno"].includes(String(quic.control));
}
