import { toPlace, toVector, unit, type Place } from "./geo";

/** A moment and the place of a user then. */
export interface Waypoint {
  time: number;
  place: Place;
}

/**
 * A user on the move, as the engine moves it (docs/models/orbits.md): it stands at the first waypoint until its time,
 * goes from each to the next along the great circle of the vertical at a constant speed with linear height, and stays
 * at the last.
 */
export class Track {
  constructor(private readonly waypoints: readonly Waypoint[]) {}

  at(time: number): Place {
    const { waypoints } = this;
    const next = waypoints.findIndex((one) => one.time > time);
    if (next === 0) return waypoints[0].place;
    if (next < 0) return waypoints[waypoints.length - 1].place;
    const [a, b] = [waypoints[next - 1], waypoints[next]];
    const share = (time - a.time) / (b.time - a.time);
    const [p, q] = [a, b].map(({ place }) => unit(toVector(place)));
    const angle = Math.acos(Math.min(1, p[0] * q[0] + p[1] * q[1] + p[2] * q[2]));
    const altitudeKm = a.place.altitudeKm + share * (b.place.altitudeKm - a.place.altitudeKm);
    if (angle < 1e-12) return { ...a.place, altitudeKm };
    const [u, v] = [Math.sin((1 - share) * angle) / Math.sin(angle), Math.sin(share * angle) / Math.sin(angle)];
    const { latitude, longitude } = toPlace([u * p[0] + v * q[0], u * p[1] + v * q[1], u * p[2] + v * q[2]]);
    return { latitude, longitude, altitudeKm };
  }
}
