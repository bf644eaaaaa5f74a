import { count, fixed, moment, number } from "../panels/format";
import type { Run } from "./run";

/** What kind of thing happened; each has its lane in the timeline. */
export type Kind = "handover" | "path" | "link" | "drop" | "recovery" | "timeout" | "life";

export interface Happening {
  kind: Kind;
  begin: number;
  end: number;
  /** A half-sentence: "berkeley changed from a to b". */
  text: string;
  /** Packets, where it is about several. */
  packets: number;
}

/** A time in which a flow got nothing through, or had to repair losses. */
export interface Episode {
  begin: number;
  end: number;
  kind: "stall" | "repair";
}

export interface Chain {
  title: string;
  sentence: string;
  links: Happening[];
}

const DROPS_APART_S = 0.25; // losses closer than that are one happening
const LEAST_STEPS = 3; // shorter silences are those of a window that waits for its ACKs
const REPAIR_CAUSE_S = 2; // a repair is explained by what happened at most so long before it

/** Everything that happened to a flow, in the order of time. */
export function happenings(run: Run, flow: string): Happening[] {
  const all = [...handovers(run, flow), ...pathChanges(run, flow), ...drops(run, flow), ...events(run, flow)];
  return all.sort((a, b) => a.begin - b.begin || ORDER[a.kind] - ORDER[b.kind]);
}

/** Of things at the same moment, the cause stands first. */
const ORDER: Record<Kind, number> = { life: 0, handover: 1, link: 2, path: 3, drop: 4, recovery: 5, timeout: 6 };

function handovers(run: Run, flow: string): Happening[] {
  const table = run.tables.handovers;
  const ends = endsOf(run, flow);
  const found: Happening[] = [];
  for (let row = 0; row < table.time_s.length; row++) {
    const terminal = table.terminal[row] ?? "";
    if (!ends.has(terminal)) continue;
    const [from, to] = [table.from[row], table.to[row]];
    const kind = table.kind?.[row] ?? "satellite";
    const text = kind !== "satellite" ? changed(kind, terminal, from, to) : from && to ? `${terminal} was handed over from ${from} to ${to}` : to ? `${terminal} took its first satellite, ${to}` : `${terminal} lost ${from} and had no satellite`;
    const why = table.why[row] ? ` (${table.why[row]})` : "";
    found.push({ kind: from ? "handover" : "life", begin: table.time_s[row], end: table.time_s[row], text: text + why, packets: 0 });
  }
  return found;
}

/** A handover that is not one between satellites, in words. */
function changed(kind: string, terminal: string, from: string | null, to: string | null): string {
  if (kind === "beam") return `${terminal} was handed over to another beam of ${to ?? "its satellite"}`;
  if (kind === "gateway") return `${terminal} was handed over from gateway ${from ?? "none"} to ${to ?? "none"}`;
  return to ? `${terminal} left the terrestrial network for ${to}` : `${terminal} was handed over to the terrestrial network`;
}

/** Every station on any of the flow's paths. */
function endsOf(run: Run, flow: string): Set<string> {
  const { flow: flows, path } = run.tables.paths;
  const stations = new Set(run.stations.map((station) => station.name));
  const ends = new Set<string>();
  flows.forEach((name, row) => {
    if (name === flow) for (const node of (path[row] ?? "").split(" > ")) if (stations.has(node)) ends.add(node);
  });
  return ends;
}

function pathChanges(run: Run, flow: string): Happening[] {
  const { time_s: times, flow: flows, path, delay_s: delay } = run.tables.paths;
  const found: Happening[] = [];
  let before = -1;
  for (let row = 0; row < times.length; row++) {
    if (flows[row] !== flow) continue;
    if (before >= 0) found.push({ kind: "path", begin: times[row], end: times[row], text: pathText(path[row], delay[row], delay[before]), packets: 0 });
    before = row;
  }
  return found;
}

function pathText(path: string | null, delay: number, before: number): string {
  if (!path) return "there was no route to the destination any more";
  const change = (delay - before) * 1e3;
  const hops = path.split(" > ").length - 1;
  if (!Number.isFinite(change)) return `a path of ${hops} hops was found, ${fixed(delay * 1e3, 1)} ms long`;
  const size = Math.abs(change) < 0.05 ? "as long as before" : `${fixed(Math.abs(change), 1)} ms ${change > 0 ? "longer" : "shorter"} than before`;
  return `the path changed to one of ${hops} hops and ${fixed(delay * 1e3, 1)} ms, ${size}`;
}

const CAUSES: Record<string, string> = {
  queue: "found a full queue",
  error: "were corrupted",
  "link-change": "were lost with the link that they waited for",
  "no-route": "had no route",
  ttl: "took too many hops",
  priority: "yielded to others at a full queue",
};

function drops(run: Run, flow: string): Happening[] {
  const { time_s: times, cause, link, node, flow: flows, is_ack: ack } = run.tables.drops;
  const found: (Happening & { key: string })[] = [];
  for (let row = 0; row < times.length; row++) {
    if (flows[row] !== flow) continue;
    const place = (link[row] ?? node[row] ?? "").replace("->", " → ");
    const key = `${cause[row]} ${place} ${ack[row]}`;
    const last = found.findLast((one) => one.key === key);
    if (last && times[row] - last.end <= DROPS_APART_S) {
      last.end = times[row];
      last.packets++;
    } else {
      const what = CAUSES[cause[row] ?? ""] ?? `were lost (${cause[row]})`;
      found.push({ kind: "drop", begin: times[row], end: times[row], text: `${ack[row] ? "ACKs" : "packets"} ${what} at ${place}`, packets: 1, key });
    }
  }
  return found.map(({ kind, begin, end, text, packets }) => ({ kind, begin, end, packets, text: dropText(text, packets) }));
}

function dropText(text: string, packets: number): string {
  if (packets > 1) return `${packets} ${text}`;
  return `1 ${text.replace(/^packets/, "packet").replace(/^ACKs/, "ACK").replace(" were ", " was ").replace("they waited", "it waited")}`;
}

function events(run: Run, flow: string): Happening[] {
  const { time_s: times, flow: flows, event, cwnd, ssthresh } = run.tables.flow_events;
  const found: Happening[] = [];
  let recovery: Happening | null = null;
  for (let row = 0; row < times.length; row++) {
    if (flows[row] !== flow) continue;
    const at = times[row];
    const window = Number.isFinite(cwnd[row]) ? `cwnd is now ${number(cwnd[row], 3)}` : "";
    const threshold = Number.isFinite(ssthresh[row]) ? `, ssthresh ${number(ssthresh[row], 3)}` : "";
    switch (event[row]) {
      case "recovery":
        recovery = { kind: "recovery", begin: at, end: at, text: `duplicate ACKs told the sender of a loss: it repaired it and cut its window (${window}${threshold})`, packets: 0 };
        found.push(recovery);
        break;
      case "recovered":
        if (recovery) recovery.end = at;
        recovery = null;
        break;
      case "timeout":
        if (recovery) recovery.end = at;
        recovery = null;
        found.push({ kind: "timeout", begin: at, end: at, text: `the retransmission timer ran out (${window}${threshold})`, packets: 0 });
        break;
      default:
        found.push({ kind: "life", begin: at, end: at, text: `the flow: ${event[row]}`, packets: 0 });
    }
  }
  return found;
}

/** The flow's stalls, and repairs outside of them, in the order of time. */
export function episodes(run: Run, flow: string): Episode[] {
  const found = stalls(run, flow);
  for (const one of happenings(run, flow)) {
    if (one.kind !== "recovery" && one.kind !== "timeout") continue;
    const end = Math.max(one.end, one.begin);
    const last = found.find((other) => one.begin >= other.begin - REPAIR_CAUSE_S && one.begin <= other.end);
    if (!last) found.push({ begin: one.begin, end, kind: "repair" });
    else if (last.kind === "repair") last.end = Math.max(last.end, end);
  }
  return found.sort((a, b) => a.begin - b.begin);
}

/** Stretches in which nothing arrived at the destination, between the first arrival and the last. */
function stalls(run: Run, flow: string): Episode[] {
  const { x, ys: [received] } = run.flowSeries(flow, "received");
  const [rtt] = run.flowSeries(flow, "rtt_s").ys;
  const found: Episode[] = [];
  let last = -1;
  for (let i = 0; i < x.length; i++) {
    if (!(received[i] > 0)) continue;
    if (last >= 0) {
      const step = x[last] - (x[last - 1] ?? 0);
      const silent = x[i] - x[last];
      const ordinary = Math.max(LEAST_STEPS * step, 1.5 * (rtt[last] || 0));
      if (silent > ordinary) found.push({ begin: x[last], end: x[i], kind: "stall" });
    }
    last = i;
  }
  const stop = run.tables.flows.stop_s[run.flows.indexOf(flow)] ?? run.duration;
  const done = Number.isFinite(run.tables.flows.completion_s[run.flows.indexOf(flow)] ?? NaN);
  if (last >= 0 && !done && stop - x[last] > 1) found.push({ begin: x[last], end: stop, kind: "stall" });
  return found;
}

/** The events that led to an episode, and one sentence that says it. */
export function explain(run: Run, flow: string, episode: Episode): Chain {
  const slack = Math.max(REPAIR_CAUSE_S, 0.05 * (episode.end - episode.begin));
  const near = happenings(run, flow).filter((one) => one.end >= episode.begin - slack && one.begin <= episode.end + 1e-9 && one.kind !== "life");
  const links = fromTheCause(near, episode);
  const length = episode.end - episode.begin;
  const title = episode.kind === "stall" ? `Nothing arrived for ${fixed(length, 2)} s` : length > 0 ? `Repaired losses for ${fixed(length, 2)} s` : "Repaired a loss";
  const what = episode.kind === "stall" ? `From ${moment(episode.begin)} to ${moment(episode.end)} nothing of ${flow} arrived` : `At ${moment(episode.begin)} ${flow} had to repair a loss`;
  return { title, sentence: `${what}: ${tell(links)}.`, links };
}

/** Without what was over before the thing that began it all: the last handover or path change before the silence. */
function fromTheCause(near: Happening[], episode: Episode): Happening[] {
  const roots = near.filter((one) => (one.kind === "handover" || one.kind === "path") && one.begin <= episode.begin + 0.5);
  const losses = near.filter((one) => one.kind === "drop" && one.begin <= episode.begin + 0.5);
  const root = roots.at(-1);
  const first = root ? Math.min(...roots.filter((one) => one.begin > root.begin - 0.5).map((one) => one.begin)) : (losses[0]?.begin ?? -Infinity);
  return near.filter((one) => one.begin >= first - 1e-9);
}

function tell(links: Happening[]): string {
  if (links.length === 0) return "nothing that this run recorded explains it; the sender may have had nothing to send or waited for its window";
  const parts: string[] = [];
  let previous: Happening | null = null;
  const most = 7;
  for (const one of links.slice(0, most)) {
    const gap = previous ? one.begin - previous.begin : 0;
    const when = !previous ? `at ${moment(one.begin)} ` : gap < 0.005 ? "and " : `${fixed(gap, gap < 1 ? 2 : 1)} s later `;
    parts.push(when + one.text);
    previous = one;
  }
  if (links.length > most) parts.push(`and ${count(links.length - most, "more event")} followed`);
  return parts.join(", ").replace(/, and (?=[^,]*$)/, " and ");
}
