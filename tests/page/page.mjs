// The page as a person uses it. `node --test tests/page` runs these tests with the others; SHOTS=1 renews the pictures
// in docs/page/.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { exportRuns, remove, ROOT } from "./browser.mjs";
import { again, compareOnly, ENDLESS, near, reason, settle, stage, STUDY, visit } from "./stage.mjs";

describe("the page", { skip: reason, timeout: 1_200_000 }, () => {
  let server, folder;

  before(async () => ({ server, folder } = await stage()));

  /** The runs of the study's table are those that start at 1 s. */
  const id = (tcp) => `${STUDY}/runs/tcp=${tcp},start=1 s,seed=1`;
  const run = (tcp) => encodeURIComponent(id(tcp));
  const time = (page) =>
    page
      .locator(".timebar .now")
      .textContent()
      .then((text) => Number.parseFloat(text));

  async function type(page, text) {
    await page.locator(".cm-content").click();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(text);
  }

  test("opens the demo run and plays it", async () => {
    const { page, errors, close } = await visit(`#/watch?run=${run("vegas")}`);
    await page.waitForSelector(".stage canvas");
    assert.equal(await page.locator(".run-name").textContent(), "vegas, 1 s");
    // cwnd, RTT, delay, throughput, queue; Vegas drops nothing.
    await page.waitForFunction(() => document.querySelectorAll(".chart .u-over").length === 5);
    const begin = await time(page);
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.waitForFunction(
      (from) => Number.parseFloat(document.querySelector(".timebar .now").textContent) > from + 1,
      begin,
    );
    await page.getByRole("button", { name: "Pause" }).click();
    const paused = await time(page);
    await page.waitForTimeout(300);
    assert.equal(await time(page), paused);
    assert.deepEqual(errors, []);
    await close();
  });

  test("says which run it is reading while that takes a while", async () => {
    const { page, close } = await visit(`#/watch?run=${run("vegas")}`);
    await page.waitForFunction(() => document.querySelector(".run-name").textContent === "vegas, 1 s");
    let go;
    const held = new Promise((resolve) => (go = resolve));
    await page.route("**/api/files/**", async (route) => {
      await held;
      await route.continue();
    });
    await page.evaluate((to) => (location.hash = to), `#/watch?run=${run("reno")}`);
    await page.waitForFunction(() => document.querySelector(".run-name").textContent === "Reading reno, 1 s …");
    go();
    await page.waitForFunction(() => document.querySelector(".run-name").textContent === "reno, 1 s");
    await close();
  });

  test("tells about the satellite that is clicked on", async () => {
    const { page, close } = await visit(`#/watch?run=${run("vegas")}`);
    await page.waitForFunction(() => window.skyhopLocate?.("iridium-2-4"));
    const card = page.locator(".card");
    let [x, y] = [0, 0];
    // On a busy machine the globe may still get its size between looking and clicking.
    await again(async () => {
      await settle(page);
      [x, y] = await page.evaluate(() => window.skyhopLocate("iridium-2-4"));
      await page.mouse.click(x, y);
      await card.waitFor({ timeout: 3000 });
    });
    const text = await card.innerText();
    assert.match(text, /iridium-2-4/);
    assert.match(text, /780\.0 km/, "Iridium's altitude");
    assert.match(
      text,
      /from berkeley\s+25\.1° high, 1.522 km/,
      "elevation and range at the first contact, as in handovers.csv",
    );
    // What the card does not say already is told under the pointer.
    await again(async () => {
      await settle(page);
      await page.mouse.move(...(await page.evaluate(() => window.skyhopLocate("berkeley"))));
      await page.locator(".tip", { hasText: "berkeley" }).waitFor({ timeout: 3000 });
    });
    await page.keyboard.press("Escape");
    await close();
  });

  test("tells about the link under the pointer", async () => {
    const { page, close } = await visit(`#/watch?run=${run("reno")}&t=30`);
    await page.waitForFunction(() => window.skyhopLocate?.("iridium-3-0"));
    const between = async (a, b) => {
      const text = page.locator(".tip", { hasText: `${a} → ` });
      await again(async () => {
        await settle(page);
        const [[x, y], [u, v]] = await page.evaluate((names) => names.map(window.skyhopLocate), [a, b]);
        await page.mouse.move((x + u) / 2, (y + v) / 2);
        await text.waitFor({ timeout: 3000 });
      });
      return (await text.innerText()).replace(/\s+/g, " ");
    };
    assert.match(
      await between("iridium-2-3", "iridium-2-2"),
      /range 4.033 km delay 13\.45 ms queue 0 packets utilisation \d+ %/,
    );
    assert.match(
      await between("iridium-3-0", "chennai"),
      /range 2.0\d\d km delay 6\.\d\d ms elevation 14\.\d° queue \d+ packets utilisation \d+ %/,
    );
    await close();
  });

  test("finds a station by name with the keyboard alone", async () => {
    const { page, close } = await visit(`#/watch?run=${run("vegas")}`);
    await page.getByLabel("Find a satellite, station or link").focus();
    await page.keyboard.type("chennai");
    await page.locator(".card").waitFor();
    assert.match(await page.locator(".card").innerText(), /served by\s+iridium-3-0/);
    await page.locator(".stage").focus();
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.keyboard.press("Space");
    await close();
  });

  test("draws one run over another and finds all again after reloading", async () => {
    const { page, close } = await visit(`#/watch?run=${run("reno")}&t=12`);
    await page.locator(".runs summary").click();
    await page.getByLabel("Draw bic, 1 s over the charts").check();
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector(".run-name").textContent === "reno, 1 s + 1");
    assert.deepEqual(await page.locator(".chip.run").allTextContents(), ["reno, 1 s", "bic, 1 s"]);
    await page.waitForFunction(() => location.hash.includes("with="));
    await page.reload();
    await page.waitForSelector("body[data-ready]");
    assert.equal(await page.locator(".run-name").textContent(), "reno, 1 s + 1");
    assert.equal(await time(page), 12);
    await close();
  });

  test("explains the dearest moment when it opens, also at an address of older versions", async () => {
    const { page, close } = await visit(`#/why?run=${run("reno")}`);
    await page.locator(".finding").first().waitFor();
    const [cause, effect, cost] = await page.locator(".cause-chain dd").allTextContents();
    assert.match(cause, /\d+ packets found a full queue at berkeley → sky/);
    assert.match(effect, /[Dd]uplicate ACKs told the sender of a loss/);
    assert.match(cost, /^\d[\d.]* [kM]B less in /);
    await page.locator(".story summary").click();
    const kinds = await page.locator(".chain li").evaluateAll((items) => items.map((item) => item.className));
    assert.equal(kinds[0], "drop", "the cause stands first");
    assert.ok(kinds.includes("recovery"));
    assert.match(
      await page.locator(".headline").innerText(),
      /Berkeley → Chennai[\s·]+Iridium[\s·]+3 × Reno[\s·]+1\.\d+ Mbit\/s[\s·]+104 dropped/,
    );
    await close();
  });

  test("compares Vegas with Reno", async () => {
    const { page, close } = await visit("#/compare");
    await compareOnly(page, [id("vegas"), id("reno")]);
    await page.getByLabel("Measure").selectOption({ label: "Packets dropped" });
    await page.waitForFunction(() => document.querySelector(".figure svg")?.textContent.includes("Packets dropped"));
    const figure = await page.locator(".figure svg").textContent();
    assert.match(figure, /vegas.*reno/);
    const manifest = await (
      await page.request.get(
        `${server.url}api/files/${id("reno").split("/").map(encodeURIComponent).join("/")}/manifest.json`,
      )
    ).json();
    assert.ok(manifest.packets.dropped.queue > 0);
    assert.ok(figure.includes(String(manifest.packets.dropped.queue)), "Reno's drops, all flows together");
    assert.doesNotMatch(figure, /bic/);
    for (const kind of ["SVG", "PNG", "CSV"]) {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: kind }).click(),
      ]);
      assert.equal(download.suggestedFilename(), `dropped.${kind.toLowerCase()}`);
    }
    await page.getByLabel("Measure").selectOption({ label: "Congestion window over time" });
    await page.waitForFunction(() => document.querySelector(".figure svg")?.textContent.includes("Time (s)"));
    await close();
  });

  test("leads from a study's number to its run", async () => {
    const { page, close } = await visit("#/studies");
    const row = page.locator("tbody tr", { hasText: "Dropped packets" }).first();
    assert.match(await row.textContent(), /vegas1 s00/, "nothing dropped, in the paper as in ns-2");
    await page
      .locator("tbody tr", { hasText: /^reno1 s/ })
      .first()
      .locator("button.link")
      .click();
    await page.waitForFunction(() => document.body.dataset.panel === "watch");
    assert.equal(await page.locator(".run-name").textContent(), "reno, 1 s");
    await close();
  });

  test("says where a scenario is wrong, completes, and runs it when it is right", async () => {
    const { page, errors, close } = await visit("#/try");
    await page.locator(".right").waitFor();
    const right = await page.locator(".cm-content").innerText();
    assert.match(right, /preset = "iridium"/);
    await type(page, 'duration = "5 s"\nprofil = "ns-2"\n');
    await page.locator(".diagnostics li").first().waitFor();
    assert.match(await page.locator(".diagnostics").innerText(), /line 2, column 1[\s\S]*profil/);
    assert.ok(await page.getByRole("button", { name: "Run" }).isDisabled());
    await page.locator(".cm-lintRange-error").first().waitFor();
    await type(page, 'duration = "5 s"\n[constellation]\npre');
    await again(async () => {
      await page.keyboard.press("Control+Space");
      await page.locator(".cm-tooltip-autocomplete li", { hasText: "preset" }).waitFor({ timeout: 3000 });
    });
    await page.keyboard.press("Escape");
    await page.getByLabel("Start from").selectOption({ index: 1 });
    await page.locator(".right").waitFor();
    await page.getByRole("button", { name: "Run" }).click();
    await page.waitForFunction(() => document.body.dataset.panel === "watch");
    assert.match(await page.locator(".run-name").textContent(), /Iridium/);
    await page.waitForFunction(() => document.querySelectorAll(".chart .u-over").length >= 5);
    // The way changes at Chennai's handover at 170 s.
    await page.getByLabel("Time of the run").press("Home");
    const next = page.getByRole("button", { name: "Next path change" });
    await next.click();
    assert.equal(await time(page), 170);
    await page.locator(".ticker", { hasText: "chennai" }).waitFor();
    assert.match(await page.locator(".ticker").innerText(), /170\.0 s chennai iridium-3-0 → iridium-2-0/);
    assert.deepEqual(errors, []);
    await page.reload();
    await page.waitForSelector("body[data-ready]");
    assert.match(await page.locator(".run-name").textContent(), /Iridium/);
    await close();
  });

  test("edits a scenario as text, as a form and on the map, and draws a run over the one before", async () => {
    const { page, errors, close } = await visit("#/try");
    await page.locator(".right").waitFor();
    const text = () => page.locator(".cm-content").innerText();
    await type(
      page,
      'duration = "20 s"\nprofile = "rfc"\n[[links]]\nbetween = ["left", "right"]\nrate = "2 Mbit/s"\n' +
      'delay = "20 ' +
        'ms"\n[[flows]]\nname = "a"\nfrom = "left"\nto = "right"\ntcp = "reno"\n[records]\ngrid = "100 ms"\n',
    );
    // A field changes the text, the text a field; the engine judges either.
    await page.getByLabel("links[0].rate").fill("4 Mbit/s");
    await page.getByLabel("links[0].rate").press("Tab");
    assert.match(await text(), /rate = "4 Mbit\/s"/);
    await page.getByLabel("flows[0].tcp").selectOption("sack");
    assert.match(await text(), /tcp = "sack"/);
    await page.locator(".right", { hasText: "20 s" }).waitFor();
    await page.locator(".right").waitFor();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.waitForFunction(() => document.body.dataset.panel === "watch");
    // What differs from it is said; the next run lies over it.
    await page.evaluate(() => (location.hash = "#/try"));
    await page.getByLabel("links[0].rate").fill("1 Mbit/s");
    await page.getByLabel("links[0].rate").press("Tab");
    assert.equal(await page.locator(".since li").textContent(), 'links[0].rate: "4 Mbit/s" → "1 Mbit/s"');
    await page.locator(".right").waitFor();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.waitForFunction(
      () => document.body.dataset.panel === "watch" && / \+ 1$/.test(document.querySelector(".run-name").textContent),
    );
    // The charts have the flow of both runs.
    await page.waitForFunction(
      () => window.skyhopCharts()[0]?.labels.filter((label) => label.endsWith(": a")).length === 2,
    );

    // Stations on the map: a click adds one, dragging and keys move it; satellites come from a catalogue of the server.
    await page.evaluate(() => (location.hash = "#/try"));
    await type(
      page,
      'duration = "30 s"\n[constellation]\n[constellation.gsl]\nelevation_mask = "0 deg"\nrate = "5 Mbit/s"\n',
    );
    await page.getByLabel("Catalogue").selectOption("circles.tle");
    assert.match(await text(), /\[constellation\]\nelements = "circles.tle"/);
    const box = await page.locator(".station-map").boundingBox();
    const point = (latitude, longitude) => [
      box.x + ((longitude + 180) / 360) * box.width,
      box.y + ((90 - latitude) / 180) * box.height,
    ];
    await page.mouse.click(...point(40, -75));
    await page.mouse.click(...point(51, 0));
    const places = async () =>
      [...(await text()).matchAll(/(station-\d) = \{ latitude = "([-\d.]+) deg", longitude = "([-\d.]+) deg" \}/g)]
        .map(([, name, ...at]) => [name, ...at.map(Number)])
        .sort();
    const [one, two] = await places();
    near(one[1], 40, 1, "latitude of the first click");
    near(one[2], -75, 1, "longitude of the first click");
    near(two[1], 51, 1, "latitude of the second click");
    await page.locator("[data-station=station-2]").focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    near((await places())[1][1], two[1] + 2, 1e-9, "latitude after two keys");
    await page.mouse.move(...point(one[1], one[2]));
    await page.mouse.down();
    await page.mouse.move(...point(34, -118), { steps: 4 });
    await page.mouse.up();
    near((await places())[0][2], -118, 1, "longitude after dragging");
    assert.equal((await places()).length, 2, "a drag adds none");
    await page.getByRole("button", { name: "Add a flow" }).click();
    assert.match(await text(), /from = "station-\d"\nto = "station-\d"/);
    await page.locator(".right", { hasText: "30 s" }).waitFor();
    assert.deepEqual(errors, []);
    await close();
  });

  test("cancels a long run, also after reloading", async () => {
    const { page, close } = await visit("#/try");
    await page.locator(".right").waitFor();
    // Long enough to be cancelled, and short enough that what is done says how long the rest takes.
    await type(page, ENDLESS.replace("50 d", "900 s"));
    await page.waitForFunction(() => /900 s/.test(document.querySelector(".right")?.textContent ?? ""));
    await page.getByRole("button", { name: "Run" }).click();
    await page.locator(".job.running").waitFor();
    // Results appear while it runs: the second figure is the window's.
    await page.locator(".job.running .live svg").nth(1).waitFor();
    assert.match(
      await page.locator(".job.running .live").innerHTML(),
      /Goodput \(Mbit\/s\)[\s\S]*Congestion window \(segments\)/,
    );
    await page.locator(".job.running .state", { hasText: /^\d+ %, about \d+ (s|min) left$/ }).waitFor();
    await page.reload();
    await page.locator(".job.running .live svg").first().waitFor();
    await page.waitForSelector("body[data-ready]");
    const job = page.locator(".job", { hasText: "A run without end" }).first();
    await job.getByRole("button", { name: "Cancel" }).click();
    await page.locator(".job.cancelled", { hasText: "A run without end" }).first().waitFor();
    assert.match(await page.locator(".cm-content").innerText(), /A run without end/, "the text is still there");
    await close();
  });

  test("shows an export without a server", async () => {
    const place = mkdtempSync(join(tmpdir(), "skyhop-study-"));
    cpSync(join(folder, STUDY), join(place, STUDY), { recursive: true });
    const made = exportRuns(place);
    try {
      const { page, errors, close } = await visit("", { url: made.url });
      assert.notEqual(await page.locator(".run-name").textContent(), "No run open");
      assert.equal(await page.getByRole("button", { name: "Try it" }).count(), 0, "nothing can be run there");
      await page.locator(".chart .u-over").first().waitFor();
      await page.getByRole("button", { name: "Studies" }).click();
      await page.locator("td .verdict").first().waitFor();
      assert.deepEqual(errors, []);
      await close();
    } finally {
      remove(made.target);
      remove(place);
    }
  });

  test("draws all that it shows in few calls", async () => {
    const { page, close } = await visit(`?cost#/watch?run=${run("reno")}&t=30`);
    await page.waitForFunction(() => /draw calls/.test(document.querySelector(".cost").textContent));
    const calls = Number(/(\d+) draw calls/.exec(await page.locator(".cost").textContent())[1]);
    assert.ok(calls > 5 && calls <= 60, `${calls} draw calls`);
    await close();
  });

  for (const [size, viewport] of Object.entries({
    desktop: { width: 1280, height: 720 },
    wide: { width: 1920, height: 1080 },
    phone: { width: 390, height: 844 },
  })) {
    for (const colorScheme of ["dark", "light"]) {
      test(`holds everything on a ${size} in ${colorScheme} colours`, async () => {
        const shots = process.env.SHOTS ? join(ROOT, "docs", "page") : null;
        if (shots) mkdirSync(shots, { recursive: true });
        const { page, errors, close } = await visit(`#/watch?run=${run("reno")}&t=40`, { viewport, colorScheme });
        for (const panel of ["watch", "map", "compare", "studies", "try", "packets"]) {
          if (panel === "map") {
            await page.getByRole("button", { name: "Flat map" }).click();
          } else if (panel === "packets") {
            await page.evaluate(() => (location.hash = "#/watch?run=packets&charts=sequence&zoom=0.500-3.000"));
          } else if (panel !== "watch") {
            const name = { compare: "Compare", studies: "Studies", try: "Try it" }[panel];
            await page.locator(".top nav button", { hasText: name }).click();
          }
          await page.waitForSelector(
            {
              watch: ".chart canvas",
              map: ".stage canvas",
              compare: ".figure svg",
              studies: "td .verdict",
              try: ".right",
              packets: ".charts.sequence canvas",
            }[panel],
          );
          await settle(page);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
          assert.ok(wide <= 0, `${panel} is ${wide} pixels too wide`);
          const cut = await page.evaluate(cutOff);
          assert.deepEqual(cut, [], `cut off in ${panel}`);
          // The camera has come to rest in a picture that is kept.
          if (shots) await page.waitForTimeout(1000);
          if (shots)
            await page.screenshot({ path: join(shots, `${panel}-${size}-${colorScheme}.png`), animations: "disabled" });
        }
        assert.deepEqual(errors, []);
        await close();
      });
    }
  }
});

/** Controls and headings that reach out of the window to the side. */
function cutOff() {
  return [...document.querySelectorAll("button, select, h2, h3, input")]
    .filter((element) => element.offsetParent && !element.closest(".scroll, .cm-editor, .labels, .run-list"))
    .map((element) => ({
      box: element.getBoundingClientRect(),
      text: element.textContent || element.getAttribute("aria-label") || element.tagName,
    }))
    .filter(({ box }) => box.width > 0 && (box.left < -1 || box.right > window.innerWidth + 1))
    .map(({ text }) => text);
}
