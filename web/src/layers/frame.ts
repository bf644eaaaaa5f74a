import type { Isl, FlowPath } from "../data/network";
import type { Run, Station } from "../data/run";
import type { Selection } from "../state/app";

/** What is switched on. */
export interface Shown {
  isls: boolean;
  planes: boolean;
  coverage: boolean;
  names: boolean;
  night: boolean;
  /** Links in the colour of their utilisation. */
  load: boolean;
  /** Nodes in the colour of their queue. */
  queue: boolean;
}

/** A node with packets that wait on the links that leave it. */
export interface Queue {
  node: string;
  at: [number, number, number];
  packets: number;
  /** Of the longest queue in the run. */
  share: number;
}

/** A link that carries something: its ends and its utilisation, the larger of both directions. */
export interface Load {
  name: string;
  a: [number, number, number];
  b: [number, number, number];
  share: number;
}

/** Everything that a picture of one moment needs; positions are Earth-fixed, in Earth radii. */
export interface Frame {
  run: Run;
  time: number;
  /** Where the stations are at this moment. */
  stations: readonly Station[];
  /** x y z of each satellite of `run.sky`. */
  positions: Float32Array;
  isls: readonly Isl[];
  up: Uint8Array;
  /** Whether `up` differs from the frame before. */
  linksChanged: boolean;
  /** The satellites of each station; one for each antenna. */
  serving: Map<string, readonly string[]>;
  paths: FlowPath[];
  /** The path before the change of path at the finding that is open. */
  formerPath: FlowPath | null;
  /** Where packets were lost around this moment: a node, the number of them, and how long ago, from 0 to 1. */
  losses: { node: string; packets: number; age: number }[];
  loads: readonly Load[];
  queues: readonly Queue[];
  selection: Selection | null;
  shown: Shown;
  /** Recent handovers: how long ago, in seconds on the reader's clock. */
  handovers: { terminal: string; age: number }[];
  /** Seconds on the reader's clock while playing: drives what only decorates. */
  phase: number;
}

/** Each station with each of its satellites. */
export function contacts({ serving }: Frame): [string, string][] {
  return [...serving].flatMap(([station, satellites]) => satellites.map((one): [string, string] => [station, one]));
}

/** The stations and the nodes on the flows' paths. */
export function nodesOf(frame: Frame): string[] {
  return [
    ...new Set([...frame.stations.map((station) => station.name), ...frame.paths.flatMap((path) => path.nodes)]),
  ];
}

/** The position of a node, satellite or station; null for one that has no place. */
export function positionOf(frame: Frame, node: string): [number, number, number] | null {
  const satellite = frame.run.sky.index.get(node);
  if (satellite !== undefined) {
    const i = satellite * 3;
    return [frame.positions[i], frame.positions[i + 1], frame.positions[i + 2]];
  }
  return frame.stations.find((station) => station.name === node)?.position ?? null;
}

/**
 * Links with packets at a moment: ISLs, and those between stations and their satellites. `busy` are the ISLs that ever
 * carry one.
 */
export function loadsAt(frame: Frame, busy: readonly number[]): Load[] {
  const { run, time, isls, up } = frame;
  const found: Load[] = [];
  const add = (a: string, b: string, one: string, other: string): void => {
    const [p, q] = [positionOf(frame, a), positionOf(frame, b)];
    const shares = [one, other].map((link) => run.linkValue(link, "utilisation", time)).filter((share) => share > 0);
    if (p && q && shares.length > 0) found.push({ name: one, a: p, b: q, share: Math.min(1, Math.max(...shares)) });
  };
  for (const i of busy) if (up[i]) add(run.sky.names[isls[i].a], run.sky.names[isls[i].b], isls[i].name, isls[i].back);
  for (const [station, satellites] of frame.serving) {
    // Which of several uplinks leads to which satellite is not recorded.
    for (const satellite of satellites) {
      const downlink = `${satellite}->ground`;
      add(station, satellite, satellites.length === 1 ? `${station}->sky` : downlink, downlink);
    }
  }
  return found;
}

/** Nodes with a queue at a moment. */
export function queuesAt(frame: Frame): Queue[] {
  const { run, time } = frame;
  const found: Queue[] = [];
  for (const node of run.queues.links.keys()) {
    const packets = run.queueAt(node, time);
    const at = packets > 0 ? positionOf(frame, node) : null;
    if (at) found.push({ node, at, packets, share: packets / run.queues.most });
  }
  return found;
}

/** Pixels: larger than a satellite or a station, so that its colour is seen. */
export const QUEUE_SIZE = 7.5;

/** Pixels of the ring around a node that loses packets: it doubles from one packet to a hundred. */
export function lossSize(packets: number): number {
  return 11 + 5.5 * Math.log10(Math.max(1, packets));
}
