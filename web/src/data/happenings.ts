import { groupBy } from "./columns";
import { fixed, number } from "../panels/format";
import type { Run } from "./run";

/** What kind of thing happened. */
export type Kind = "handover" | "path" | "drop" | "recovery" | "timeout" | "ended" | "life" | "other";

export interface Happening {
  kind: Kind;
  begin: number;
  end: number;
  /** A half-sentence: "berkeley was handed over from a to b". */
  text: string;
  /** Packets, where it is about several. */
  packets: number;
  /** Whether the packets are ACKs. */
  acks?: boolean;
  /** At which end the connection ended. */
  ended?: "sender" | "receiver";
}

const DROPS_APART_S = 0.25; // losses closer than that are one happening

/** Of things at the same moment, the cause stands first. */
const ORDER: Record<Kind, number> = {
  life: 0,
  other: 1,
  handover: 2,
  path: 3,
  drop: 4,
  recovery: 5,
  timeout: 6,
  ended: 7,
};

/** What happened in a run, flow by flow; each flow's list is made when it is asked for. */
export class Happenings {
  private readonly rows: { drops: Map<string, number[]>; events: Map<string, number[]>; paths: Map<string, number[]> };
  private readonly made = new Map<string, Happening[]>();
  private readonly stations: ReadonlySet<string>;

  constructor(private readonly run: Run) {
    const { drops, flow_events: events, paths } = run.tables;
    this.rows = { drops: groupBy(drops.flow), events: groupBy(events.flow), paths: groupBy(paths.flow) };
    this.stations = new Set(run.stations.map((station) => station.name));
  }

  /** Everything that happened to a flow, in the order of time. */
  of(flow: string): Happening[] {
    let found = this.made.get(flow);
    if (!found) {
      found = [...this.handovers(flow), ...this.pathChanges(flow), ...this.drops(flow), ...this.events(flow)];
      found.sort((a, b) => a.begin - b.begin || ORDER[a.kind] - ORDER[b.kind]);
      this.made.set(flow, found);
    }
    return found;
  }

  /** Rows of `drops` that belong to a flow, in the order of time. */
  dropRows(flow: string): readonly number[] {
    return this.rows.drops.get(flow) ?? [];
  }

  /** Rows of `paths` that belong to a flow, in the order of time. */
  pathRows(flow: string): readonly number[] {
    return this.rows.paths.get(flow) ?? [];
  }

  private handovers(flow: string): Happening[] {
    const table = this.run.tables.handovers;
    const ends = this.endsOf(flow);
    const found: Happening[] = [];
    for (let row = 0; row < table.time_s.length; row++) {
      const terminal = table.terminal[row] ?? "";
      if (!ends.has(terminal)) continue;
      const [from, to] = [table.from[row], table.to[row]];
      const why = table.why[row] ? ` (${table.why[row]})` : "";
      const text = changed(table.kind?.[row] ?? "satellite", terminal, from, to);
      found.push({
        kind: from ? "handover" : "life",
        begin: table.time_s[row],
        end: table.time_s[row],
        text: text + why,
        packets: 0,
      });
    }
    return found;
  }

  /** Every station on any of the flow's paths. */
  private endsOf(flow: string): Set<string> {
    const { path } = this.run.tables.paths;
    const ends = new Set<string>();
    for (const row of this.pathRows(flow))
      for (const node of (path[row] ?? "").split(" > ")) if (this.stations.has(node)) ends.add(node);
    return ends;
  }

  private pathChanges(flow: string): Happening[] {
    const { time_s: times, path, delay_s: delay } = this.run.tables.paths;
    return this.pathRows(flow)
      .slice(1)
      .map((row, i) => {
        const before = this.pathRows(flow)[i];
        return {
          kind: "path",
          begin: times[row],
          end: times[row],
          text: pathText(path[row], delay[row], delay[before]),
          packets: 0,
        };
      });
  }

  private drops(flow: string): Happening[] {
    const { time_s: times, cause, link, node, is_ack: ack } = this.run.tables.drops;
    const found: Happening[] = [];
    const lastOf = new Map<string, Happening>();
    for (const row of this.dropRows(flow)) {
      const place = (link[row] ?? node[row] ?? "").replace("->", " → ");
      const key = `${cause[row]} ${place} ${ack[row]}`;
      const last = lastOf.get(key);
      if (last && times[row] - last.end <= DROPS_APART_S) {
        last.end = times[row];
        last.packets++;
        continue;
      }
      const one: Happening = {
        kind: "drop",
        begin: times[row],
        end: times[row],
        text: `${lost(cause[row] ?? "")} at ${place}`,
        packets: 1,
        acks: Boolean(ack[row]),
      };
      lastOf.set(key, one);
      found.push(one);
    }
    for (const one of found) one.text = counted(one.packets, one.acks ? "ACK" : "packet", one.text);
    return found;
  }

  private events(flow: string): Happening[] {
    const { time_s: times, event, cwnd, ssthresh } = this.run.tables.flow_events;
    const found: Happening[] = [];
    let recovery: Happening | null = null;
    for (const row of this.rows.events.get(flow) ?? []) {
      const at = times[row];
      const window = Number.isFinite(cwnd[row]) ? `cwnd is now ${number(cwnd[row], 3)}` : "";
      const threshold = Number.isFinite(ssthresh[row]) ? `, ssthresh ${number(ssthresh[row], 3)}` : "";
      const [name] = (event[row] ?? "").split(" ");
      if (name === "recovery") {
        if (recovery) recovery.end = at;
        recovery = {
          kind: "recovery",
          begin: at,
          end: at,
          text: `duplicate ACKs told the sender of a loss: it repaired it and cut its window (${window}${threshold})`,
          packets: 0,
        };
        found.push(recovery);
      } else if (name === "loss") {
        // A congestion event of QUIC (RFC 9002, section 7.3.2). Its end is not recorded, so it begins no finding.
        found.push({
          kind: "other",
          begin: at,
          end: at,
          text: `ACKs told the sender of a loss: it cut its window (${window}${threshold})`,
          packets: 0,
        });
      } else if (name === "recovered") {
        if (recovery) recovery.end = at;
        recovery = null;
      } else if (name === "timeout") {
        if (recovery) recovery.end = at;
        recovery = null;
        found.push({
          kind: "timeout",
          begin: at,
          end: at,
          text: `the retransmission timer ran out (${window}${threshold})`,
          packets: 0,
        });
      } else if (event[row] === "closed by receiver" || event[row] === "connection lost") {
        if (recovery) recovery.end = at;
        recovery = null;
        const ended = event[row] === "closed by receiver" ? "receiver" : "sender";
        const text =
          ended === "receiver"
            ? "the receiver's stack closed the connection"
            : "the connection ended at the sender, which sends nothing more";
        found.push({ kind: "ended", begin: at, end: at, text, packets: 0, ended });
      } else {
        found.push({ kind: "life", begin: at, end: at, text: `the flow: ${event[row]}`, packets: 0 });
      }
    }
    return found;
  }
}

/** A handover in words. */
function changed(kind: string, terminal: string, from: string | null, to: string | null): string {
  if (kind === "beam") return `${terminal} was handed over to another beam of ${to ?? "its satellite"}`;
  if (kind === "gateway") return `${terminal} was handed over from gateway ${from ?? "none"} to ${to ?? "none"}`;
  if (kind !== "satellite")
    return to
      ? `${terminal} left the terrestrial network for ${to}`
      : `${terminal} was handed over to the terrestrial network`;
  if (from && to) return `${terminal} was handed over from ${from} to ${to}`;
  return to ? `${terminal} took its first satellite, ${to}` : `${terminal} lost ${from} and had no satellite`;
}

function pathText(path: string | null, delay: number, before: number): string {
  if (!path) return "there was no route to the destination any more";
  const change = (delay - before) * 1e3;
  const hops = path.split(" > ").length - 1;
  if (!Number.isFinite(change)) return `a path of ${hops} hops was found, ${fixed(delay * 1e3, 1)} ms long`;
  const size =
    Math.abs(change) < 0.05
      ? "as long as before"
      : `${fixed(Math.abs(change), 1)} ms ${change > 0 ? "longer" : "shorter"} than before`;
  return `the path changed to one of ${hops} hops and ${fixed(delay * 1e3, 1)} ms, ${size}`;
}

const LOST: Record<string, string> = {
  queue: "found a full queue",
  error: "were corrupted",
  "link-change": "were lost with the link that they waited for",
  "no-route": "had no route",
  ttl: "took too many hops",
  priority: "yielded to others at a full queue",
};

/** What became of lost packets, by the table's word for the cause. */
export function lost(cause: string): string {
  return LOST[cause] ?? `were lost (${cause})`;
}

/** "1 packet was corrupted", "3 packets were corrupted". */
export function counted(n: number, what: string, text: string): string {
  return n === 1
    ? `1 ${what} ${text.replace("were ", "was ").replace("they waited", "it waited")}`
    : `${n} ${what}s ${text}`;
}
