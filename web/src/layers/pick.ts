import type { Selection } from "../state/app";
import { contacts, positionOf, type Frame } from "./frame";
import type { Picture } from "./picture";

const DOT_REACH = 11; // pixels
const LINE_REACH = 6;
const MANY_LINKS = 3000; // above this, only links in use can be picked

type Point = [number, number];

/** What is under a point of the canvas: a station before a satellite before a link; null for nothing. */
export function pickAt(frame: Frame, picture: Picture, [x, y]: Point): Selection | null {
  for (const station of frame.stations) {
    const at = picture.project(...station.position);
    if (at && Math.hypot(at[0] - x, at[1] - y) < DOT_REACH) return { kind: "station", name: station.name };
  }
  const satellite = nearestSatellite(frame, picture, x, y);
  if (satellite !== null) return { kind: "satellite", name: frame.run.sky.names[satellite] };
  const link = nearestLink(frame, picture, x, y);
  return link === null ? null : { kind: "link", name: link };
}

function nearestSatellite(frame: Frame, picture: Picture, x: number, y: number): number | null {
  let best: number | null = null;
  let reach = DOT_REACH;
  const { positions } = frame;
  for (let i = 0; i < frame.run.sky.size; i++) {
    const at = picture.project(positions[i * 3], positions[i * 3 + 1], positions[i * 3 + 2]);
    if (!at) continue;
    const distance = Math.hypot(at[0] - x, at[1] - y);
    if (distance < reach) {
      reach = distance;
      best = i;
    }
  }
  return best;
}

function nearestLink(frame: Frame, picture: Picture, x: number, y: number): string | null {
  let best: string | null = null;
  let reach = LINE_REACH;
  const consider = (name: string, a: string, b: string): void => {
    const from = positionOf(frame, a);
    const to = positionOf(frame, b);
    const p = from && picture.project(...from);
    const q = to && picture.project(...to);
    if (!p || !q || Math.abs(p[0] - q[0]) > 500) return;
    const distance = distanceToLine(p, q, x, y);
    if (distance < reach) {
      reach = distance;
      best = name;
    }
  };
  for (const path of frame.paths) {
    for (let i = 0; i + 1 < path.nodes.length; i++)
      consider(linkName(frame, path.nodes[i], path.nodes[i + 1]), path.nodes[i], path.nodes[i + 1]);
  }
  for (const [station, satellite] of contacts(frame)) consider(`${station}->sky`, station, satellite);
  if (best === null && frame.shown.isls && frame.isls.length <= MANY_LINKS) {
    const { names } = frame.run.sky;
    frame.isls.forEach((isl, i) => frame.up[i] && consider(isl.name, names[isl.a], names[isl.b]));
  }
  return best;
}

/** The link that carries packets from one node of a path to the next. */
export function linkName(frame: Frame, from: string, to: string): string {
  const { stations } = frame;
  const { sky } = frame.run;
  const station = (name: string): boolean => stations.some((one) => one.name === name);
  if (station(from) && sky.index.has(to)) return `${from}->sky`;
  if (sky.index.has(from) && station(to)) return `${from}->ground`;
  const [a, b] = [sky.index.get(from), sky.index.get(to)];
  const i = frame.isls.findIndex(
    (isl, row) => frame.up[row] && ((isl.a === a && isl.b === b) || (isl.a === b && isl.b === a)),
  );
  if (i < 0) return `${from}->${to}`;
  return frame.isls[i].a === a ? frame.isls[i].name : frame.isls[i].back;
}

function distanceToLine(p: Point, q: Point, x: number, y: number): number {
  const dx = q[0] - p[0];
  const dy = q[1] - p[1];
  const along = Math.max(0, Math.min(1, ((x - p[0]) * dx + (y - p[1]) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(p[0] + dx * along - x, p[1] + dy * along - y);
}
