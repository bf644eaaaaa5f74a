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

/** What axe-core calls serious or critical, as one line per rule; of a few rules when they are named. */
async function serious(page, rules) {
  const only = rules ? { runOnly: { type: "rule", values: rules } } : {};
  const found = await page.evaluate(
    async (only) =>
      (await window.axe.run(document, { resultTypes: ["violations"], elementRef: false, ...only })).violations,
    only,
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
  "a run without a sky": ["#/watch?run=outage", ".finding"],
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
});
