/** Geometry on a sphere. Positions are Earth-fixed, in Earth radii: x to 0° E on the equator, z to the north pole. */
export const EARTH_RADIUS_KM = 6371.0088; // mean radius R1: Moritz, Geodetic Reference System 1980
export const LIGHT_KM_PER_S = 299792.458;

const RADIANS = Math.PI / 180;

export type Vector = [number, number, number];

export interface Place {
  latitude: number;
  longitude: number;
  altitudeKm: number;
}

export function toVector(place: Place): Vector {
  const radius = 1 + place.altitudeKm / EARTH_RADIUS_KM;
  const latitude = place.latitude * RADIANS;
  const longitude = place.longitude * RADIANS;
  return [
    radius * Math.cos(latitude) * Math.cos(longitude),
    radius * Math.cos(latitude) * Math.sin(longitude),
    radius * Math.sin(latitude),
  ];
}

export function toPlace([x, y, z]: ArrayLike<number> & Iterable<number>): Place {
  const radius = Math.hypot(x, y, z);
  return {
    latitude: Math.asin(z / radius) / RADIANS,
    longitude: Math.atan2(y, x) / RADIANS,
    altitudeKm: (radius - 1) * EARTH_RADIUS_KM,
  };
}

export function delayMs(km: number): number {
  return (km / LIGHT_KM_PER_S) * 1e3;
}

/** The Earth that a scenario computes with; the picture shows a sphere, the numbers are those of this one. */
export class EarthModel {
  private constructor(
    private readonly equatorKm: number,
    private readonly flattening: number,
  ) {}

  /** By the scenario's name for it: "wgs-84" (NIMA TR8350.2, table 3.1) or "ns-2", its sphere. */
  static named(name: string | undefined): EarthModel {
    return name === "ns-2" ? new EarthModel(6378, 0) : new EarthModel(6378.137, 1 / 298.257223563);
  }

  rangeKm(a: Place, b: Place): number {
    const [ax, ay, az] = this.fixed(a);
    const [bx, by, bz] = this.fixed(b);
    return Math.hypot(ax - bx, ay - by, az - bz);
  }

  /** Angle of a place above the horizon at another, degrees. */
  elevationDeg(site: Place, target: Place): number {
    const from = this.fixed(site);
    const to = this.fixed(target);
    const [nx, ny, nz] = toVector({ ...site, altitudeKm: 0 });
    const [dx, dy, dz] = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
    return Math.asin((dx * nx + dy * ny + dz * nz) / Math.hypot(dx, dy, dz)) / RADIANS;
  }

  /** Whether the Earth hides a place from another one, as the engine has it: who flies sees below its level. */
  hides(site: Place, target: Place): boolean {
    // Where the ellipsoid is a sphere of radius 1.
    const scaled = (place: Place): Vector => {
      const [x, y, z] = this.fixed(place);
      return [x / this.equatorKm, y / this.equatorKm, z / this.equatorKm / (1 - this.flattening)];
    };
    const from = scaled(site);
    const to = scaled(target);
    const line = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
    const squared = dot(line, line);
    const along = squared > 0 ? Math.min(Math.max(-dot(from, line) / squared, 0), 1) : 0;
    const nearest = from.map((value, i) => value + line[i] * along);
    // A millimetre: a station on the ground sees what stands level.
    return Math.hypot(...nearest) < Math.min(Math.hypot(...from), 1) - 1e-10;
  }

  /** Whether a place stands above a station's mask and the Earth does not hide it, as the engine has it. */
  sees(site: Place, target: Place, maskDeg: number): boolean {
    return this.elevationDeg(site, target) > maskDeg && !(maskDeg < 0 && this.hides(site, target));
  }

  /** Earth-fixed coordinates of a geodetic place, km. */
  private fixed({ latitude, longitude, altitudeKm }: Place): Vector {
    const sine = Math.sin(latitude * RADIANS);
    const cosine = Math.cos(latitude * RADIANS);
    const squared = this.flattening * (2 - this.flattening);
    const normal = this.equatorKm / Math.sqrt(1 - squared * sine * sine);
    const outwards = (normal + altitudeKm) * cosine;
    return [
      outwards * Math.cos(longitude * RADIANS),
      outwards * Math.sin(longitude * RADIANS),
      (normal * (1 - squared) + altitudeKm) * sine,
    ];
  }
}

/**
 * Angle at the Earth's centre from below a satellite to the edge of its footprint on the ground, radians:
 * sin(nadir angle) = R cos(mask) / r, and the angles of the triangle sum to 180°. A mask below 0° is for users in the
 * air: a station on the ground sees nothing below its horizon.
 */
export function footprintAngle(radius: number, maskDeg: number): number {
  const mask = Math.max(maskDeg, 0) * RADIANS;
  return Math.PI / 2 - mask - Math.asin(Math.cos(mask) / Math.max(radius, 1));
}

/** Points of a circle on the ground around the point below `centre`, `steps` of them, into `out` as x, y, z. */
export function groundCircle(
  centre: ArrayLike<number>,
  angle: number,
  steps: number,
  visit: (x: number, y: number, z: number, step: number) => void,
): void {
  const length = Math.hypot(centre[0], centre[1], centre[2]);
  const u: Vector = [centre[0] / length, centre[1] / length, centre[2] / length];
  const e = Math.abs(u[2]) > 0.99 ? unit([0, -u[2], u[1]]) : unit([-u[1], u[0], 0]);
  const n = cross(u, e);
  const along = Math.cos(angle);
  const away = Math.sin(angle);
  for (let step = 0; step < steps; step++) {
    const turn = (step / steps) * 2 * Math.PI;
    const c = Math.cos(turn) * away;
    const s = Math.sin(turn) * away;
    visit(
      u[0] * along + e[0] * c + n[0] * s,
      u[1] * along + e[1] * c + n[1] * s,
      u[2] * along + e[2] * c + n[2] * s,
      step,
    );
  }
}

export function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

export function cross(a: ArrayLike<number>, b: ArrayLike<number>): Vector {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

export function unit(v: Vector): Vector {
  const length = Math.hypot(...v) || 1;
  return [v[0] / length, v[1] / length, v[2] / length];
}
