// Chromium and a server for the page's tests. Software rendering, a new profile, nothing asked of the network.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

// WebGL is rendered by the processor either way. Were the page put together in the same way, it would take most of the
// time.
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--use-gl=angle",
  "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader",
  "--disable-gpu-compositing",
  // A page lives for seconds. Optimizing its code would take longer than running it as it is.
  "--js-flags=--no-opt",
];

/**
 * The browsers to test with, the cheapest first: the shell has no windows, toolbars and profiles, which take more than
 * half
 * of the processor's time of a visit in a whole Chromium without a screen.
 */
const BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** The Chromium to test with; null where there is none. */
export function findChromium() {
  const named = process.env.CHROMIUM;
  if (named) return existsSync(named) ? named : null;
  return BROWSERS.map((name) => join("/usr/bin", name)).find(existsSync) ?? null;
}

/** Python with Skyhop in it. */
export function python() {
  return process.env.SKYHOP_PYTHON ?? join(ROOT, ".venv", "bin", "python");
}

/** Why the tests cannot run here; null when they can. */
export function missing() {
  if (!findChromium()) return "no Chromium here (Debian: apt-get install chromium-headless-shell; or set CHROMIUM)";
  for (const needed of ["playwright-core", "axe-core"]) {
    if (!existsSync(join(ROOT, "web", "node_modules", needed)))
      return `web/node_modules has no ${needed} (npm ci in web/)`;
  }
  const found = spawnSync(python(), ["-c", "import skyhop.server.app as app; app.page_folder()"], { encoding: "utf8" });
  if (found.status !== 0)
    return `Skyhop cannot be served: ${(found.stderr ?? "").trim().split("\n").at(-1) || python()}`;
  return null;
}

export async function launch() {
  const require = createRequire(join(ROOT, "web", "package.json"));
  const { chromium } = require("playwright-core");
  return chromium.launch({ executablePath: findChromium(), args: FLAGS });
}

/**
 * Puts runs into a folder, a new one when none is given: those of the study, or what another script beside this file
 * makes.
 */
export function makeRuns(script = "make_runs.py", folder = mkdtempSync(join(tmpdir(), "skyhop-page-"))) {
  const child = spawn(python(), [join(ROOT, "tests", "page", script), folder], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk) => (said += chunk));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve(folder) : reject(new Error(`the runs cannot be made: ${said}`))));
  });
}

export function remove(folder) {
  rmSync(folder, { recursive: true, force: true });
}

/** Serves a folder at a port, 0 for any: `{ url, stop, kill }`. */
export async function serve(folder, port = 0) {
  const code =
    "import sys; from skyhop.serve import serve; serve(sys.argv[1], port=int(sys.argv[2]), open_browser=False)";
  const child = spawn(python(), ["-c", code, folder, String(port)], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  const url = await new Promise((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      said += chunk;
      const found = /http:\/\/127\.0\.0\.1:\d+\//.exec(said);
      if (found) resolve(found[0]);
    });
    child.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  });
  const end = (signal) => () =>
    new Promise((resolve) => {
      child.removeAllListeners("exit");
      child.on("exit", resolve);
      child.kill(signal);
    });
  return { url, stop: end("SIGINT"), kill: end("SIGKILL") };
}

/** The static page of a folder of runs, written to a new folder; the address of its first page. */
export function exportRuns(folder) {
  const target = mkdtempSync(join(tmpdir(), "skyhop-export-"));
  const code = "import sys; from skyhop.serve import export; print(export(sys.argv[1], sys.argv[2]))";
  const made = spawnSync(python(), ["-c", code, folder, target], { encoding: "utf8" });
  if (made.status !== 0) throw new Error(`the export failed: ${made.stderr}`);
  return { target, url: `file://${made.stdout.trim()}` };
}
