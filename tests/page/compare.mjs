// Compare: means over seeds, differences, distributions, and the cursor, each against the runs' own tables.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { compareOnly, near, reason, settle, table, visit } from "./stage.mjs";

const SEEDS = [1, 2, 3, 4];
const T_975_3 = 3.182; // Student's t, 97.5 %, 3 degrees of freedom
const RUNS = ["reno", "sack"].flatMap((tcp) => SEEDS.map((seed) => `compare=${tcp}-${seed}`)).join("&");

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const half = (values) =>
  T_975_3 *
  Math.sqrt(values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - 1) / values.length);

/** The rows of the CSV file behind the figure, as texts. */
async function csv(page) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "CSV" }).click(),
  ]);
  return readFileSync(await download.path(), "utf8")
    .trim()
    .split("\n")
    .map((line) => [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain));
}

describe("Compare", { skip: reason, timeout: 600_000 }, () => {
  test("gives means over seeds with 95 % intervals, and differences of pairs", async () => {
    const { page, errors, close } = await visit(`#/compare?${RUNS}&measure=total+0`);
    await page.waitForFunction(() => document.querySelectorAll(".figure pattern").length === 8);
    assert.equal(await page.locator(".whisker").count(), 0, "a single run has no interval");
    await page.getByLabel("Seeds of one scenario together").check();
    await page.waitForFunction(() => document.querySelectorAll(".figure pattern").length === 2);
    assert.equal(await page.locator(".whisker").count(), 2);
    const goodput = {};
    for (const tcp of ["reno", "sack"])
      goodput[tcp] = await Promise.all(
        SEEDS.map(async (seed) => (await table(`${tcp}-${seed}`, "flows", ["goodput_bps"])).goodput_bps[0] / 1e6),
      );
    const [head, row] = await csv(page);
    for (const tcp of ["reno", "sack"]) {
      const at = head.findIndex((title) => title.startsWith(tcp));
      near(Number(row[at]), mean(goodput[tcp]), 1e-6, `mean of ${tcp}`);
      near(Number(row[at + 1]), half(goodput[tcp]), 1e-3 * half(goodput[tcp]), `interval of ${tcp}`);
    }
    await page.getByLabel("Difference to").selectOption({ label: head.find((title) => title.startsWith("reno")) });
    await page.waitForFunction(() => document.querySelectorAll(".figure pattern").length === 1);
    assert.match(await page.locator(".figure svg").textContent(), /Goodput, less that of reno/);
    const pairs = SEEDS.map((_, i) => goodput.sack[i] - goodput.reno[i]);
    const [, less] = await csv(page);
    near(Number(less[1]), mean(pairs), 1e-6, "difference");
    near(Number(less[2]), half(pairs), 1e-3 * half(pairs), "interval of the difference");
    // Over time the same, as a band; all of it comes back with the address.
    await page.getByLabel("Measure").selectOption({ label: "Throughput over time" });
    await page.locator(".figure path.band").waitFor();
    await page.waitForFunction(
      () => /base=/.test(location.hash) && /seeds=together/.test(location.hash) && /measure=time/.test(location.hash),
    );
    const rows = await csv(page);
    const [at, value, by] = rows
      .find((one) => Number(one[2]) === 5)
      .slice(2)
      .map(Number);
    const series = {};
    for (const tcp of ["reno", "sack"]) {
      series[tcp] = await Promise.all(
        SEEDS.map(async (seed) => {
          const { time_s: times, throughput_bps: throughput } = await table(`${tcp}-${seed}`, "flow_series", [
            "time_s",
            "throughput_bps",
          ]);
          return throughput[times.indexOf(at)];
        }),
      );
    }
    const steps = SEEDS.map((_, i) => series.sack[i] - series.reno[i]);
    near(value, mean(steps), 1, "difference at 5 s");
    near(by, half(steps), 1e-3 * half(steps), "its interval");
    await page.reload();
    await page.locator(".figure path.band").waitFor();
    assert.deepEqual(errors, []);
    await close();
  });

  test("reads the curves at the cursor, zooms by wheel and keys, over the full width", async () => {
    const { page, errors, close } = await visit("#/compare?compare=outage&measure=time+0&of=slow-0", {
      viewport: { width: 1600, height: 900 },
    });
    await page.locator(".figure path.curve").waitFor();
    // The figure is drawn anew as runs arrive: between two of them there is none.
    const drawn = await page.waitForFunction(() => {
      const box = document.querySelector(".figure svg")?.getBoundingClientRect();
      return box?.width ? { x: box.x, y: box.y, width: box.width, height: box.height } : null;
    });
    const picture = await drawn.jsonValue();
    const panel = await page.locator(".compare").boundingBox();
    assert.ok(picture.width > 0.78 * panel.width, `the figure is ${picture.width} of ${panel.width} pixels wide`);
    const { time_s: times, flow, cwnd } = await table("outage", "flow_series", ["time_s", "flow", "cwnd"]);
    const own = times.map((time, row) => [time, cwnd[row]]).filter((_, row) => flow[row] === "slow-0");
    const read = async () => {
      const text = await page.locator(".figure-read").innerText();
      const [, at, value] = /^([\d.]+) s[\s\S]*: ([\d.]+)/.exec(text);
      const [, wanted] = own.filter(([time]) => time <= Number(at) + 1e-3).at(-1);
      near(Number(value), wanted, 0.0006 * wanted, `cwnd at ${at} s`);
      return Number(at);
    };
    await page.mouse.move(picture.x + 0.5 * picture.width, picture.y + 200);
    const held = await read();
    await page.mouse.wheel(0, -600);
    await page.waitForFunction(() => /part=/.test(location.hash));
    await settle(page);
    const [from, to] = new URLSearchParams((await page.evaluate(() => location.hash)).split("?")[1])
      .get("part")
      .split("_")
      .map(Number);
    assert.ok(to - from < 20 && from < held && to > held, `${from} to ${to} around ${held}`);
    await page.mouse.move(picture.x + 0.5 * picture.width + 1, picture.y + 200);
    near(await read(), held, 0.2, "the time under the pointer");
    await page.locator(".figure-view").focus();
    await page.keyboard.press("Home");
    near(await read(), from, 0.01, "the left edge");
    await page.keyboard.press("ArrowRight");
    near(await read(), from + 0.02 * (to - from), 0.02, "one step to the right");
    await page.keyboard.press("0");
    await page.waitForFunction(() => !/part=/.test(location.hash));
    assert.deepEqual(errors, []);
    await close();
  });

  test("draws distributions over steps and over flows", async () => {
    const { page, errors, close } = await visit("#/compare?compare=outage&measure=steps+1&of=fast");
    await page.locator(".figure path.curve").waitFor();
    assert.equal(await page.getByLabel("Difference to").isVisible(), false, "distributions have no difference");
    const { flow, rtt_s: rtt } = await table("outage", "flow_series", ["flow", "rtt_s"]);
    const own = rtt.filter((value, row) => flow[row] === "fast" && value !== "").sort((a, b) => a - b);
    const rows = (await csv(page)).slice(1).map(([, value, share]) => [Number(value), Number(share)]);
    assert.deepEqual(
      rows.map(([value]) => value),
      own,
    );
    near(rows[Math.floor(own.length / 2)][1], 0.5, 0.01, "share of the median");
    await page.getByLabel("Measure").selectOption({ label: "Completion time of the flows: distribution" });
    await compareOnly(page, ["many"]);
    await page.waitForFunction(
      () =>
        /Completion time/.test(document.querySelector(".figure svg")?.textContent) &&
        document.querySelector(".figure path.curve")?.getAttribute("d").length > 100,
    );
    const { completion_s: completion } = await table("many", "flows", ["completion_s"]);
    const done = completion.filter((value) => value !== "").sort((a, b) => a - b);
    assert.deepEqual(
      (await csv(page)).slice(1).map(([, value]) => Number(value)),
      done,
    );
    if (done.length < completion.length)
      await page.locator(".note", { hasText: `${completion.length - done.length} flows have no value` }).waitFor();
    assert.deepEqual(errors, []);
    await close();
  });

  test("gives no interval where all seeds gave the same value", async () => {
    const runs = [2, 3, 4].map((seed) => `reno-${seed}`);
    const timeouts = await Promise.all(runs.map(async (run) => (await table(run, "flows", ["timeouts"])).timeouts[0]));
    assert.ok(timeouts[0] > 0 && timeouts.every((one) => one === timeouts[0]), "the seeds are chosen for that");
    const { page, close } = await visit(`#/compare?${runs.map((run) => `compare=${run}`).join("&")}&measure=total+4`);
    await page.getByLabel("Seeds of one scenario together").check();
    await page.waitForFunction(() => document.querySelectorAll(".figure pattern").length === 1);
    assert.equal(await page.locator(".whisker").count(), 0);
    await page.locator(".figure .note", { hasText: "1 of the means over seeds have no interval" }).waitFor();
    await page.getByLabel("Measure").selectOption({ label: "Throughput over time" });
    await page.locator(".figure .note", { hasText: "where all have the same, there is no band" }).waitFor();
    await close();
  });

  test("shows a sweep as a grid with intervals, and opens the runs of a cell", async () => {
    const { page, errors, close } = await visit("#/compare");
    const region = page.getByRole("region", { name: "Sweep as a grid" });
    await region.getByLabel("Sweep", { exact: true }).selectOption("grid");
    await region.getByLabel("Value in the cells").selectOption("goodput");
    const { tcp, rate, goodput } = await table(".", "grid/runs", ["tcp", "rate", "goodput"]);
    const at = (...cell) => goodput.filter((_, row) => tcp[row] === cell[0] && rate[row] === cell[1]);
    const rows = await region
      .locator("tbody tr")
      .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
    const heads = await region.locator("thead th").evaluateAll((all) => all.map((cell) => cell.textContent));
    assert.deepEqual(heads.slice(1), ["5 Mbit/s", "2 Mbit/s"]);
    for (const [name, ...cells] of rows) {
      cells.forEach((text, i) => {
        const [value, by] = text.split(" ± ").map((part) => Number(part.replace(/[^\d.]/g, "")));
        const right = at(name, heads[i + 1]);
        assert.equal(right.length, 4);
        near(value, mean(right), 1e-3 * mean(right), `${name}, ${heads[i + 1]}`);
        near(by, half(right), 0.06 * half(right), `interval of ${name}, ${heads[i + 1]}`);
      });
    }
    // Columns and rows change places, and a click compares the cell's runs, which the list of runs leaves out.
    await region.getByLabel("Rows").selectOption("rate");
    await page.waitForFunction(
      () => document.querySelector(".grid-of-sweep thead th:last-child").textContent === "sack",
    );
    await region.locator("tbody tr").nth(1).locator("button").nth(1).click();
    await page.waitForFunction(
      () =>
        document.querySelectorAll(".figure pattern").length === 1 && document.querySelectorAll(".whisker").length === 1,
    );
    const [, row] = await csv(page);
    const right = at("sack", "2 Mbit/s").map((value) => value / 1000);
    near(Number(row[1]), mean(right), 1e-6, "mean of the cell");
    near(Number(row[2]), half(right), 1e-3 * half(right), "interval of the cell");
    // The address finds them again.
    await page.waitForFunction(() => /compare=kept/.test(location.hash));
    await page.reload();
    await page.waitForFunction(
      () =>
        document.querySelectorAll(".figure pattern").length === 1 && document.querySelectorAll(".whisker").length === 1,
    );
    assert.deepEqual(errors, []);
    await close();
  });
});
