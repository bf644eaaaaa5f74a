import type { RunEntry } from "../data/source";
import { server } from "../data/source";
import { entries, openRun, overlays, panel, reading, run, toggleOverlay } from "../state/app";
import { h, icon, ICONS } from "./dom";
import { count, number } from "./format";

/** The list of runs: one is on the globe, more can be drawn over it in the charts. */
export function runList(): HTMLElement {
  const list = h("div", { class: "run-list" });
  const draw = (): void => list.replaceChildren(...content());
  for (const signal of [entries, run, overlays] as const) (signal as typeof entries).watch(draw as () => void);
  draw();
  const open = h("details", { class: "runs" }, h("summary", {}, icon(ICONS.list), current()), list);
  document.addEventListener("pointerdown", (event) => {
    if (open.open && !open.contains(event.target as Node)) open.open = false;
  });
  open.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    open.open = false;
    open.querySelector("summary")?.focus();
  });
  return open;
}

function current(): HTMLElement {
  const name = h("span", { class: "run-name", "aria-live": "polite" });
  const write = (): void => {
    const more = overlays.value.length;
    const title = run.value ? run.value.title + (more > 0 ? ` + ${more}` : "") : "No run open";
    name.textContent = reading.value ? `Reading ${reading.value} …` : title;
  };
  run.follow(write);
  overlays.watch(write);
  reading.watch(write);
  return name;
}

function content(): HTMLElement[] {
  if (entries.value.length === 0) return [emptyList()];
  const groups = new Map<string, RunEntry[]>();
  for (const entry of entries.value) groups.set(entry.study ?? "", [...(groups.get(entry.study ?? "") ?? []), entry]);
  return [...groups].map(([study, members]) =>
    h("section", {}, h("h3", {}, study || "Single runs"), ...members.map(row)),
  );
}

function emptyList(): HTMLElement {
  const start = server ? h("button", { type: "button", onclick: () => (panel.value = "try") }, "Try it") : null;
  return h("p", { class: "empty" }, "No run here yet. ", start);
}

function row(entry: RunEntry): HTMLElement {
  const open = run.value?.id === entry.id;
  const over = overlays.value.some((one) => one.id === entry.id);
  const facts =
    `${count(entry.flow_count, "flow")}, ${number(entry.simulated_s)} s, ` +
    `${number(entry.goodput_bps / 1e6)} Mbit/s in all`;
  const show = h(
    "button",
    { type: "button", class: "run", "aria-current": open ? "true" : "false", onclick: () => void openRun(entry.id) },
    h("b", {}, entry.title),
    h("small", {}, facts),
  );
  const box = h("input", {
    type: "checkbox",
    checked: over,
    disabled: open,
    "aria-label": `Draw ${entry.title} over the charts`,
  });
  box.addEventListener("change", () => void toggleOverlay(entry.id));
  return h(
    "div",
    { class: open ? "row open" : "row" },
    show,
    h("label", { title: "Draw over the charts" }, box, "overlay"),
  );
}
