// Functions of the page's sources, called as they stand: for numbers that it only draws.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { ROOT } from "./browser.mjs";
import { near, reason } from "./stage.mjs";

let opened;

/** A module of `web/src` with what it exports. */
async function source(name) {
  opened ??= open();
  return (await opened).ssrLoadModule(`/src/${name}`);
}

async function open() {
  const require = createRequire(join(ROOT, "web", "package.json"));
  const { createServer } = await import(pathToFileURL(require.resolve("vite")).href);
  const server = { middlewareMode: true, hmr: false, ws: false, watch: null };
  return createServer({ root: join(ROOT, "web"), appType: "custom", logLevel: "error", server });
}

describe("sources", { skip: reason, timeout: 60_000 }, () => {
  after(async () => {
    if (opened) await (await opened).close();
  });

  test("draws no footprint beyond the horizon of the ground", async () => {
    const { footprintAngle } = await source("data/geo.ts");
    const radius = 1 + 780 / 6371;
    near(footprintAngle(radius, 0), Math.acos(1 / radius), 1e-12, "the horizon");
    assert.equal(footprintAngle(radius, -5), footprintAngle(radius, 0));
    assert.ok(footprintAngle(radius, 8.2) < footprintAngle(radius, 0));
  });

  test("takes the lower of two middle values for the median, as the tables of a run do", async () => {
    const { median, rankOf } = await source("data/quantile.ts");
    assert.equal(median(Float64Array.of(4, 1, 3, 2)), 2);
    assert.equal(median(Float64Array.of(5, 4, 1, 3, 2)), 3);
    assert.ok(Number.isNaN(median(new Float64Array(0))));
    for (let count = 1; count < 40; count++) {
      const values = Float64Array.from({ length: count }, (_, i) => (i * 7919) % 13);
      const sorted = values.slice().sort();
      assert.equal(median(values), sorted[rankOf(0.5, count)], `${count} values`);
    }
  });

  test("sees from the air below the level, and never through the Earth", async () => {
    const { EarthModel } = await source("data/geo.ts");
    const earth = EarthModel.named("ns-2");
    const at = (longitude, altitudeKm) => ({ latitude: 0, longitude, altitudeKm });
    // From 10 km the horizon is at −3.21°, and a satellite at 780 km passes it 27.0° + 3.2° away.
    const satellites = [29, 30, 30.5, 31].map((longitude) => at(longitude, 780));
    const heights = satellites.map((satellite) => earth.elevationDeg(at(0, 10), satellite));
    assert.ok(heights[0] < 0 && heights[3] > -5, `${heights}`);
    assert.deepEqual(satellites.map((satellite) => earth.hides(at(0, 10), satellite)), [false, false, true, true]);
    const seen = (mask) => satellites.map((satellite) => earth.sees(at(0, 10), satellite, mask));
    assert.deepEqual([seen(-5), seen(-2.5), seen(0)], [
      [true, true, false, false],
      [true, false, false, false],
      [false, false, false, false],
    ]);
    assert.deepEqual([26.9, 27.1].map((longitude) => earth.hides(at(0, 0), at(longitude, 780))), [false, true]);
  });
});
