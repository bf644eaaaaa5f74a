import type { Tables } from "../generated/tables";
import { groupBy, lastAtOrBefore } from "./columns";
import { EARTH_RADIUS_KM, toVector } from "./geo";

/** Planes that the engine found in published elements, or was given: names of satellites in the order of flight. */
export interface FoundShell {
  name: string;
  planes: string[][];
}

/** Where every satellite is at any time: recorded positions with great circles between them. */
export class Sky {
  readonly names: string[] = [];
  readonly index = new Map<string, number>();
  /** Recorded moments, ascending. */
  readonly times: number[] = [];
  /** Positions in Earth radii: moment by moment, satellite by satellite, x y z. */
  private readonly recorded: Float32Array;

  constructor(
    table: Tables["positions"],
    private readonly found: readonly FoundShell[] = [],
  ) {
    const { time_s: time, node, latitude_deg: latitude, longitude_deg: longitude, altitude_km: altitude } = table;
    for (let row = 0; row < time.length; row++) {
      if (time[row] !== this.times.at(-1)) this.times.push(time[row]);
      const name = node[row] ?? "";
      if (this.times.length === 1 && !this.index.has(name)) {
        this.index.set(name, this.names.length);
        this.names.push(name);
      }
    }
    this.recorded = new Float32Array(this.times.length * this.names.length * 3);
    let moment = 0;
    for (let row = 0; row < time.length; row++) {
      if (time[row] !== this.times[moment]) moment++;
      const satellite = this.index.get(node[row] ?? "");
      if (satellite === undefined) continue;
      const place = { latitude: latitude[row], longitude: longitude[row], altitudeKm: altitude[row] };
      this.recorded.set(toVector(place), (moment * this.names.length + satellite) * 3);
    }
  }

  get size(): number {
    return this.names.length;
  }

  /**
   * Writes the positions at `time` into `out`, x y z of each satellite; 3 × size values. Behind the last recorded
   * moment they go on along the great circle of the last step.
   */
  at(time: number, out: Float32Array): void {
    const { times, recorded } = this;
    const values = this.names.length * 3;
    if (times.length === 0) return;
    const before = Math.max(0, lastAtOrBefore(times, time));
    const after = Math.min(times.length - 1, before + 1);
    if (after === before && before > 0) {
      this.beyond(time, out);
      return;
    }
    const span = times[after] - times[before];
    const share = span > 0 ? Math.min(1, Math.max(0, (time - times[before]) / span)) : 0;
    const a = before * values;
    const b = after * values;
    for (let i = 0; i < values; i += 3) {
      const ax = recorded[a + i],
        ay = recorded[a + i + 1],
        az = recorded[a + i + 2];
      const x = ax + (recorded[b + i] - ax) * share;
      const y = ay + (recorded[b + i + 1] - ay) * share;
      const z = az + (recorded[b + i + 2] - az) * share;
      // The chord between two moments runs below the orbit; put the point back to its height, which changes, too.
      const [bx, by, bz] = [recorded[b + i], recorded[b + i + 1], recorded[b + i + 2]];
      const height = Math.sqrt(ax * ax + ay * ay + az * az);
      const wanted = height + (Math.sqrt(bx * bx + by * by + bz * bz) - height) * share;
      const stretch = wanted / (Math.sqrt(x * x + y * y + z * z) || 1);
      out[i] = x * stretch;
      out[i + 1] = y * stretch;
      out[i + 2] = z * stretch;
    }
  }

  private beyond(time: number, out: Float32Array): void {
    const { times, recorded } = this;
    const values = this.names.length * 3;
    const [a, b] = [(times.length - 2) * values, (times.length - 1) * values];
    const span = times[times.length - 1] - times[times.length - 2];
    const share = 1 + (time - times[times.length - 1]) / span;
    for (let i = 0; i < values; i += 3) {
      const [ax, ay, az] = [recorded[a + i], recorded[a + i + 1], recorded[a + i + 2]];
      const [bx, by, bz] = [recorded[b + i], recorded[b + i + 1], recorded[b + i + 2]];
      const [from, to] = [Math.hypot(ax, ay, az), Math.hypot(bx, by, bz)];
      const angle = Math.acos(Math.max(-1, Math.min(1, (ax * bx + ay * by + az * bz) / (from * to))));
      // A satellite that stands still over the ground has no great circle.
      const whole = Math.sin(angle);
      const [u, v] = whole > 1e-6 ? [Math.sin((1 - share) * angle) / whole, Math.sin(share * angle) / whole] : [0, 1];
      const wanted = from + (to - from) * share;
      out[i] = wanted * ((u * ax) / from + (v * bx) / to);
      out[i + 1] = wanted * ((u * ay) / from + (v * by) / to);
      out[i + 2] = wanted * ((u * az) / from + (v * bz) / to);
    }
  }

  /** Satellites of each orbital plane in their order: those found, others from names `<shell>-<plane>-<slot>`. */
  planes(): number[][] {
    const indices = (names: string[]): number[] => names.flatMap((name) => this.index.get(name) ?? []);
    const found = this.found.flatMap((shell) => shell.planes.map(indices));
    const taken = new Set(found.flat());
    const named = (name: string, i: number): string | null =>
      taken.has(i) ? null : (/^(.*-\d+)-\d+$/.exec(name)?.[1] ?? null);
    const planes = groupBy(this.names.map(named));
    planes.delete("");
    return [...found, ...planes.values()].filter((members) => members.length > 2);
  }

  /** The found plane of a satellite, as `skyhop planes` numbers it; null for one whose name tells its plane. */
  planeOf(name: string): { shell: string; plane: number; planes: number; satellites: number } | null {
    for (const { name: shell, planes } of this.found) {
      const plane = planes.findIndex((members) => members.includes(name));
      if (plane >= 0) return { shell, plane, planes: planes.length, satellites: planes[plane].length };
    }
    return null;
  }

  /**
   * The shell of each satellite, numbered in order of appearance: its name without plane and slot
   * (starlink-2-70-21), the shell that was found for it, or its name without the number that published elements give it
   * (starlink-1007).
   */
  shells(): number[] {
    const found = new Map<string, string>();
    for (const shell of this.found) shell.planes.flat().forEach((name) => found.set(name, shell.name));
    const seen = new Map<string, number>();
    return this.names.map((name) => {
      const shell = found.get(name) ?? name.replace(/-\d+(-\d+)?$/, "");
      if (!seen.has(shell)) seen.set(shell, seen.size);
      return seen.get(shell) ?? 0;
    });
  }

  meanAltitudeKm(): number {
    let sum = 0;
    for (let i = 0; i < this.size * 3; i += 3)
      sum += Math.hypot(this.recorded[i], this.recorded[i + 1], this.recorded[i + 2]);
    return this.size ? (sum / this.size - 1) * EARTH_RADIUS_KM : 0;
  }
}
