// Figures of the page, measured in Chromium with software rendering: `node tests/page/bench.mjs [FOLDER] [RUN]`.
// Without a folder it makes the Iridium study's runs and the tests' scenes. Nothing here passes or fails.

import { cpus } from "node:os";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { launch, makeRuns, missing, remove, ROOT, serve } from "./browser.mjs";

const reason = missing();
if (reason) {
  console.log(`skipped: ${reason}`);
  process.exit(0);
}

const given = process.argv[2];
const folder = given ?? (await makeRuns());
if (!given) await makeRuns("make_scenes.py", folder);
const server = await serve(folder);
const browser = await launch();
const page = await (await browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage();
const wanted = process.argv[3] ?? (given ? "" : "iridium-vegas-reno-bic/runs/tcp=vegas,start=1 s,seed=1");
const address = `${server.url}?cost#/watch?run=${encodeURIComponent(wanted)}`;

await page.goto(address);
await page.waitForSelector("body[data-ready]");
await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
const ready = await page.evaluate(() => performance.getEntriesByName("skyhop-ready")[0]?.startTime);

// Frames while it plays, once everything is there.
await page.waitForFunction(() => /draw calls/.test(document.querySelector(".cost").textContent));
await page.waitForTimeout(1500);
await page.getByRole("button", { name: "Play", exact: true }).click();
const frames = await page.evaluate(
  () =>
    new Promise((done) => {
      const costs = [];
      const begin = performance.now();
      let count = 0;
      const step = () => {
        count++;
        const cost = Number.parseFloat(document.querySelector(".cost").textContent);
        if (Number.isFinite(cost)) costs.push(cost);
        if (performance.now() - begin < 4000) requestAnimationFrame(step);
        else done({ rate: count / ((performance.now() - begin) / 1000), costs: costs.sort((a, b) => a - b) });
      };
      requestAnimationFrame(step);
    }),
);
const calls = await page.evaluate(() => /(\d+) draw calls/.exec(document.querySelector(".cost").textContent)?.[1]);

// Tasks while a run of a million steps is opened, from the click to the last finding and three seconds more.
let [longest, ofProcessor] = [null, 0];
if (existsSync(join(folder, "million"))) {
  const other = await (await browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage();
  await other.goto(`${server.url}#/watch?run=slow-start`);
  await other.waitForSelector("body[data-ready]");
  await other.waitForTimeout(2000);
  await browser.startTracing(other, { categories: ["disabled-by-default-devtools.timeline"] });
  await other.evaluate(() => {
    window.tasks = [0];
    new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => window.tasks.push(duration))).observe(
      { type: "longtask" },
    );
    location.hash = "#/watch?run=million";
  });
  await other.waitForFunction(
    () =>
      document.querySelector(".run-name").textContent === "million" &&
      !/Looking/.test(document.querySelector(".findings > h3").textContent) &&
      document.querySelectorAll(".charts .chart .u-over").length >= 4,
  );
  await other.waitForTimeout(3000);
  longest = await other.evaluate(() => Math.max(...window.tasks));
  // The same from a trace: what a task takes of the processor, whatever else the machine does.
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const pages = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = traceEvents.filter(
    ({ name, pid, tid, tdur }) => name === "RunTask" && tdur !== undefined && pages.has(`${pid} ${tid}`),
  );
  ofProcessor = Math.max(0, ...tasks.map(({ tdur }) => tdur / 1000));
}

const built = join(ROOT, "python", "skyhop", "page");
const bytes = readdirSync(built).reduce((sum, name) => sum + statSync(join(built, name)).size, 0);
console.log(`processor                 ${cpus()[0].model}, ${cpus().length} cores`);
console.log(`bundle                    ${(bytes / 1e6).toFixed(2)} MB`);
console.log(`first contentful paint    ${paint?.toFixed(0)} ms`);
console.log(`run on the globe          ${ready?.toFixed(0)} ms`);
console.log(`frames while playing      ${frames.rate.toFixed(1)} per second, 1280 x 720, software rendering`);
console.log(
  `script per frame          median ${frames.costs[frames.costs.length >> 1]} ms, 95th percentile ` +
    `${frames.costs[Math.floor(frames.costs.length * 0.95)]} ms`,
);
console.log(`draw calls                ${calls}`);
if (longest !== null)
  console.log(
    `longest task              ${longest.toFixed(0)} ms while a run of a million steps is opened; of the ` +
      `processor's time ${ofProcessor.toFixed(0)} ms`,
  );
await browser.close();
await server.stop();
if (!given) remove(folder);
