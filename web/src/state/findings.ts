import { byCost, findingsOf, momentOf, type Finding } from "../data/findings";
import { breath } from "../data/parquet";
import type { Run } from "../data/run";
import { shareFindings } from "../data/shares";
import { chosenFlows, clock, opened, run, shownFlows, zoomTo } from "./app";
import { Signal } from "./signal";

const MARGIN = 0.35; // of a finding's length, on either side of it in the charts
const LEAST_MARGIN_S = 2;

/** The findings of all flows of the run that is open, the dearest first; null while they are being made. */
export const findings = new Signal<readonly Finding[] | null>(null);
/** The finding whose place the camera flies to. */
export const flight = new Signal<Finding | null>(null);
/** The finding that is open. */
export const openFinding = new Signal<Finding | null>(null);

const made = new WeakMap<Run, readonly Finding[]>();

/** Looks for the findings of each run that is opened. */
export function followFindings(): void {
  run.follow((current) => {
    openFinding.value = null;
    findings.value = current ? (made.get(current) ?? null) : [];
    if (current && !made.has(current)) void look(current);
    else choose();
  });
  opened.watch(choose);
}

async function look(current: Run): Promise<void> {
  const found: Finding[] = [];
  for (const flow of current.flows) {
    found.push(...(await findingsOf(current, flow, current.happenings)));
    await breath();
    if (run.value !== current) return;
  }
  found.push(...(await shareFindings(current, found)));
  if (run.value !== current) return;
  made.set(current, found.sort(byCost));
  if (run.value !== current) return;
  findings.value = found;
  choose();
}

/** Opens the finding that the address names; where it says nothing, the dearest one. */
function choose(): void {
  const known = findings.value;
  if (!known) return;
  if (opened.value === null && known.length > 0) {
    if (clock.time.value === 0) clock.seek(momentOf(known[0]));
    opened.value = known[0].id;
  }
  openFinding.value = known.find((one) => one.id === opened.value) ?? null;
}

/** Closes the finding that is open. */
export function closeFinding(): void {
  opened.value = NONE;
}

const NONE = "";

/** Shows a finding everywhere: its time, its part of the charts, its flow. */
export function openFindingAt(finding: Finding): void {
  clock.pause();
  clock.seek(momentOf(finding));
  const margin = Math.max(LEAST_MARGIN_S, MARGIN * (finding.until - finding.begin));
  zoomTo(finding.begin - margin, finding.until + margin);
  if (!shownFlows().includes(finding.flow)) chosenFlows.value = [...shownFlows(), finding.flow];
  opened.value = finding.id;
  flight.value = null;
  flight.value = finding;
}
