/**
 * Flows that get far less than others on the same path, without any stall.
 *
 * The flows from one node to another that send at the same time share what they deliver together; an equal part of it
 * is a flow's fair share. A flow that fills its window, and still has less than `FAR_LESS` of that share for a
 * whole window of time, has a finding from there until it has more.
 */
import { lastAtOrBefore } from "./columns";
import { Curve } from "./curve";
import { endingOf } from "./endings";
import type { Finding } from "./findings";
import { breath } from "./parquet";
import type { Run } from "./run";

const FAR_LESS = 0.5; // of the fair share
const WINDOW_S = 10; // shares are compared over so long, or over WINDOW_RTTS: shorter ones differ by the sawtooth alone
const WINDOW_RTTS = 20;
const HORIZON_S = 30; // a cost is counted for so long at most, as that of other findings
const FILLED = 0.6; // of cwnd in flight: less, and the application or the receiver holds the flow back
const MOST_FLOWS = 300; // of a group: with more, each share is too small to be called one

interface Member {
  flow: string;
  curve: Curve;
  start: number;
  stop: number;
}

/** Findings of all flows of a run about their share; `told` are the findings that have other causes. */
export async function shareFindings(run: Run, told: readonly Finding[]): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const group of groupsOf(run)) {
    if (group.length < 2 || group.length > MOST_FLOWS) continue;
    const members: Member[] = [];
    for (const flow of group) {
      members.push(member(run, flow));
      await breath();
    }
    for (const one of members) {
      found.push(
        ...ofMember(
          run,
          one,
          members,
          told.filter((other) => other.flow === one.flow),
        ),
      );
      await breath();
    }
  }
  return found;
}

/** The flows with a congestion window, by source and destination. */
function groupsOf(run: Run): string[][] {
  const { from, to } = run.tables.flows;
  const groups = new Map<string, string[]>();
  run.flows.forEach((flow, row) => {
    const key = `${from[row]}\n${to[row]}`;
    groups.set(key, [...(groups.get(key) ?? []), flow]);
  });
  const hasWindow = (flow: string): boolean => run.flowSeries(flow, "cwnd").ys[0].some((value) => !Number.isNaN(value));
  return [...groups.values()]
    .filter((group) => group.length > 1 && group.length <= MOST_FLOWS)
    .map((group) => group.filter(hasWindow));
}

function member(run: Run, flow: string): Member {
  const row = run.flows.indexOf(flow);
  const { start_s, stop_s, completion_s } = run.tables.flows;
  const { x, ys } = run.flowSeries(flow, "goodput_bps");
  const start = start_s[row] ?? 0;
  const done = Number.isFinite(completion_s[row]) ? start + completion_s[row] : Infinity;
  // A flow without its connection takes no share, and lacks none.
  const ended = endingOf(run.happenings, flow)?.at ?? Infinity;
  const stop = Math.min(stop_s[row] ?? run.duration, done, ended, run.duration);
  return { flow, curve: new Curve(x, ys[0]), start, stop };
}

function ofMember(run: Run, own: Member, members: readonly Member[], told: readonly Finding[]): Finding[] {
  const rtt = run.flowSeries(own.flow, "rtt_s").ys[0].find((value) => !Number.isNaN(value)) ?? 0;
  const length = Math.max(WINDOW_S, WINDOW_RTTS * rtt);
  const found: Finding[] = [];
  let open: { begin: number; end: number } | null = null;
  const close = (): void => {
    if (open) found.push(...finding(own, members, open, told, length));
    open = null;
  };
  for (let begin = own.start + length / 2; begin + length <= own.stop + 1e-9; begin += length / 2) {
    const share = fairRate(members, begin, begin + length);
    const less =
      share > 0 &&
      own.curve.rate(begin, begin + length) < FAR_LESS * share &&
      fills(run, own.flow, begin, begin + length);
    if (!less) close();
    else if (open) open.end = begin + length;
    else open = { begin, end: begin + length };
  }
  close();
  return found;
}

/**
 * An equal part of what the flows that send for all of a time deliver together, bytes per second; 0 where it is one
 * alone.
 */
function fairRate(members: readonly Member[], from: number, to: number): number {
  const active = members.filter((one) => one.start <= from && one.stop >= to);
  return active.length < 2 ? 0 : active.reduce((sum, one) => sum + one.curve.rate(from, to), 0) / active.length;
}

/** Whether the flow's window, and nothing else, limits it. */
function fills(run: Run, flow: string, from: number, to: number): boolean {
  const {
    x,
    ys: [flight],
  } = run.flowSeries(flow, "in_flight");
  const cwnd = run.flowSeries(flow, "cwnd").ys[0];
  let [sum, whole] = [0, 0];
  for (let i = lastAtOrBefore(x, from) + 1; i < x.length && x[i] <= to; i++) {
    if (Number.isNaN(cwnd[i]) || Number.isNaN(flight[i])) continue;
    sum += flight[i];
    whole += cwnd[i];
  }
  return whole > 0 && sum >= FILLED * whole;
}

/** What is left of a stretch where no other finding tells why. */
function finding(
  own: Member,
  members: readonly Member[],
  stretch: { begin: number; end: number },
  told: readonly Finding[],
  length: number,
): Finding[] {
  const before = told
    .filter((other) => other.kind !== "delay" && other.until > stretch.begin && other.begin < stretch.end)
    .sort((a, b) => a.begin - b.begin);
  let [begin, best]: [number, [number, number]] = [stretch.begin, [0, 0]];
  for (const { begin: from, until } of [...before, { begin: stretch.end, until: stretch.end }]) {
    if (from - begin > best[1] - best[0]) best = [begin, from];
    begin = Math.max(begin, until);
  }
  const [from, to] = best;
  if (to - from < length) return [];
  const until = Math.min(to, from + HORIZON_S);
  const fair = fairRate(members, from, until);
  const bytes = fair * (until - from) - own.curve.bytes(from, until);
  if (!(own.curve.rate(from, until) < FAR_LESS * fair)) return [];
  return [
    {
      id: `${own.flow}@${from.toFixed(3)}`,
      flow: own.flow,
      kind: "share",
      begin: from,
      end: to,
      until,
      back: to < own.stop - length ? to : null,
      silence: null,
      ended: null,
      fileBytes: null,
      stalledS: 0,
      bytes,
      rateBps: fair * 8,
      beforeS: 0,
      delayS: NaN,
    },
  ];
}

/** Other flows between the same nodes during a finding, with their rates in bit/s, the fastest first. */
export function companions(run: Run, { flow, begin, until }: Finding): [string, number][] {
  const { from, to } = run.tables.flows;
  const row = run.flows.indexOf(flow);
  const rateBps = (name: string): number => {
    const one = member(run, name);
    return one.start <= begin && one.stop >= until ? one.curve.rate(begin, until) * 8 : 0;
  };
  const others = run.flows.filter((name, i) => name !== flow && from[i] === from[row] && to[i] === to[row]);
  return others
    .map((name): [string, number] => [name, rateBps(name)])
    .filter(([, rate]) => rate > 0)
    .sort((a, b) => b[1] - a[1]);
}
