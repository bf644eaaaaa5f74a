import { run } from "../state/app";
import { findings, followFindings } from "../state/findings";
import { chartsPanel } from "./charts";
import { h } from "./dom";
import { findingsPanel } from "./findings";
import { flowsDialog } from "./flows";
import { runFacts } from "./headline";
import { presetsPanel } from "./presets";
import { SkyView } from "./skyview";
import { tablesDialog } from "./tables";
import { timeBar } from "./timebar";

declare global {
  interface Window {
    /** Where a satellite or station is on the page: for tests and for scripts that make pictures. */
    skyhopLocate?: (name: string) => [number, number] | null;
    /** The links in the colour of their utilisation: for tests. */
    skyhopLoads?: () => [string, number][];
    /** The nodes in the colour of their queue, in packets: for tests. */
    skyhopQueues?: () => [string, number][];
  }
}

const SHARE = "skyhop.share"; // of the width that the globe has on a wide screen, as the reader left it
const LEAST_SHARE = 0.25;
const MOST_SHARE = 0.75;

/** What happened: the run in a line, what went wrong, the globe, the time, the charts. */
export function watchPanel(): HTMLElement {
  followFindings();
  const sky = new SkyView();
  window.skyhopLocate = (name) => sky.locate(name);
  window.skyhopLoads = () => sky.loads().map(({ name, share }) => [name, share]);
  window.skyhopQueues = () => sky.queues().map(({ node, packets }) => [node, packets]);
  const left = h("div", { class: "place" }, sky.element, findingsPanel());
  findings.follow((known) => left.classList.toggle("calm", known?.length === 0));
  const panel = h(
    "div",
    { class: "watch" },
    runFacts(),
    left,
    timeBar(),
    divider(),
    chartsPanel(),
    flowsDialog(),
    tablesDialog(),
    presetsPanel(),
  );
  panel.style.setProperty("--share-of-sky", String(keptShare()));
  run.follow((current) => panel.classList.toggle("no-run", current === null));
  return panel;
}

function keptShare(): number {
  const kept = Number(localStorage.getItem(SHARE));
  return kept >= LEAST_SHARE && kept <= MOST_SHARE ? kept : 0.5;
}

/** Between globe and charts on a wide screen; it is dragged, or moved with the arrow keys. */
function divider(): HTMLElement {
  const bar = h("div", {
    class: "divider",
    role: "separator",
    tabindex: 0,
    "aria-orientation": "vertical",
    "aria-label": "Width of the globe",
  });
  const set = (share: number): void => {
    const within = Math.min(MOST_SHARE, Math.max(LEAST_SHARE, share));
    bar.parentElement?.style.setProperty("--share-of-sky", within.toFixed(3));
    bar.setAttribute("aria-valuenow", String(Math.round(within * 100)));
    localStorage.setItem(SHARE, within.toFixed(3));
  };
  bar.setAttribute("aria-valuenow", String(Math.round(keptShare() * 100)));
  bar.addEventListener("pointerdown", (event) => bar.setPointerCapture(event.pointerId));
  bar.addEventListener("pointermove", (event) => {
    if (bar.hasPointerCapture(event.pointerId)) set(event.clientX / window.innerWidth);
  });
  bar.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -0.03, ArrowRight: 0.03 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    set(keptShare() + by);
  });
  return bar;
}
