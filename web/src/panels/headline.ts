import type { Run } from "../data/run";
import { run } from "../state/app";
import { h } from "./dom";
import { count, rate, whole } from "./format";

const AT_ONCE = 2; // warnings shown before the reader asks for more

/** The run in one line, and below it what a reader of its results should know. */
export function runFacts(): HTMLElement {
  const warnings = h("div", { class: "warnings", role: "group", "aria-label": "Warnings of the run", hidden: true });
  run.follow((current) => {
    const all = current?.warnings ?? [];
    warnings.hidden = all.length === 0;
    warnings.replaceChildren(...warningLists(all));
  });
  return h("div", { class: "run-facts" }, headline(), warnings);
}

function warningLists(all: readonly string[]): HTMLElement[] {
  const list = (some: readonly string[]): HTMLElement => h("ul", {}, ...some.map((one) => h("li", {}, one)));
  const rest = all.slice(AT_ONCE);
  if (rest.length === 0) return [list(all)];
  // The list scrolls where it is long, so it takes the focus: the arrow keys then move it.
  const scroll = h("div", { class: "rest", tabindex: 0, role: "region", "aria-label": "Further warnings" }, list(rest));
  const more = h("details", {}, h("summary", {}, count(rest.length, "more warning")), scroll);
  return [list(all.slice(0, AT_ONCE)), more];
}

/** The run in one line: "Berkeley → Chennai · Iridium · 3 × BIC · 1.44 Mbit/s · 260 dropped". */
function headline(): HTMLElement {
  const line = h("p", { class: "headline" });
  run.follow((current) => {
    line.hidden = !current;
    line.title = current ? meaning(current) : "";
    line.replaceChildren(...(current ? parts(current).map((part) => h("span", {}, part)) : []));
  });
  return line;
}

export function parts(current: Run): string[] {
  const { flows } = current.tables;
  const ends = [...new Set(current.flows.map((_, row) => `${upper(flows.from[row])} → ${upper(flows.to[row])}`))];
  const between = ends.length <= 2 ? ends.join(", ") : `${ends.length} pairs of nodes`;
  const dropped = flows.dropped.reduce((sum, packets) => sum + packets, 0);
  return [
    between,
    sky(current),
    senders(current),
    rate(rateBps(current)),
    dropped > 0 ? `${whole(dropped)} dropped` : "nothing dropped",
  ].filter((part) => part !== "");
}

/** Flows say when they start and stop; workloads do not, so their time is that of the run. */
function hasWorkloads({ scenario }: Run): boolean {
  return (scenario.workloads ?? []).length > 0;
}

function meaning(current: Run): string {
  const rate = hasWorkloads(current)
    ? "Goodput of all flows and workloads together, over the whole run"
    : "Goodput of all flows together, from the first start to the last stop";
  return `${rate}; data packets of flows dropped`;
}

/**
 * User bytes of all connections over one time; rates over the flows' own times do not add up. The total of the run
 * counts workloads, and each split connection once.
 */
function rateBps(current: Run): number {
  if (hasWorkloads(current)) return current.entry.goodput_bps;
  const [from, to] = current.activeTime();
  return to > from ? (current.entry.goodput_bps * current.duration) / (to - from) : 0;
}

function upper(name: string | null): string {
  return (name ?? "").replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
}

function sky({ scenario, sky: { size } }: Run): string {
  const { constellation } = scenario;
  if (!constellation) return "";
  const names = [
    ...new Set((constellation.shells ?? []).map((shell) => (shell as { name?: string }).name ?? "")),
  ].filter((name) => name !== "");
  if (names.length > 0 && names.length <= 2) return names.map(upper).join(" and ");
  return size > 0 ? count(size, "satellite") : "satellites";
}

/** "3 × BIC, 1 × UDP". */
function senders({ scenario }: Run): string {
  const kinds = new Map<string, number>();
  for (const flow of (scenario.flows ?? []) as unknown as Record<string, unknown>[]) {
    const kind = kindOf(flow);
    kinds.set(kind, (kinds.get(kind) ?? 0) + (typeof flow["count"] === "number" ? flow["count"] : 1));
  }
  const names = [...kinds].filter(([kind]) => kind !== "").map(([kind, n]) => `${whole(n)} × ${kind}`);
  return names.slice(0, 3).join(", ") + (names.length > 3 ? " and others" : "");
}

const SPELT: Record<string, string> = {
  newreno: "NewReno",
  vegas: "Vegas",
  reno: "Reno",
  tahoe: "Tahoe",
  sack: "SACK",
  hybla: "Hybla",
  westwood: "Westwood",
};

function kindOf(flow: Record<string, unknown>): string {
  for (const kind of ["tcp", "quic", "udp"]) {
    const given = flow[kind];
    if (given === undefined || given === null) continue;
    const control = (given as Record<string, unknown>)["control"];
    const recovery = (given as Record<string, unknown>)["recovery"];
    let name = typeof control === "object" && control !== null ? Object.keys(control)[0] : control;
    // The variants of Reno are called after how they repair losses.
    if (name === "reno" && typeof recovery === "string") name = recovery;
    if (kind === "udp" || typeof name !== "string") return kind.toUpperCase();
    return SPELT[name] ?? (name.length <= 5 ? name.toUpperCase() : upper(name));
  }
  return "";
}
