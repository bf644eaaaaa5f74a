// Accessibility: axe-core's rules on every panel, in both colours and on three sizes, and the charts by keyboard.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ROOT } from "./browser.mjs";
import { drawn, reason, settle, STUDY, visit } from "./stage.mjs";

const axe = reason
  ? ""
  : readFileSync(createRequire(join(ROOT, "web", "package.json")).resolve("axe-core/axe.min.js"), "utf8");
const RUN = encodeURIComponent(`${STUDY}/runs/tcp=reno,start=1 s,seed=1`);

/** Panels that another one hides, and rows of a table like those above them: they took most of the rules' time. */
const LEFT_OUT = [["main > [hidden]"], ["tbody tr:nth-child(n + 13)"]];

/** What axe-core calls serious or critical, as one line per rule; of a few rules when they are named. */
async function serious(page, rules) {
  const only = rules ? { runOnly: { type: "rule", values: rules } } : {};
  const found = await page.evaluate(
    async ({ only, exclude }) => {
      const options = { resultTypes: ["violations"], elementRef: false, ...only };
      return (await window.axe.run({ include: [["html"]], exclude }, options)).violations;
    },
    { only, exclude: LEFT_OUT },
  );
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map((node) => `${node.target.join(" ")} (${node.any[0]?.message ?? ""})`)
          .join("; ")}`,
    );
}

const PANELS = {
  Watch: [`#/watch?run=${RUN}&t=30&select=satellite:iridium-2-4`, ".card"],
  "the packets of a flow": ["#/watch?run=packets&charts=sequence", ".charts.sequence .u-over"],
  "a run without a sky, with warnings": ["#/watch?run=ended", ".finding"],
  Compare: ["#/compare?compare=outage&compare=slow-start&measure=time+0", ".figure path.curve"],
  Studies: ["#/studies", "td .verdict"],
  "Try it": ["#/try", ".right"],
};

describe("accessibility", { skip: reason, timeout: 600_000 }, () => {
  // A wide window has the elements of a desktop's, and the rules but one look at no colours.
  for (const [size, viewport] of Object.entries({
    phone: { width: 390, height: 844 },
    desktop: { width: 1280, height: 720 },
  })) {
    test(`leaves axe-core nothing serious on a ${size}`, async () => {
      const { page, close } = await visit("#/watch?run=outage", { viewport, colorScheme: "dark", init: axe });
      const all = [];
      // On a phone the sky's card is a sheet and the editor scrolls; the other panels are the same in one column.
      for (const [panel, [hash, wanted]] of Object.entries(PANELS).filter(
        ([name]) => size === "desktop" || ["Watch", "Try it"].includes(name),
      )) {
        await page.evaluate((hash) => (location.hash = hash), hash);
        await page.locator(wanted).first().waitFor();
        await settle(page);
        all.push(...(await serious(page)).map((one) => `${panel}, dark: ${one}`));
        if (size === "phone") continue;
        await page.emulateMedia({ colorScheme: "light" });
        await settle(page);
        all.push(...(await serious(page, ["color-contrast"])).map((one) => `${panel}, light: ${one}`));
        await page.emulateMedia({ colorScheme: "dark" });
      }
      await page.evaluate(() => (location.hash = "#/watch?run=outage"));
      await page.locator(".all-flows").click();
      await page.locator(".flow-told").waitFor();
      all.push(...(await serious(page)).map((one) => `table of flows: ${one}`));
      await page.keyboard.press("Escape");
      await page.locator(".all-tables").click();
      await page.locator("dialog.tables td").first().waitFor();
      all.push(...(await serious(page)).map((one) => `tables: ${one}`));
      assert.deepEqual(all, []);
      await close();
    });
  }

  test("reaches and uses every chart by keyboard", async () => {
    const { page, close } = await visit("#/watch?run=outage&t=10&finding=");
    await drawn(page);
    const charts = page.locator(".charts .plot");
    const count = await charts.evaluateAll(
      (all) => all.filter((one) => one.offsetParent && one.querySelector(".u-over")).length,
    );
    await page.locator(".all-flows").focus();
    const seen = new Set();
    for (let i = 0; i < 40 && seen.size < count; i++) {
      await page.keyboard.press("Tab");
      const label = await page.evaluate(() =>
        document.activeElement.matches(".charts .plot") ? document.activeElement.getAttribute("aria-label") : null,
      );
      if (!label) continue;
      seen.add(label.split(",")[0]);
      // The label reads the values at the time, and an arrow key moves the time in all of them.
      assert.match(label, / at \d+\.\d\d s: .*\d/);
      const before = await page.locator(".timebar .now").textContent();
      await page.keyboard.press("ArrowRight");
      await page.waitForFunction((before) => document.querySelector(".timebar .now").textContent !== before, before);
    }
    assert.equal(seen.size, count, [...seen].join(", "));
    await close();
  });

  test("reaches every control of every panel by keyboard", async () => {
    const { page, close } = await visit("#/watch?run=outage", { init: noteListeners });
    const panels = {
      ...Object.fromEntries(["the packets of a flow", "Compare", "Studies"].map((name) => [name, PANELS[name]])),
      "a part of a run with a sky": [
        "#/watch?run=handover&t=20&zoom=10.000-30.000&select=station:london",
        ".window:visible",
      ],
      "the form": ["#/try?run=handover", ".right"],
    };
    for (const [panel, [hash, wanted]] of Object.entries(panels)) {
      await page.evaluate((hash) => (location.hash = hash), hash);
      await page.locator(wanted).first().waitFor();
      await settle(page);
      if (panel === "the form") {
        await page.getByLabel("Start from").selectOption({ index: 1 });
        await page.locator("[data-station]").first().waitFor();
      }
      const controls = await page.evaluate(beginWalk);
      assert.ok(controls > 10, `${panel} has ${controls} controls`);
      // The editor, too, lets the Tab key go.
      await Promise.all(Array.from({ length: controls + 15 }, () => page.keyboard.down("Tab")));
      await page.keyboard.up("Tab");
      assert.deepEqual(await page.evaluate(endWalk), [], `not reached in ${panel}`);
    }
    await close();
  });

  test("does by keyboard what the pointer does", async () => {
    const { page, errors, close } = await visit("#/watch?run=handover&t=20&zoom=10.000-30.000&finding=");
    await drawn(page);
    const shown = () => page.evaluate(() => window.skyhopCharts()[0].x);
    // The part that the charts show: moved, and made longer.
    await page.locator(".window").focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => Math.abs(window.skyhopCharts()[0].x[0] - 12) < 1e-6);
    await page.keyboard.press("Shift+ArrowRight");
    await page.waitForFunction(() => Math.abs(window.skyhopCharts()[0].x[1] - 34) < 1e-6);
    assert.deepEqual(
      (await shown()).map((time) => Number(time.toFixed(6))),
      [12, 34],
    );
    // A link's card, as a click on the link opens it.
    await page.getByLabel("Find a satellite, station or link").fill("london->sky");
    await page.locator(".card h3", { hasText: "london → sky" }).waitFor();
    // Leaving the field changes nothing, and a picture of another time leaves the focus where it is.
    await page.getByRole("button", { name: "Close", exact: true }).focus();
    await page.locator(".plot").first().dispatchEvent("keydown", { key: "ArrowRight" });
    await settle(page);
    await page.keyboard.press("Enter");
    await page.locator(".card").waitFor({ state: "hidden" });
    // The globe turns; a layer, the table of flows and a finding open and close.
    const place = () => page.evaluate(() => window.skyhopLocate("london"));
    const before = await place();
    await page.locator(".stage").focus();
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction((x) => Math.abs((window.skyhopLocate("london")?.[0] ?? 1e9) - x) > 2, before[0]);
    await page.locator(".layers summary").press("Enter");
    await page.getByLabel("Queues of nodes").press("Space");
    await page.waitForFunction(() => document.querySelector(".queue-scale").hidden);
    await page.locator(".all-flows").press("Enter");
    await page.locator("dialog.flows[open]").first().waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".finding").first().press("Enter");
    await page.locator(".finding[aria-current=true]").first().waitFor();
    // A station is placed and moved.
    await page.evaluate(() => (location.hash = "#/try"));
    await page.getByLabel("Start from").selectOption({ index: 1 });
    await page.locator("[data-station]").first().waitFor();
    const count = await page.locator("[data-station]").count();
    await page.getByRole("button", { name: "Add a station" }).press("Enter");
    await page.waitForFunction((count) => document.querySelectorAll("[data-station]").length === count + 1, count);
    assert.deepEqual(errors, []);
    await close();
  });
});

/** Before the page: notes what answers to the pointer. */
function noteListeners() {
  const answers = new Set();
  const original = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (kind, ...rest) {
    if (/^(click|dblclick|pointerdown)$/.test(kind) && this instanceof Element) answers.add(this);
    return original.call(this, kind, ...rest);
  };
  window.answers = answers;
}

/** Notes what has the focus from now on; the number of controls in sight. */
function beginWalk() {
  const natural = "button, a[href], input, select, textarea, summary, [tabindex], [contenteditable=true]";
  const seen = (element) =>
    element.checkVisibility({ visibilityProperty: true }) && !element.disabled && element.tabIndex >= 0;
  const controls = [...document.querySelectorAll(natural)].filter(seen);
  // Parts of a control answer to the pointer for it: the canvas of a chart, the caption of a box.
  const others = [...window.answers].filter(
    (element) =>
      element.isConnected &&
      element.checkVisibility({ visibilityProperty: true }) &&
      !element.disabled &&
      !element.closest(natural) &&
      !element.querySelector(natural),
  );
  window.walk = { controls: [...controls, ...others], reached: new Set() };
  document.addEventListener("focusin", ({ target }) => window.walk.reached.add(target));
  document.activeElement?.blur();
  return controls.length;
}

/** The controls that never had the focus; one of a group of radio buttons stands for all. */
function endWalk() {
  const { controls, reached } = window.walk;
  return controls
    .filter((element) => element.isConnected && !reached.has(element))
    .filter(({ type, name }) => type !== "radio" || ![...reached].some((other) => other.name === name))
    .map((element) => element.outerHTML.slice(0, 160));
}
