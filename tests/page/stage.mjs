// What the tests share: the runs, the server that shows them, the browser, and ways to look at a page.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch, makeRuns, missing, remove, serve } from "./browser.mjs";

/** Why the tests cannot run here; false when they can. */
export const reason = missing() ?? false;
if (reason) console.log(`skipped: the page's tests: ${reason}`);

/** The study among the runs. */
export const STUDY = "iridium-vegas-reno-bic";

/** For one step of a test: far longer than a step takes on a busy machine. */
const TIMEOUT = 60_000;

/** A run that only ends when it is cancelled. */
export const ENDLESS = `# A run without end
duration = "50 d"
profile = "rfc"

[[links]]
between = ["left", "right"]
rate = "1 Gbit/s"
delay = "10 ms"

[[flows]]
name = "a"
from = "left"
to = "right"
tcp = "reno"
`;

let opened;

/** The stage, set when it is first asked for: `{ folder, server, browser }`. */
export function stage() {
  return (opened ??= set());
}

async function set() {
  // Runs of an earlier call, for whoever works on one test.
  const kept = process.env.PAGE_RUNS;
  if (kept) return { folder: kept, browser: await launch(), server: await serve(kept) };
  const folder = mkdtempSync(join(tmpdir(), "skyhop-page-"));
  const opening = launch();
  try {
    const runs = [makeRuns("make_scenes.py", folder), makeRuns("make_runs.py", folder)];
    const [browser] = await Promise.all([opening, ...runs]);
    return { folder, browser, server: await serve(folder) };
  } catch (error) {
    // An open browser keeps the process from ending.
    await opening.then((browser) => browser.close());
    throw error;
  }
}

/** Clears the stage, if it was set. */
export async function close() {
  if (!opened) return;
  const { folder, browser, server } = await opened;
  await browser.close();
  await server.stop();
  if (!process.env.PAGE_RUNS) remove(folder);
}

/**
 * A fresh visitor at an address of the page, or one more tab of a visitor's `context`. Errors on the page and requests
 * to other hosts are collected in `errors`.
 */
export async function visit(hash, { context, url, init, ...options } = {}) {
  const { browser, server } = await stage();
  const own = context ?? (await browser.newContext({ viewport: { width: 1280, height: 720 }, ...options }));
  if (init) await own.addInitScript(init);
  const page = await own.newPage();
  page.setDefaultTimeout(TIMEOUT);
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    if (!/^(http:\/\/127\.0\.0\.1:|file:|data:|blob:)/.test(request.url())) errors.push(`asked for ${request.url()}`);
  });
  await page.goto(`${url ?? server.url}${hash}`);
  await page.waitForSelector("body[data-ready]");
  return { page, errors, close: () => own.close() };
}

/** Three pictures of the page later, and once no chart waits to be drawn: they are drawn one after the other. */
export async function settle(page) {
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))),
  );
  await page.waitForFunction(() => !document.querySelector(".charts[aria-busy=true]"));
}

/** Waits until the charts are drawn. */
export function drawn(page) {
  return page.waitForFunction(() => document.querySelectorAll(".charts .chart .u-over").length >= 4);
}

/** The bounds of the charts' axes; null for a chart without lines. */
export function charts(page) {
  return page.evaluate(() => window.skyhopCharts().map((chart) => chart && { x: chart.x, y: chart.y }));
}

/** Columns of a run's table (all when none are named); numbers as numbers. */
export async function table(run, name, wanted) {
  const text = readFileSync(join((await stage()).folder, run, `${name}.csv`), "utf8");
  const end = text.indexOf("\n");
  const head = text.slice(0, end).split(",");
  const columns = head.map((title) => (!wanted || wanted.includes(title) ? [] : null));
  const most = columns.findLastIndex((column) => column) + 1;
  // Line by line: a table of a million rows would not fit as a list of lists.
  for (let at = end + 1; at < text.length;) {
    const next = text.indexOf("\n", at);
    const cells = text.slice(at, next < 0 ? text.length : next).split(",", most);
    columns.forEach((column, i) =>
      column?.push(cells[i] !== "" && Number.isFinite(Number(cells[i])) ? Number(cells[i]) : cells[i]),
    );
    at = next < 0 ? text.length : next + 1;
  }
  return Object.fromEntries(head.flatMap((title, i) => (columns[i] ? [[title, columns[i]]] : [])));
}

export function near(value, wanted, by, what) {
  assert.ok(Math.abs(value - wanted) <= by, `${what}: ${value} is not ${wanted} ± ${by}`);
}

/** Chooses in Compare these runs and no others. */
export async function compareOnly(page, ids) {
  await page.locator("fieldset input").first().waitFor();
  for (const { value, checked } of await page
    .locator("fieldset input")
    .evaluateAll((all) => all.map(({ value, checked }) => ({ value, checked })))) {
    if (checked !== ids.includes(value))
      await page.locator(`fieldset input[value=${JSON.stringify(value)}]`).setChecked(!checked);
  }
}

/** Tries up to five times what a busy machine can make fail. */
export async function again(attempt) {
  for (let left = 4; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}
