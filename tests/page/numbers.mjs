// Numbers that the page computes itself, against the engine's own: of a ship that moves and downloads through a proxy.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  compareOnly,
  drawn,
  near,
  reason,
  settle,
  stage,
  table,
  visit,
} from "./stage.mjs";

const json = async (name) =>
  JSON.parse(readFileSync(join((await stage()).folder, "away", name), "utf8"));

describe("numbers", { skip: reason, timeout: 600_000 }, () => {
  for (const time of [50, 99]) {
    test(`has the ship where the engine has it at ${time} s, and its satellite as high and far`, async () => {
      const { page, errors, close } = await visit(
        `#/watch?run=away&t=${time}&select=station:ship`,
      );
      await page.locator(".card h3", { hasText: "ship" }).waitFor();
      await settle(page);
      const text = (await page.locator(".card").innerText())
        .replace(/[\u202f\u2009]/g, "")
        .replace(/\s+/g, " ");
      const ship = (await json(`sky-${time}.json`)).stations.find(
        ({ name }) => name === "ship",
      );
      const [, latitude, longitude] = /at ([\d.]+)° N, ([\d.]+)° E/.exec(text);
      near(Number(latitude), ship.latitude_deg, 0.051, "latitude");
      near(Number(longitude), ship.longitude_deg, 0.051, "longitude");
      assert.ok(ship.longitude_deg > 9, "it has left");
      assert.match(text, new RegExp(`served by ${ship.satellite} `));
      near(
        Number(/elevation ([\d.]+)°/.exec(text)[1]),
        ship.elevation_deg,
        0.3,
        "elevation",
      );
      near(
        Number(/slant range ([\d.]+) km/.exec(text)[1]),
        ship.range_km,
        10,
        "slant range",
      );
      assert.match(text, / in view \d+ satellites? above 12°/, "its own mask");
      assert.deepEqual(errors, []);
      await close();
    });
  }

  test("shows no link as up that never was", async () => {
    const { link, kind, from, to } = await table("away", "links", [
      "link",
      "kind",
      "from",
      "to",
    ]);
    const { link: changed } = await table("away", "link_changes", ["link"]);
    const row = link.findIndex(
      (name, i) => kind[i] === "isl" && !changed.includes(name),
    );
    assert.ok(row >= 0, "links beyond 60 degrees of latitude are down");
    const { page, close } = await visit(
      `#/watch?run=away&t=20&select=satellite:${from[row]}`,
    );
    await page.locator(".card h3", { hasText: from[row] }).waitFor();
    await settle(page);
    const text = (await page.locator(".card").innerText()).replace(/\s+/g, " ");
    assert.match(text, new RegExp(`ISL to ${to[row]} down`));
    await close();
  });

  test("tells all satellites of a gateway with several antennas", async () => {
    const { page, close } = await visit(
      "#/watch?run=gateways&t=50&select=station:madrid",
    );
    await page.locator(".card h3", { hasText: "madrid" }).waitFor();
    await settle(page);
    const {
      time_s: times,
      terminal,
      from,
      to,
    } = await table("gateways", "handovers");
    const wanted = new Set();
    times.forEach((time, row) => {
      if (terminal[row] !== "madrid" || time > 50) return;
      wanted.delete(from[row]);
      if (to[row] !== "") wanted.add(to[row]);
    });
    assert.equal(wanted.size, 4, "one of five is lost at 40 s");
    const text = (await page.locator(".card").innerText()).replace(/\s+/g, " ");
    assert.deepEqual(
      new Set(/served by (.*?) elevation/.exec(text)[1].split(", ")),
      wanted,
    );
    for (const satellite of wanted)
      assert.match(text, new RegExp(`slant range of ${satellite} `));
    await close();
  });

  test("counts a split connection once and workloads, too", async () => {
    const { page, close } = await visit("#/watch?run=away");
    await page.locator(".headline span").first().waitFor();
    const { total } = await json("summary.json");
    const said = /([\d.]+) Mbit\/s/.exec(
      await page.locator(".headline").innerText(),
    );
    near(
      Number(said[1]) * 1e6,
      total.goodput_bps,
      0.006e6,
      "goodput in the headline",
    );
    const flows = await table("away", "flows");
    assert.deepEqual(flows.flow, ["split", "split.to-proxy"]);
    assert.ok(
      total.bytes_delivered > flows.bytes_delivered[0],
      "the workload has a part",
    );
    await close();
    const other = await visit("#/compare?measure=total+0");
    await compareOnly(other.page, ["away"]);
    await other.page.locator(".figure svg").waitFor();
    const [download] = await Promise.all([
      other.page.waitForEvent("download"),
      other.page.getByRole("button", { name: "CSV" }).click(),
    ]);
    const rows = readFileSync(await download.path(), "utf8")
      .trim()
      .split("\n");
    const all = rows.find((row) => row.startsWith('"all, first start'));
    near(
      Number(all.split(",").at(-1)),
      flows.goodput_bps[0] / 1e6,
      1e-9,
      "goodput of all flows",
    );
    assert.match(
      await other.page.locator(".figure").innerText(),
      /counts the last leg .*, not split\.to-proxy/,
    );
    await other.close();
  });

  test("takes no mean over delays of legs, which are those of their part of the path", async () => {
    const { page, close } = await visit("#/compare?measure=total+5");
    await compareOnly(page, ["away"]);
    const told = page.locator(".figure .note", {
      hasText: "Legs of split connections: split, split.to-proxy.",
    });
    await told.waitFor();
    assert.match(
      await told.innerText(),
      /not from end to end: no mean is taken over them/,
    );
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    const rows = readFileSync(await download.path(), "utf8")
      .trim()
      .split("\n");
    assert.deepEqual(
      rows.slice(1).map((row) => row.split(",")[0]),
      ["split", "split.to-proxy"],
    );
    for (const label of [
      "One-way delay over time",
      "One-way delay: distribution",
    ]) {
      await page.getByLabel("Measure").selectOption({ label });
      await page
        .locator(".figure .note", {
          hasText: "Legs of split connections: split",
        })
        .waitFor();
    }
    await page
      .getByLabel("Measure")
      .selectOption({
        label: "One-way delay of the flows, mean: distribution",
      });
    await page
      .locator(".figure .note", {
        hasText: "Left out are legs of split connections",
      })
      .waitFor();
    await close();
  });

  test("has no legs in the band of all flows", async () => {
    const {
      flow,
      time_s: times,
      rtt_s: all,
    } = await table("legs", "flow_series");
    const { page, close } = await visit("#/watch?run=legs");
    await page.waitForFunction(() =>
      window
        .skyhopCharts()
        .some(({ labels }) => labels.at(-1)?.startsWith("median")),
    );
    const label = "median of all flows but legs of split ones";
    const [at, shown] = [5, await page.evaluate(() => window.skyhopCharts())];
    const here = (names) =>
      all
        .filter(
          (_, row) => Math.abs(times[row] - at) < 1e-6 && names.test(flow[row]),
        )
        .sort((a, b) => a - b);
    const [whole, every] = [here(/^whole/), here(/./)];
    assert.equal(whole.length, 3);
    assert.notEqual(
      whole[1],
      every[Math.ceil(every.length / 2) - 1],
      "legs have other round trips",
    );
    const medians = shown
      .filter(({ labels }) => labels.includes(label))
      .map(({ data, labels }) => {
        const row = data[0].findIndex((time) => Math.abs(time - at) < 1e-6);
        return data[1 + labels.indexOf(label)][row];
      });
    assert.ok(
      medians.some((value) => Math.abs(value - whole[1] * 1e3) < 1e-6),
      `${medians} have no round trip of ${whole[1]} s`,
    );
    await close();
  });

  test("says of which runs a mean is where others failed", async () => {
    const { page, close } = await visit("#/compare");
    await page
      .getByLabel("Sweep", { exact: true })
      .selectOption("grid-with-failures");
    const cells = page.locator(".grid-of-sweep tbody td");
    await cells.nth(1).waitFor();
    const told = [
      "0.5000 ± 0.25 (4 of 6 runs)",
      "1.500 ± 0.25",
      "2.500 at all 6 seeds",
      "3.500",
    ];
    assert.deepEqual(await cells.allTextContents(), told);
    await close();
  });

  test("says that losses are missing where the table of losses is full", async () => {
    const { page, close } = await visit("#/watch?run=silences");
    await page.route("**/manifest.json", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({
        json: { ...(await answer.json()), drops_left_out: 1234567 },
      });
    });
    await page.reload();
    const told = page.getByRole("group", { name: "Warnings of the run" });
    await told
      .getByText("1,234,567 losses are in no chart and no finding")
      .waitFor();
    await close();
  });

  test("adds up all silences of a flow, and says by which rate the first is measured", async () => {
    const { page, close } = await visit("#/watch?run=silences");
    await page.locator(".finding").first().waitFor();
    await page.getByRole("button", { name: "Flows …" }).click();
    const row = page.locator(".flow-space .flow-row").first();
    await row.waitFor();
    const stalled = Number((await row.innerText()).split(/\n+/)[2]);
    const { time_s: times, received } = await table("silences", "flow_series");
    const silent =
      times.filter((time, i) => time > 5 && received[i] === 0).length / 10;
    near(stalled, silent, 0.31, "seconds without an arrival");
    assert.ok(silent > 7.5);
    await page.keyboard.press("Escape");
    await page.locator(".finding", { hasText: "f · 5.00 s" }).click();
    await page
      .locator(".cause-chain dd", { hasText: "than at its rate after it" })
      .waitFor();
    await close();
  });

  test("reads a long curve at the cursor, and not the extremes that are drawn", async () => {
    const { page, close } = await visit(
      "#/compare?compare=sawtooth&measure=time+0",
    );
    await page.locator(".figure path.curve").waitFor();
    const { time_s: times, cwnd } = await table("sawtooth", "flow_series", [
      "time_s",
      "cwnd",
    ]);
    await page.waitForLoadState("networkidle");
    const picture = page.locator(".figure svg");
    const { width, height } = await picture.boundingBox();
    for (let i = 0; i < 25; i++) {
      // Not by places in the window: what loads above the figure may still move it.
      await picture.hover({
        position: { x: (0.3 + 0.013 * i) * width, y: 0.6 * height },
        force: true,
      });
      await page.locator(".figure-read b").waitFor();
      const text = await page.locator(".figure-read").innerText();
      const [, at, value] = /^([\d.]+) s[\s\S]*: ([\d.]+)/.exec(text);
      const row = times.findLastIndex((time) => time <= Number(at) + 1e-3);
      // The time is told to five digits.
      const near = [row - 1, row, row + 1].map((one) => cwnd[one]);
      assert.ok(
        near.some(
          (wanted) => Math.abs(wanted - Number(value)) <= 0.0006 * wanted,
        ),
        `${value} at ${at} s: ${near.join(", ")}`,
      );
    }
    await close();
  });

  test("reads no delay where nothing has arrived for a while", async () => {
    for (const [time, wanted] of [
      [19.5, /^2\d\.\d$/],
      [21.8, /^–$/],
    ]) {
      const { page, close } = await visit(`#/watch?run=silences&t=${time}`);
      await page.locator(".charts .values span").first().waitFor();
      await settle(page);
      const chart = page.locator(".charts .chart", {
        has: page.locator("h3", { hasText: "One-way delay" }),
      });
      assert.match(await chart.locator(".values").innerText(), wanted);
      await close();
    }
  });

  test("draws the window of a flow of small messages in full segments", async () => {
    const { page, close } = await visit("#/watch?run=small-messages");
    await drawn(page);
    await page.getByRole("button", { name: "Packets", exact: true }).click();
    await page.waitForFunction(() =>
      window.skyhopCharts()[0]?.labels.includes("window (ACK + cwnd)"),
    );
    await settle(page);
    const { data, labels } = await page.evaluate(
      () => window.skyhopCharts()[0],
    );
    const [acked, window] = ["acknowledged", "window (ACK + cwnd)"].map(
      (label) => data[1 + labels.indexOf(label)],
    );
    const { cwnd } = await table("small-messages", "flow_series", ["cwnd"]);
    const last = acked.findLastIndex((value) => value !== null);
    near(
      window[last] - acked[last],
      cwnd.at(-1) * 1.448,
      1e-6,
      "window above what is acknowledged, kB",
    );
    await close();
  });

  test("labels the axis of a narrow window with its own numbers", async () => {
    const { page, close } = await visit(
      "#/compare?compare=away&measure=time+3&part=90.1_90.2",
    );
    await page.locator(".figure svg text", { hasText: "Time (s)" }).waitFor();
    const texts = (
      await page
        .locator(".figure svg text[text-anchor=middle]")
        .allTextContents()
    ).map(Number);
    const axis = texts.filter((value) => value >= 90.09 && value <= 90.21);
    assert.ok(
      axis.length > 4 && new Set(axis).size === axis.length,
      axis.join(", "),
    );
    for (let i = 2; i < axis.length; i++)
      near(
        axis[i] - axis[i - 1],
        axis[1] - axis[0],
        1e-9,
        "distance of labels",
      );
    await close();
  });

  test("draws steps longer than a second as what they are", async () => {
    const { page, close } = await visit("#/watch?run=away");
    await drawn(page);
    assert.match(
      await page.locator(".charts").innerText(),
      /Throughput\s*Mbit\/s, mean of 5 s/,
    );
    await page.getByRole("button", { name: "Flows …" }).click();
    const row = page.locator(".flow-space .flow-row", {
      hasText: "split.to-proxy",
    });
    await row.waitFor();
    const path = await row.locator("path").getAttribute("d");
    const heights = path
      .slice(1)
      .split("L")
      .map((point) => Number(point.split(" ")[1]));
    const {
      flow,
      time_s: times,
      goodput_bps: goodput,
    } = await table("away", "flow_series");
    const own = times
      .map((_, i) => i)
      .filter((i) => flow[i] === "split.to-proxy");
    const most = Math.max(...own.map((i) => goodput[i]));
    // 48 columns over 100 s and steps of 5 s: each column has the rate of its step, and none falls to the ground.
    heights.forEach((height, column) => {
      const step = own.find(
        (i) =>
          times[i] > (column * 100) / 48 + 1e-9 &&
          times[i] >= ((column + 0.5) * 100) / 48,
      );
      const near = own
        .filter((i) => Math.abs(times[i] - times[step]) < 5.1)
        .map((i) => 21 - (goodput[i] / most) * 20);
      assert.ok(
        height >= Math.min(...near) - 0.1 && height <= Math.max(...near) + 0.1,
        `${column}: ${height}`,
      );
    });
    await close();
  });
});
