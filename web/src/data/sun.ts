import type { Vector } from "./geo";

const J2000_MS = Date.UTC(2000, 0, 1, 12);
const DAY_MS = 86_400_000;
const RAD = Math.PI / 180;

/**
 * Earth-fixed direction of the Sun (unit vector), `seconds` after the instant `start` (milliseconds of Unix time).
 *
 * Position and sidereal time after the low-precision formulas of the Astronomical Almanac (0.01° between 1950 and
 * 2050). A scenario without a date starts at 12:00 UTC of an equinox, when the Sun stands above 0° N 0° E.
 */
export function sunDirection(start: number | null, seconds: number): Vector {
  if (start === null) {
    const longitude = (-seconds / 86400) * 2 * Math.PI;
    return [Math.cos(longitude), Math.sin(longitude), 0];
  }
  const days = (start + seconds * 1000 - J2000_MS) / DAY_MS;
  const anomaly = (357.528 + 0.9856003 * days) * RAD;
  const ecliptic = (280.46 + 0.9856474 * days + 1.915 * Math.sin(anomaly) + 0.02 * Math.sin(2 * anomaly)) * RAD;
  const obliquity = (23.439 - 0.0000004 * days) * RAD;
  const rightAscension = Math.atan2(Math.cos(obliquity) * Math.sin(ecliptic), Math.cos(ecliptic));
  const declination = Math.asin(Math.sin(obliquity) * Math.sin(ecliptic));
  const longitude = rightAscension - (280.46061837 + 360.98564736629 * days) * RAD;
  return [
    Math.cos(declination) * Math.cos(longitude),
    Math.cos(declination) * Math.sin(longitude),
    Math.sin(declination),
  ];
}
