// What the page says and shows, compared with the runs' own tables, on small runs that each show one thing.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { python, remove, serve } from "./browser.mjs";
import { charts, compareOnly, drawn, ENDLESS, near, reason, settle, stage, table, visit } from "./stage.mjs";

describe("the workspace", { skip: reason, timeout: 1_200_000 }, () => {
  let browser, server;

  before(async () => ({ browser, server } = await stage()));

  test("shows the same part of the run in all charts, chosen by dragging, wheel, keys and the map", async () => {
    const { page, errors, close } = await visit("#/watch?run=outage&t=1&finding=");
    await drawn(page);
    const over = page.locator(".chart .u-over").first();
    const box = await over.boundingBox();
    const at = (time) => box.x + (time / 40) * box.width;
    await page.keyboard.down("Shift");
    await page.mouse.move(at(19), box.y + 30);
    await page.mouse.down();
    await page.mouse.move(at(30), box.y + 30, { steps: 4 });
    await page.mouse.move(at(38), box.y + 30, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await settle(page);
    for (const chart of (await charts(page)).filter((one) => one)) {
      near(chart.x[0], 19, 0.2, "begin");
      near(chart.x[1], 38, 0.2, "end");
    }
    // What is drawn there is what the table has there.
    const { time_s: times, flow, cwnd } = await table("outage", "flow_series");
    const largest = Math.max(
      ...cwnd.filter((_, row) => flow[row] === "slow-0" && times[row] >= 19 && times[row] <= 38),
    );
    const shown = await page.evaluate(() => {
      const { data, labels } = window.skyhopCharts()[0];
      const rows = data[0]
        .map((time, i) => [time, data[1 + labels.indexOf("slow-0")][i]])
        .filter(([time, value]) => time >= 19 && time <= 38 && value !== null && value !== undefined);
      return Math.max(...rows.map(([, value]) => value));
    });
    assert.equal(shown, largest, "cwnd of slow-0");
    // The wheel zooms, and the time under the pointer stays there.
    const before = (await charts(page))[0].x;
    const share = 0.25;
    const held = before[0] + share * (before[1] - before[0]);
    await page.mouse.move(box.x + share * box.width, box.y + 30);
    await page.mouse.wheel(0, -300);
    await settle(page);
    const after = (await charts(page))[0].x;
    assert.ok(after[1] - after[0] < 0.7 * (before[1] - before[0]), "it has zoomed in");
    near(after[0] + share * (after[1] - after[0]), held, 0.05, "time under the pointer");
    // Dragging moves the window by what the pointer moved.
    await page.mouse.down();
    await page.mouse.move(box.x + (share + 0.3) * box.width, box.y + 30, { steps: 5 });
    await page.mouse.up();
    await settle(page);
    near((await charts(page))[0].x[0], after[0] - 0.3 * (after[1] - after[0]), 0.15, "begin after dragging");
    // The window stands in the address, and on the map of the run.
    await page.waitForFunction(
      () => Math.abs(Number(/zoom=([\d.]+)/.exec(location.hash)?.[1]) - window.skyhopCharts()[0].x[0]) < 0.01,
    );
    const mark = await page.locator(".window").boundingBox();
    const track = await page.locator(".window-track").boundingBox();
    near(((mark.x - track.x) / track.width) * 40, (await charts(page))[0].x[0], 0.4, "begin on the map");
    const kept = await charts(page);
    await page.reload();
    await drawn(page);
    await settle(page);
    near((await charts(page))[3].x[0], kept[3].x[0], 0.01, "begin after reloading");
    // By keyboard: the time, the zoom, the whole run.
    await page.locator(".plot").first().focus();
    await page.keyboard.press("End");
    await page.keyboard.press("+");
    await page.keyboard.press("0");
    await settle(page);
    assert.deepEqual(
      (await charts(page)).filter((one) => one).map((one) => one.x),
      (await charts(page)).filter((one) => one).map(() => [0, 40]),
    );
    await page.keyboard.press("Enter");
    await page.locator(".chart.large").waitFor();
    assert.deepEqual(errors, []);
    await close();
  });

  test("serves seven tabs over one stream of events", async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
    const pages = [];
    for (let i = 0; i < 7; i++) pages.push((await visit(`#/try?run=slow-start`, { context })).page);
    // The seventh gets its answers, too.
    await pages[6].locator(".right, .wrong").waitFor();
    const [job] = [
      await (await pages[6].request.post(`${server.url}api/jobs`, { data: { text: ENDLESS, seed: 77 } })).json(),
    ];
    for (const page of pages) await page.locator(`.job.running[data-job="${job.id}"]`).waitFor();
    // Another tab takes over when the one that listens is closed.
    await pages[0].close();
    await pages[6].request.post(`${server.url}api/jobs/${job.id}/cancel`, { data: {} });
    for (const page of pages.slice(1)) await page.locator(`.job.cancelled[data-job="${job.id}"]`).waitFor();
    await context.close();
  });

  test("shows the map where the browser has no WebGL", async () => {
    const init = () => {
      const original = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return /webgl/.test(kind) ? null : original.call(this, kind, ...rest);
      };
    };
    const { page, close } = await visit("#/watch?run=handover", { init });
    await page.locator(".stage canvas").waitFor();
    assert.ok(
      await page.getByRole("button", { name: "Globe", exact: true }).isDisabled(),
      "the switch is for the globe, which is not there",
    );
    // Not an empty canvas: the ocean's and the land's colours are there.
    await settle(page);
    const colours = await page.evaluate(() => {
      const canvas = document.querySelector(".stage canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set();
      for (let i = 0; i < data.length; i += 400) seen.add(data.slice(i, i + 3).join());
      return seen.size;
    });
    assert.ok(colours > 20, `${colours} colours`);
    await close();
  });

  test("keeps the logo's style to the logo", async () => {
    const { page, close } = await visit("#/watch?run=outage");
    await page.locator(".chain li").first().waitFor({ state: "attached" });
    const logo = await page.locator(".logo").evaluateAll((all) => all.map((one) => one.closest(".brand") !== null));
    assert.deepEqual(logo, [true]);
    await page.locator(".story summary").click();
    const dots = await page
      .locator(".chain li")
      .evaluateAll((all) => all.map((one) => Number.parseFloat(getComputedStyle(one, "::before").width)));
    assert.ok(dots.length > 2 && dots.every((width) => width < 12), `marks of ${dots} pixels`);
    await close();
  });

  test("shows what the address says: pasted links, Back, missing runs", async () => {
    const { page, close } = await visit("#/watch?run=outage");
    const name = () => page.locator(".run-name").textContent();
    await drawn(page);
    // A link pasted into the open tab.
    await page.evaluate(
      () =>
        (location.hash = "#/watch?run=handover&t=21.5&zoom=10.000-30.000&select=satellite:leo-0-0&view=map&finding="),
    );
    await page.waitForFunction(() => document.querySelector(".run-name").textContent === "handover");
    await page.locator(".card h3", { hasText: "leo-0-0" }).waitFor();
    await page.waitForFunction(() =>
      window
        .skyhopCharts()
        .some((chart) => chart && Math.abs(chart.x[0] - 10) < 1e-6 && Math.abs(chart.x[1] - 30) < 1e-6),
    );
    assert.equal(Number.parseFloat(await page.locator(".timebar .now").textContent()), 21.5);
    await page.goBack();
    await page.waitForFunction(() => document.querySelector(".run-name").textContent === "outage");
    // A link to a run that is not here says so, and shows no other.
    await page.evaluate(() => (location.hash = "#/watch?run=gone"));
    await page.locator(".notice", { hasText: "gone" }).waitFor();
    assert.equal(await name(), "No run open");
    await page.goBack();
    await page.waitForFunction(() => document.querySelector(".run-name").textContent === "outage");
    assert.equal(await page.locator(".notice:visible").count(), 0);
    // Flows, an open finding and Compare's choices come back after reloading.
    // An opened finding shows its flow, so another one is hidden.
    const [opens] = (await page.locator(".finding").nth(1).textContent()).split(" · ");
    const hidden = opens === "slow-0" ? "slow-1" : "slow-0";
    await page.getByRole("button", { name: hidden, exact: true }).click();
    const finding = (hash) => new URLSearchParams(hash.split("?")[1]).get("finding");
    const first = finding(await page.evaluate(() => location.hash));
    await page.locator(".finding").nth(1).click();
    await page.waitForFunction(() => document.querySelectorAll(".finding")[1]?.getAttribute("aria-current") === "true");
    const told = await page.locator(".story h3").textContent();
    // The address follows a moment later.
    await page.waitForFunction((first) => {
      const asked = new URLSearchParams(location.hash.split("?")[1]);
      return asked.get("finding") && asked.get("finding") !== first && asked.has("flow");
    }, first);
    await page.reload();
    await drawn(page);
    await page.waitForFunction((told) => document.querySelector(".story h3")?.textContent === told, told);
    // The story is told at once, the charts and their names with the next frame.
    await settle(page);
    assert.equal(
      await page.getByRole("button", { name: hidden, exact: true }).count(),
      0,
      "of many flows the legend names those in the charts",
    );
    await page.getByRole("button", { name: "Compare" }).click();
    await compareOnly(page, ["outage", "slow-start"]);
    await page.getByLabel("Measure").selectOption({ label: "Timeouts" });
    await page.waitForFunction(() => location.hash.includes("measure=") && location.hash.includes("compare="));
    await page.reload();
    await page.waitForFunction(() => document.querySelector(".figure svg")?.textContent.includes("Timeouts"));
    assert.deepEqual(
      await page.locator("fieldset input:checked").evaluateAll((all) => all.map((one) => one.value).sort()),
      ["outage", "slow-start"],
    );
    await close();
  });

  test("says that the server is gone, and what became of its runs when it is back", async () => {
    const place = mkdtempSync(join(tmpdir(), "skyhop-empty-"));
    let own = await serve(place);
    const port = Number(new URL(own.url).port);
    try {
      const { page, close } = await visit("#/try", { url: own.url });
      await page.locator(".right").waitFor();
      await page.request.post(`${own.url}api/jobs`, { data: { text: ENDLESS } });
      await page.locator(".job.running").waitFor();
      await own.kill();
      await page.locator(".notice.lost").waitFor();
      await page.locator(".job .state", { hasText: "no connection to the server" }).waitFor();
      // The editor does not blame the text.
      await page.locator(".cm-content").click();
      await page.keyboard.press("ControlOrMeta+End");
      await page.keyboard.insertText("\n# more\n");
      await page.locator(".verdict-box", { hasText: "The server gives no answer" }).waitFor();
      assert.equal(await page.locator(".cm-lintRange-error, .cm-lint-marker-error").count(), 0);
      own = await serve(place, port);
      await page.locator(".job.failed", { hasText: "The server was started again" }).waitFor();
      await page.locator(".notice.lost").waitFor({ state: "hidden" });
      await page.locator(".right").waitFor();
      // A run from the command line appears by itself.
      await page.locator(".runs summary").click();
      const made = spawnSync(
        python(),
        [
          "-c",
          `import skyhop; skyhop.run(skyhop.Scenario.from_toml('duration = "1 s"\\n[[links]]\\nbetween = ["a", ` +
            `"b"]\\nrate = "1 Mbit/s"\\ndelay = "1 ms"')).write(${JSON.stringify(join(place, "from-outside"))})`,
        ],
        { encoding: "utf8" },
      );
      assert.equal(made.status, 0, made.stderr);
      await page.locator(".run-list .run", { hasText: "from-outside" }).waitFor();
      await close();
    } finally {
      await own.stop();
      remove(place);
    }
  });

  test("finds any of a thousand flows and puts it into the charts", async () => {
    const { page, errors, close } = await visit("#/watch?run=many&finding=");
    await drawn(page);
    const flows = await table("many", "flows");
    await page.locator(".all-flows").click();
    await page.locator(".flow-told", { hasText: "1000 of 1000" }).waitFor();
    assert.ok((await page.locator(".flow-row").count()) < 60, "only the rows in sight are in the page");
    // In the order of a column, the first row has the table's largest value.
    await page.getByRole("button", { name: "Completion, s" }).click();
    const slowest = flows.flow[flows.completion_s.indexOf(Math.max(...flows.completion_s.filter(Number.isFinite)))];
    await page.locator(".flow-space .flow-row").first().filter({ hasText: slowest }).waitFor();
    await page.getByLabel("Find a flow").fill("f-777");
    await page.locator(".flow-told", { hasText: /^1 of 1000/ }).waitFor();
    const row = page.locator(".flow-space .flow-row");
    const at = flows.flow.indexOf("f-777");
    const text = (await row.innerText()).split(/\n+/).map((cell) => cell.trim());
    assert.ok(text.includes(String(flows.timeouts[at])) && text.includes(String(flows.dropped[at])), text.join(" | "));
    await page.getByLabel("Show f-777 in the charts").check();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "f-777", exact: true }).waitFor();
    await page.waitForFunction(() => window.skyhopCharts()[0].labels.includes("f-777"));
    // The band behind them is the one of all flows at that time.
    const { time_s: times, cwnd } = await table("many", "flow_series", ["time_s", "cwnd"]);
    const own = cwnd.filter((value, i) => times[i] === 4 && value !== "").sort((a, b) => a - b);
    const median = await page.evaluate(() => {
      const { data, labels } = window.skyhopCharts()[0];
      return data[1 + labels.indexOf("median of all flows")][data[0].indexOf(4)];
    });
    assert.equal(median, own[Math.ceil(own.length / 2) - 1]);
    assert.deepEqual(errors, []);
    await close();
  });

  test("draws links to the nearest satellites and names both ends", async () => {
    const { page, close } = await visit("#/watch?run=nearest&t=1&finding=");
    await page.waitForFunction(() => window.skyhopLocate?.("leo-0-0"));
    // Pairs from the table of changes: at the start each satellite has at most three, none farther than 6000 km.
    const { time_s: times, link, up } = await table("nearest", "link_changes");
    const first = link.filter((name, row) => times[row] === 0 && up[row] === "true" && name.includes("neighbour"));
    const partner = (name) => {
      const row = first.indexOf(name);
      return first[row % 2 === 0 ? row + 1 : row - 1].split("->")[0];
    };
    const path = (await table("nearest", "paths")).path[0].split(" > ").slice(1, -1);
    for (let i = 0; i + 1 < path.length; i++) {
      assert.ok(
        first.some((name) => name.startsWith(`${path[i]}->`) && partner(name) === path[i + 1]),
        `${path[i]} is linked to ${path[i + 1]}`,
      );
    }
    await page.getByLabel("Find a satellite, station or link").fill(path[1]);
    await page.locator(".card h3", { hasText: path[1] }).waitFor();
    const text = await page.locator(".card").innerText();
    for (const name of first.filter((one) => one.startsWith(`${path[1]}->`)))
      assert.match(text, new RegExp(`ISL to ${partner(name)}\\s+[\\d.\\s\u202f]+ km`));
    await close();
  });

  test("draws the planes that were found in elements, and tells the plane of a satellite", async () => {
    const { folder } = await stage();
    const [shell] = JSON.parse(readFileSync(join(folder, "elements", "manifest.json"), "utf8")).planes;
    assert.deepEqual(
      shell.planes.map((members) => members.length),
      [12, 12, 12, 12, 12, 12],
      "what the elements were made of",
    );
    // Nothing but satellites and planes, which no name tells, so that what changes with the layer is the planes.
    const init = () => {
      const layers = ["isls", "coverage", "names", "night", "load", "queue"];
      const off = Object.fromEntries(layers.map((key) => [key, false]));
      localStorage.setItem("skyhop.shown", JSON.stringify(off));
    };
    const { page, errors, close } = await visit("#/watch?run=elements&t=1&finding=", { init });
    await page.waitForFunction(([name]) => window.skyhopLocate?.(name) !== undefined, shell.planes[0]);
    await settle(page);
    const box = page.getByLabel("Orbital planes");
    const picture = () => page.screenshot({ animations: "disabled" });
    const withPlanes = await picture();
    await page.evaluate(() => document.querySelector("details.layers").setAttribute("open", ""));
    await box.uncheck();
    await page.evaluate(() => document.querySelector("details.layers").removeAttribute("open"));
    await settle(page);
    const without = await picture();
    // Whether a pixel changes within 14 pixels of the middle of each chord between neighbours that are seen: the arc
    // bends by less.
    const share = await page.evaluate(
      async ([before, after, planes]) => {
        const pixels = async (data) => {
          const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
          const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
          const canvas = new OffscreenCanvas(image.width, image.height);
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          return context.getImageData(0, 0, image.width, image.height);
        };
        const [a, b] = [await pixels(before), await pixels(after)];
        const differs = (x, y) => {
          const i = (y * a.width + x) * 4;
          return [0, 1, 2].some((part) => Math.abs(a.data[i + part] - b.data[i + part]) > 3);
        };
        let [seen, changed] = [0, 0];
        for (const members of planes) {
          members.forEach((name, n) => {
            const ends = [name, members[(n + 1) % members.length]].map(window.skyhopLocate);
            if (!ends[0] || !ends[1]) return;
            seen++;
            const [x, y] = [0, 1].map((axis) => Math.round((ends[0][axis] + ends[1][axis]) / 2));
            let found = false;
            for (let dx = -14; dx <= 14; dx++) for (let dy = -14; dy <= 14; dy++) found ||= differs(x + dx, y + dy);
            changed += found;
          });
        }
        return { seen, changed };
      },
      [withPlanes.toString("base64"), without.toString("base64"), shell.planes],
    );
    assert.ok(share.seen >= 10, `${share.seen} pairs of neighbours are seen`);
    assert.equal(share.changed, share.seen, "an arc from each satellite to the next of its plane");
    // Its name is a number of the catalogue; the card tells its plane.
    const chosen = shell.planes[4][7];
    await page.getByLabel("Find a satellite, station or link").fill(chosen);
    await page.locator(".card h3", { hasText: chosen }).waitFor();
    assert.match(
      await page.locator(".card").innerText(),
      new RegExp(`orbital plane\\s+4 of 0 to 5, shell ${shell.name}, 12 satellites`),
    );
    assert.deepEqual(errors, []);
    await close();
  });

  test("draws links in the colour of their utilisation, with a scale", async () => {
    const { page, close } = await visit("#/watch?run=handover&t=10&finding=&view=map");
    await page.waitForFunction(() => window.skyhopLoads?.().length > 2);
    assert.match(await page.locator(".load-scale", { hasText: "Utilisation" }).innerText(), /Utilisation\s+0\s+100 %/);
    const { time_s: times, link, utilisation } = await table("handover", "link_series");
    const at = (name) => utilisation.filter((_, row) => link[row] === name && times[row] <= 10 + 1e-9).at(-1) ?? 0;
    // An ISL has the larger one of both directions.
    const isls = (await page.evaluate(() => window.skyhopLoads())).filter(([name]) => /^leo-.*->leo-/.test(name));
    for (const [name, share] of isls)
      assert.equal(share, Math.max(at(name), at(name.split("->").reverse().join("->"))), name);
    const busy = new Set(
      link
        .filter((name, row) => /^leo-.*->leo-/.test(name) && Math.abs(times[row] - 10) < 1e-9 && utilisation[row] > 0)
        .map((name) => name.split("->").sort().join()),
    );
    assert.ok(busy.size > 1 && isls.length === busy.size, `${isls.length} of ${busy.size} ISLs`);
    // It is a layer like the others.
    await page.locator(".layers summary").click();
    await page.getByLabel("Utilisation of links").uncheck();
    await page.waitForFunction(() => window.skyhopLoads().length === 0);
    assert.equal(await page.locator(".load-scale", { hasText: "Utilisation" }).isVisible(), false);
    await close();
  });

  test("draws nodes in the colour of their queue, with a scale", async () => {
    const {
      time_s: times,
      link,
      queue_packets: queue,
    } = await table("handover", "link_series", ["time_s", "link", "queue_packets"]);
    const full = queue.indexOf(Math.max(...queue));
    const at = times[full] + 0.01;
    const { page, close } = await visit(`#/watch?run=handover&t=${at.toFixed(2)}&finding=`);
    // What waits at each node on all links that leave it, at the last step before.
    const right = {};
    link.forEach((name, row) => {
      if (Math.abs(times[row] - times[full]) < 1e-6 && queue[row] > 0)
        right[name.split("->")[0]] = (right[name.split("->")[0]] ?? 0) + queue[row];
    });
    await page.waitForFunction(() => window.skyhopQueues?.().length > 0);
    assert.deepEqual(Object.fromEntries(await page.evaluate(() => window.skyhopQueues())), right);
    assert.match(await page.locator(".queue-scale").textContent(), /^Queue0\d+ packets$/);
    await page.locator(".layers summary").click();
    await page.getByLabel("Queues of nodes").uncheck();
    await page.waitForFunction(() => window.skyhopQueues().length === 0);
    assert.equal(await page.locator(".queue-scale").isVisible(), false);
    // A network without satellites shows the same as a drawing.
    const series = await table("outage", "link_series", ["time_s", "link", "queue_packets"]);
    const busy = series.queue_packets.findIndex((packets, row) => packets > 20 && series.link[row] === "middle->right");
    await page.evaluate(
      (hash) => (location.hash = hash),
      `#/watch?run=outage&finding=&t=${(series.time_s[busy] + 0.01).toFixed(2)}`,
    );
    await page.waitForFunction(() =>
      /rgb/.test(document.querySelector(".wires [data-node=middle]")?.getAttribute("style") ?? ""),
    );
    assert.equal(await page.locator(".wires [data-node=right]").getAttribute("style"), "");
    await close();
  });

  test("draws a step chart between its steps", async () => {
    // Between two losses the count stands; the window holds none of them.
    const { time_s: times, flow, is_ack: ack } = await table("outage", "drops");
    const losses = times.filter((_, row) => flow[row] === "slow-0" && ack[row] === "false");
    const gap = losses.findIndex((time, i) => losses[i + 1] - time > 1);
    const [from, to] = [losses[gap] + 0.2, losses[gap] + 0.8];
    const { page, close } = await visit(
      `#/watch?run=outage&t=1&finding=&flow=slow-0&zoom=${from.toFixed(3)}-${to.toFixed(3)}`,
    );
    await drawn(page);
    await page.waitForFunction(() => window.skyhopCharts()[5]);
    const { data, x } = await page.evaluate(() => ({
      data: window.skyhopCharts()[5].data,
      x: window.skyhopCharts()[5].x,
    }));
    const inside = data[0]
      .map((time, i) => [time, data[1][i]])
      .filter(([time]) => time >= x[0] - 1e-9 && time <= x[1] + 1e-9);
    assert.deepEqual(
      inside.map(([, value]) => value),
      [gap + 1, gap + 1],
      "a line from edge to edge at the number of losses so far",
    );
    await close();
  });

  test("tells seven runs apart in Compare, and that they differ in length", async () => {
    const { page, close } = await visit(
      "#/compare?run=outage&compare=outage&compare=many&compare=nearest&compare=handover&compare=slow-start",
    );
    await page.waitForFunction(() => document.querySelectorAll(".figure pattern").length === 5);
    assert.match(await page.locator(".note", { hasText: "differ in length" }).textContent(), /from 6 s to 60 s/);
    await close();
  });

  test("fits a phone: list of runs inside, the card as a sheet, charts by keyboard", async () => {
    const { page, close } = await visit("#/watch?run=handover&select=station:london", {
      viewport: { width: 390, height: 844 },
    });
    await page.locator(".card").waitFor();
    const card = await page.locator(".card").boundingBox();
    const stage = await page.locator(".stage").boundingBox();
    assert.ok(card.y > stage.y + stage.height * 0.5, "the card leaves the globe free");
    await page.locator(".runs summary").click();
    const list = await page.locator(".run-list").boundingBox();
    assert.ok(list.x >= 0 && list.x + list.width <= 390, `the list reaches from ${list.x} to ${list.x + list.width}`);
    await close();
  });

  test("says nothing twice under the pointer, and draws no height that means nothing", async () => {
    const { page, close } = await visit("#/watch?run=handover&t=30&finding=&select=station:london&view=map");
    await page.locator(".card").waitFor();
    await page.waitForFunction(() => window.skyhopLocate("london"));
    const [x, y] = await page.evaluate(() => window.skyhopLocate("london"));
    await page.mouse.move(x, y);
    await settle(page);
    assert.equal(await page.locator(".tip:visible").count(), 0, "the card has it already");
    await page.keyboard.press("Escape");
    await drawn(page);
    const box = await page.locator(".chart .u-over").first().boundingBox();
    await page.mouse.move(box.x + 50, box.y + 20);
    await settle(page);
    assert.ok(await page.locator(".u-cursor-x").first().isVisible());
    assert.equal(await page.locator(".u-cursor-y:visible").count(), 0);
    await close();
  });

  test("stays quick with a million steps", async () => {
    const { page, close } = await visit("#/watch?run=million");
    await page.locator(".finding, .findings > h3").first().waitFor();
    await drawn(page);
    await page.waitForFunction(() => !/Looking/.test(document.querySelector(".findings > h3").textContent));
    await page.evaluate(() => {
      window.longest = 0;
      new PerformanceObserver((list) =>
        list.getEntries().forEach((entry) => (window.longest = Math.max(window.longest, entry.duration))),
      ).observe({ type: "longtask" });
    });
    const box = await page.locator(".chart .u-over").first().boundingBox();
    await page.mouse.move(box.x + 100, box.y + 30);
    for (let i = 0; i < 5; i++) {
      await page.mouse.wheel(0, -200);
      await settle(page);
    }
    assert.equal(page.workers().length, 1, "a worker reads the tables");
    const { x } = (await charts(page))[0];
    assert.ok(x[1] - x[0] < 300, "it has zoomed");
    // However many values there are, the highest and the lowest of the window are drawn.
    const { time_s: times, cwnd } = await table("million", "flow_series", ["time_s", "cwnd"]);
    const inside = cwnd.filter((value, row) => value !== "" && times[row] > x[0] + 0.01 && times[row] < x[1] - 0.01);
    const shown = await page.evaluate(() => {
      const {
        data,
        labels,
        x: [from, to],
      } = window.skyhopCharts()[0];
      const values = data[1 + labels.indexOf("a")].filter(
        (value, i) => value !== null && value !== undefined && data[0][i] > from + 0.01 && data[0][i] < to - 0.01,
      );
      return [Math.min(...values), Math.max(...values)];
    });
    const bounds = inside.reduce(
      ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
      [Infinity, -Infinity],
    );
    assert.deepEqual(shown, bounds);
    console.log(
      `# longest task while zooming over a million steps: ${(await page.evaluate(() => window.longest)).toFixed(0)} ms`,
    );
    await close();
  });

  test("reads the tables itself where the browser starts no worker", async () => {
    const read = async (init) => {
      const { page, errors, close } = await visit("#/watch?run=outage&t=1", { init });
      await drawn(page);
      await page.locator(".finding").first().waitFor();
      const shown = await page.evaluate(() => [
        window.skyhopCharts().map((chart) => chart && [chart.labels, chart.data]),
        document.querySelector(".findings").textContent,
      ]);
      const workers = page.workers().length;
      assert.deepEqual(errors, []);
      await close();
      return { workers, shown };
    };
    const [with_, without] = [
      await read(),
      await read("window.Worker = class { constructor() { throw new Error('no workers here'); } }"),
    ];
    assert.deepEqual([with_.workers, without.workers], [1, 0]);
    assert.deepEqual(without.shown, with_.shown);
  });

  test("offers scenarios to run in an empty folder", async () => {
    const place = mkdtempSync(join(tmpdir(), "skyhop-empty-"));
    const own = await serve(place);
    try {
      const { page, close } = await visit("", { url: own.url });
      await page.locator(".preset-card").nth(3).waitFor();
      assert.equal(await page.locator(".preset-card .preset-picture").count(), 4);
      await page
        .locator(".preset-card", { hasText: "Two TCPs" })
        .or(page.locator(".preset-card").nth(1))
        .first()
        .click();
      await page.waitForFunction(
        () =>
          document.body.dataset.panel === "watch" && document.querySelector(".run-name").textContent !== "No run open",
      );
      await page.locator(".headline span").first().waitFor();
      await close();
    } finally {
      await own.stop();
      remove(place);
    }
  });
});
