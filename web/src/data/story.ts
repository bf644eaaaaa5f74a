import { lastAtOrBefore } from "./columns";
import { count, fixed, moment, number, rate, size } from "../panels/format";
import { endingOf, hasSlowStart, idleTimeoutOf, wordsOf, type Ending } from "./endings";
import type { Finding } from "./findings";
import { counted, lost, type Happening, type Happenings } from "./happenings";
import type { Run } from "./run";
import { companions } from "./shares";

/** A finding in words. */
export interface Story {
  /** "stalled 1.1 s". */
  what: string;
  /** "handover, 71 packets lost, timeout"; empty where nothing was recorded. */
  why: string;
  /** "4.2 MB, back after 6.3 s". */
  price: string;
  cause: string;
  effect: string;
  cost: string;
  /** Why the timer ran out before duplicate ACKs could tell of the loss; empty without a timeout. */
  timer: string;
  /** What happened, in the order of time. */
  events: Happening[];
}

const CAUSE_S = 2; // what happened at most so long before is a cause, or so many round trips:
const CAUSE_RTTS = 2; // a sender hears of a loss a round trip later, and a full queue makes that long
const AT_ONCE_S = 0.5; // handovers and path changes so close together are one
const DUPLICATES = 3; // duplicate ACKs that begin a fast retransmit: RFC 5681 §3.2

/** What led to a finding, what it did and what it cost. */
export function storyOf(run: Run, finding: Finding, happenings: Happenings): Story {
  const all = happenings.of(finding.flow).filter((one) => one.kind !== "life");
  const events = fromTheCause(all, finding, causeS(run, finding));
  const lostHere = lossesIn(run, finding, happenings, events);
  return {
    what: whatOf(finding),
    why: whyOf(run, events, finding, lostHere, othersThatBegan(run, finding, events)),
    price: priceOf(run, finding),
    cause: causeOf(run, finding, events, lostHere),
    effect: effectOf(run, finding, events),
    cost: costOf(run, finding),
    timer: timerOf(run, finding, happenings, events),
    events,
  };
}

/** How long before a finding its causes are looked for, s. */
function causeS(run: Run, { flow, begin }: Pick<Finding, "flow" | "begin">): number {
  const {
    x,
    ys: [rtt],
  } = run.flowSeries(flow, "rtt_s");
  let row = lastAtOrBefore(x, begin);
  // The last step in which a round trip was measured; a pause in it tells nothing.
  for (const least = row - 1000; row >= 0 && row > least && Number.isNaN(rtt[row]);) row--;
  return Math.max(CAUSE_S, CAUSE_RTTS * (rtt[row] || 0));
}

/** From the last handover or path change before it all began, or the first loss, to the end of it. */
function fromTheCause(all: Happening[], { begin, end }: Finding, before: number): Happening[] {
  const near = all.filter((one) => one.end >= begin - before && one.begin <= end + 1e-9);
  const early = near.filter((one) => one.begin <= begin + AT_ONCE_S);
  const roots = early.filter((one) => one.kind === "handover" || one.kind === "path");
  const root = roots.at(-1);
  if (root) {
    const first = Math.min(...roots.filter((one) => one.begin > root.begin - AT_ONCE_S).map((one) => one.begin));
    return near.filter((one) => one.begin >= first - 1e-9);
  }
  const loss = early.filter((one) => one.kind === "drop")[0];
  return near.filter((one) => one.begin >= (loss?.begin ?? begin - before) - 1e-9);
}

interface Lost {
  data: number;
  acks: number;
  /** Words for cause and place, with the number of data packets. */
  places: [string, number][];
}

function lossesIn(run: Run, finding: Finding, happenings: Happenings, events: Happening[]): Lost {
  const { time_s: times, cause, link, node, is_ack: ack } = run.tables.drops;
  const from = Math.min(finding.begin, events[0]?.begin ?? finding.begin) - 1e-9;
  const places = new Map<string, number>();
  let [data, acks] = [0, 0];
  for (const row of happenings.dropRows(finding.flow)) {
    if (times[row] < from || times[row] > finding.end + 1e-9) continue;
    if (ack[row]) {
      acks++;
      continue;
    }
    data++;
    const place = `${lost(cause[row] ?? "")} at ${(link[row] ?? node[row] ?? "").replace("->", " → ")}`;
    places.set(place, (places.get(place) ?? 0) + 1);
  }
  return { data, acks, places: [...places].sort((a, b) => b[1] - a[1]) };
}

function whatOf({ kind, begin, end, silence }: Finding): string {
  const length = (from: number, to: number): string => `${fixed(to - from, to - from < 10 ? 2 : 1)} s`;
  if (kind === "nothing") return "nothing ever arrived";
  if (kind === "ended") return "the connection ended";
  if (kind === "stall" && silence) return `stalled ${length(...(silence as [number, number]))}`;
  if (kind === "repair") return end > begin ? `repaired losses for ${length(begin, end)}` : "lost packets";
  if (kind === "share") return `less than half of a fair share for ${length(begin, end)}`;
  if (kind === "slow") return `slowed down for ${length(begin, end)}`;
  return `packets late for ${length(begin, end)}`;
}

function whyOf(run: Run, events: Happening[], finding: Finding, { data, acks }: Lost, others: string[]): string {
  const { begin } = finding;
  const parts: string[] = [];
  if (finding.ended !== null) {
    const words = wordsOf(run.warnings, finding.flow);
    parts.push(words === null ? "" : shortly(words));
  }
  // A handover in the middle of a long silence did not begin it.
  const rooted = (kind: string): boolean => events.some((one) => one.kind === kind && one.begin <= begin + AT_ONCE_S);
  if (rooted("handover")) parts.push("handover");
  if (events.some((one) => one.text.startsWith("there was no route"))) parts.push("no route");
  else if (parts.length === 0 && rooted("path")) parts.push("path change");
  if (data > 0) parts.push(`${count(data, "packet")} lost`);
  else if (acks > 0) parts.push(`${count(acks, "ACK")} lost`);
  const timeouts = events.filter((one) => one.kind === "timeout").length;
  if (timeouts > 0) parts.push(timeouts > 1 ? `${timeouts} timeouts` : "timeout");
  if (parts.length === 0 && others.length > 0)
    parts.push(`${others.length > 1 ? `${others.length} flows` : others[0]} began`);
  return parts.filter((part) => part !== "").join(", ");
}

const GAPS = "too many gaps in stream buffer"; // words of quinn and noq
const TIMED_OUT = "TimedOut";

/** Why a connection ended, in a few words; empty where the stack's words do not name a reason. */
function shortly(words: string): string {
  if (words.includes(GAPS)) return GAPS;
  if (words.includes(TIMED_OUT)) return "idle timeout";
  return /reason: "([^"]+)"/.exec(words)?.[1] ?? "";
}

/** Who ended a connection, in which words, and what they mean, in sentences. */
function endingText(run: Run, { flow }: Finding, ending: Ending): string {
  const words = wordsOf(run.warnings, flow);
  const who = ending.byReceiver ? "The receiver's stack" : "The sender's stack";
  const told = `${who} ended the connection at ${moment(ending.at)}`;
  if (words === null) return `${told}. The run's warnings do not have its words.`;
  return [`${told}: ${words}.`, meaning(run, flow, words, ending)].filter((part) => part !== "").join(" ");
}

/** What a stack's words mean, where that is known. */
function meaning(run: Run, flow: string, words: string, ending: Ending): string {
  if (words.includes(GAPS))
    return (
      "The receiver of quinn and noq keeps at most 1024 separate pieces of a stream. " +
      `${holesText(run, flow, ending)} A smaller stream_window avoids it: "The 1024 holes" in ` +
      "docs/models/quic.md has a table."
    );
  if (words.includes(TIMED_OUT)) {
    const timeout = idleTimeoutOf(run, flow);
    return `Nothing came from the other end for the idle timeout${timeout ? `, ${timeout}` : ""} (idle_timeout).`;
  }
  return "";
}

/** Where the holes in a stream came from, as far as the tables tell. */
function holesText(run: Run, flow: string, { at }: Ending): string {
  const { drops, flow_events: events } = run.tables;
  const rows = run.happenings.dropRows(flow).filter((row) => drops.time_s[row] <= at && !drops.is_ack[row]);
  if (rows.length === 0) return "Holes remained where packets were missing.";
  const queued = rows.filter((row) => drops.cause[row] === "queue").length;
  if (2 * queued < rows.length) return "Holes remained where packets were lost.";
  const cuts = events.event.filter(
    (event, row) => event === "loss" && events.flow[row] === flow && events.time_s[row] <= at,
  ).length;
  return hasSlowStart(run, flow) && cuts <= 1
    ? "Slow start overshot the queue, so holes remained."
    : "A full queue dropped packets, so holes remained.";
}

/** Flows that began shortly before, well after this one, where no handover or path change explains it. */
function othersThatBegan(run: Run, { flow, begin }: Finding, events: Happening[]): string[] {
  if (events.some((one) => one.kind === "handover" || one.kind === "path")) return [];
  const { start_s: start } = run.tables.flows;
  const own = start[run.flows.indexOf(flow)];
  const before = causeS(run, { flow, begin });
  return run.flows.filter(
    (_, row) => start[row] > own + AT_ONCE_S && start[row] <= begin && start[row] >= begin - before,
  );
}

function priceOf(run: Run, finding: Finding): string {
  if (finding.kind === "nothing") return "all of it";
  if (finding.fileBytes !== null) return `${size(finding.bytes)} never came`;
  if (finding.kind === "share") return `${size(finding.bytes)} less than its share`;
  if (finding.kind === "delay") return `${fixed(finding.delayS * 1e3, 0)} ms more, ${size(finding.bytes)} late`;
  return `${size(finding.bytes)}, ${backText(run, finding)}`;
}

/** "An equal share of the 4 flows from a to b was 1.2 Mbit/s": what the cost of a share is measured by. */
function shareText(run: Run, finding: Finding): string {
  const others = companions(run, finding);
  const row = run.flows.indexOf(finding.flow);
  const { from, to } = run.tables.flows;
  const first = others
    .slice(0, 3)
    .map(([name, bps]) => `${name} ${rate(bps)}`)
    .join(", ");
  const more = others.length > 3 ? ` and ${others.length - 3} more` : "";
  return `${count(others.length, "other flow")} from ${from[row]} to ${to[row]} sent at the same time: ${first}${more}`;
}

function backText(run: Run, { begin, until, back, flow }: Finding): string {
  if (back !== null) return `back after ${fixed(back - begin, back - begin < 10 ? 1 : 0)} s`;
  const row = run.flows.indexOf(flow);
  const stop = Math.min(run.tables.flows.stop_s[row] ?? run.duration, run.duration);
  if (until >= stop - 1e-6) return "not back by its end";
  return `not back within ${fixed(until - begin, 0)} s`;
}

function causeOf(run: Run, finding: Finding, events: Happening[], { data, acks, places }: Lost): string {
  if (finding.kind === "share") return sentence(shareText(run, finding));
  const ending = finding.ended === null ? null : endingOf(run.happenings, finding.flow);
  const first = ending ? [endingText(run, finding, ending)] : [];
  const parts = events
    .filter((one) => (one.kind === "handover" || one.kind === "path") && one.begin <= finding.begin + AT_ONCE_S)
    .slice(-3)
    .map((one) => `${one.text} at ${moment(one.begin)}`);
  const others = othersThatBegan(run, finding, events);
  if (others.length > 0)
    parts.push(
      `${others.length === 1 ? "flow" : "flows"} ` +
        `${others.slice(0, 3).join(", ")}${others.length > 3 ? ` and ${others.length - 3} more` : ""} began ` +
        `shortly before`,
    );
  for (const [place, packets] of places.slice(0, 2)) parts.push(counted(packets, "packet", place));
  if (places.length > 2) parts.push(`${data - places[0][1] - places[1][1]} more packets were lost elsewhere`);
  if (acks > 0) parts.push(`${count(acks, "ACK")} on the return path ${acks === 1 ? "was" : "were"} lost`);
  if (parts.length === 0 && ending === null)
    return (
      "Nothing that this run recorded explains it. The sender may have waited for its window, or others took " +
      "the capacity."
    );
  return [...first, ...(parts.length > 0 ? [sentence(parts.join("; "))] : [])].join(" ");
}

function effectOf(run: Run, finding: Finding, events: Happening[]): string {
  const { kind, begin, until, silence, flow, bytes, rateBps } = finding;
  if (kind === "nothing") return "No packet of this flow reached its destination.";
  const parts: string[] = [];
  const ending = finding.ended === null ? null : endingOf(run.happenings, flow);
  if (ending) {
    parts.push(`nothing reached the application after ${moment(lastDelivery(run, flow, ending.at))}`);
    if (ending.heard !== null) parts.push(`the sender heard of the end at ${moment(ending.heard)}`);
  }
  if (silence) parts.push(`nothing arrived from ${moment(silence[0])} to ${moment(silence[1])}`);
  const repairs = events.filter((one) => one.kind === "recovery").length;
  const timeouts = events.filter((one) => one.kind === "timeout").length;
  if (repairs > 0) parts.push(`duplicate ACKs told the sender of a loss ${times(repairs)}`);
  if (timeouts > 0) parts.push(`the retransmission timer ran out ${times(timeouts)}`);
  const window = windowChange(run, flow, begin, until);
  if (window) parts.push(window);
  if (kind === "delay")
    parts.push(`packets took ${fixed(finding.delayS * 1e3, 0)} ms longer than usual (the median of the run)`);
  if (kind === "share")
    parts.unshift(
      `its window was full, and it got ${rate((rateBps * (until - begin) - 8 * bytes) / (until - begin))} where ` +
        `an equal share was ${rate(rateBps)}`,
    );
  if (kind === "slow" && parts.length === 0) parts.push("less than half as much arrived as before");
  return parts.length > 0 ? sentence(parts.join("; ")) : "The sender repaired it without waiting.";
}

/** The end of the last step in which a flow's application received something, but no later than a time, s. */
function lastDelivery(run: Run, flow: string, latest: number): number {
  const {
    x,
    ys: [goodput],
  } = run.flowSeries(flow, "goodput_bps");
  for (let row = x.length - 1; row >= 0; row--) if (goodput[row] > 0) return Math.min(x[row], latest);
  return latest;
}

function times(n: number): string {
  return n === 1 ? "once" : n === 2 ? "twice" : `${n} times`;
}

function windowChange(run: Run, flow: string, begin: number, until: number): string {
  const {
    x,
    ys: [cwnd],
  } = run.flowSeries(flow, "cwnd");
  let [before, least] = [NaN, Infinity];
  for (let i = 0; i < x.length && x[i] <= until; i++) {
    if (Number.isNaN(cwnd[i])) continue;
    if (x[i] <= begin) before = cwnd[i];
    else least = Math.min(least, cwnd[i]);
  }
  return least < before ? `cwnd fell from ${number(before, 3)} to ${number(least, 3)} segments` : "";
}

function costOf(run: Run, finding: Finding): string {
  const { kind, bytes, rateBps, beforeS, until, begin, delayS } = finding;
  if (kind === "nothing") return "Everything that was sent was lost.";
  if (finding.fileBytes !== null)
    return `${size(bytes)} of a file of ${size(finding.fileBytes)}: what had not arrived when the connection ended.`;
  if (kind === "share")
    return `${size(bytes)} less in ${fixed(until - begin, 1)} s than an equal share, ${rate(rateBps)}.`;
  if (kind === "delay") return `${size(bytes)} behind: ${fixed(delayS * 1e3, 0)} ms at ${rate(rateBps)}.`;
  const late =
    Number.isFinite(delayS) && Math.abs(delayS) >= 0.001
      ? `; packets took ${fixed(Math.abs(delayS) * 1e3, 0)} ms ${delayS > 0 ? "longer" : "less"} than before`
      : "";
  // Before its start a flow has no rate: what goes wrong in its first step is measured by the rate after it.
  const start = run.tables.flows.start_s[run.flows.indexOf(finding.flow)] ?? 0;
  const since = begin - start < run.stepS ? "after it" : `of the ${number(beforeS, 2)} s before`;
  return (
    `${size(bytes)} less in ${fixed(until - begin, 1)} s than at its rate ${since}, ${rate(rateBps)}; ` +
    `${backText(run, finding)}${late}.`
  );
}

/** Why the first timeout came, as far as the tables tell. */
function timerOf(run: Run, finding: Finding, happenings: Happenings, events: Happening[]): string {
  const timeout = events.find((one) => one.kind === "timeout");
  if (!timeout) return "";
  const { time_s: times, is_ack: ack } = run.tables.drops;
  const recovery = events.filter((one) => one.kind === "recovery" && one.begin < timeout.begin).at(-1);
  const since =
    recovery && timeout.begin <= recovery.end + 1e-9 ? recovery.begin : Math.min(events[0].begin, finding.begin);
  let [data, acks] = [0, 0];
  for (const row of happenings.dropRows(finding.flow)) {
    if (times[row] < since - 1e-9 || times[row] > timeout.begin) continue;
    if (ack[row]) acks++;
    else data++;
  }
  const why = "A timeout and not a fast retransmit: ";
  if (recovery && timeout.begin <= recovery.end + 1e-9) {
    return data > 0
      ? `${why}a fast retransmit began at ${moment(recovery.begin)}, but ${count(data, "more packet")} ` +
          `${data === 1 ? "was" : "were"} lost during the repair, and the timer ran out before its end.`
      : `${why}a fast retransmit began at ${moment(recovery.begin)}, but the repair took longer than the timer.`;
  }
  const window = windowAt(run, finding.flow, finding.begin);
  if (data === 0 && acks === 0)
    return (
      `${why}no packet was lost; the ACKs came later than the timer expected, because the delay grew or the ` +
      `path was gone.`
    );
  if (data === 0) return `${why}the data arrived, but ${count(acks, "ACK")} ${acks === 1 ? "was" : "were"} lost.`;
  if (window <= DUPLICATES + data) {
    return (
      `${why}of a window of ${number(window, 3)} segments ${data} ${data === 1 ? "was" : "were"} lost, so ` +
      `fewer than ${DUPLICATES} duplicate ACKs could come back.`
    );
  }
  if (recovery)
    return (
      `${why}a fast retransmit at ${moment(recovery.begin)} repaired a loss, but of ${data} lost packets ` +
      `others were left, and too few duplicate ACKs came back for another one.`
    );
  return (
    `${why}of ${number(window, 3)} segments in flight ${data} were lost, and too few duplicate ACKs came ` +
    `back before the timer ran out.`
  );
}

function windowAt(run: Run, flow: string, time: number): number {
  const {
    x,
    ys: [inFlight],
  } = run.flowSeries(flow, "in_flight");
  let value = NaN;
  for (let i = 0; i < x.length && x[i] <= time; i++) if (!Number.isNaN(inFlight[i])) value = inFlight[i];
  return value;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
