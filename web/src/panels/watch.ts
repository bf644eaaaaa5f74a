import { chartsPanel } from "./charts";
import { h } from "./dom";
import { SkyView } from "./skyview";
import { timeBar } from "./timebar";

declare global {
  interface Window {
    /** Where a satellite or station is on the page: for tests and for scripts that make pictures. */
    skyhopLocate?: (name: string) => [number, number] | null;
  }
}

/** Globe, time and charts. */
export function watchPanel(): HTMLElement {
  const sky = new SkyView();
  window.skyhopLocate = (name) => sky.locate(name);
  return h("div", { class: "watch" }, sky.element, timeBar(), chartsPanel());
}
