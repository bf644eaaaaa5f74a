import type { Run } from "../data/run";
import { run, shownFlows, toggleFlow, chosenFlows } from "../state/app";
import { findings } from "../state/findings";
import { Signal } from "../state/signal";
import { h, icon, ICONS, svg } from "./dom";
import { fixed, number, size, whole } from "./format";

/** Whether the table of flows is open. */
export const flowTable = new Signal(false);

const ROW = 30; // pixels, as in the style sheet
const SPARE = 8; // rows drawn above and below those in sight
const CURVE = { width: 96, height: 22 };

/** Totals of one flow. */
interface Row {
  flow: string;
  goodput: number;
  stalled: number;
  timeouts: number;
  dropped: number;
  completion: number;
  cost: number;
}

const COLUMNS: { key: keyof Row; title: string; text: (row: Row) => string }[] = [
  { key: "flow", title: "Flow", text: (row) => row.flow },
  { key: "goodput", title: "Goodput, Mbit/s", text: (row) => number(row.goodput / 1e6, 3) },
  { key: "stalled", title: "Stalled, s", text: (row) => fixed(row.stalled, 1) },
  { key: "timeouts", title: "Timeouts", text: (row) => whole(row.timeouts) },
  { key: "dropped", title: "Dropped", text: (row) => whole(row.dropped) },
  { key: "completion", title: "Completion, s", text: (row) => fixed(row.completion, 2) },
  { key: "cost", title: "Not delivered", text: (row) => (row.cost > 0 ? size(row.cost) : "0") },
];

/** All flows of the run: search, order, and which of them the charts show. Only the rows in sight are in the page. */
export function flowsDialog(): HTMLElement {
  const search = h("input", { type: "search", placeholder: "Find a flow", "aria-label": "Find a flow" });
  const head = h("div", { class: "flow-row flow-head", role: "row" });
  const space = h("div", { class: "flow-space", role: "rowgroup" });
  const scroll = h("div", { class: "flow-scroll", tabindex: 0, role: "table", "aria-label": "Flows" }, head, space);
  const told = h("p", { class: "flow-told", role: "status" });
  const close = h(
    "button",
    { type: "button", class: "quiet", "aria-label": "Close", onclick: () => (flowTable.value = false) },
    icon(ICONS.close),
  );
  const first = h("button", { type: "button", onclick: () => (chosenFlows.value = null) }, "Only the first");
  const dialog = h(
    "dialog",
    { class: "flows", "aria-label": "Flows" },
    h("header", {}, h("h2", {}, "Flows"), search, first, close),
    told,
    scroll,
  );
  let order: { key: keyof Row; down: boolean } = { key: "cost", down: true };
  let rows: Row[] = [];
  let shown: Row[] = [];
  const sort = (): void => {
    const wanted = search.value.trim().toLowerCase();
    shown = rows.filter((row) => row.flow.toLowerCase().includes(wanted));
    shown.sort((a, b) => compare(a, b, order.key) * (order.down ? -1 : 1) || compare(a, b, "flow"));
    space.style.height = `${shown.length * ROW}px`;
    told.textContent = `${shown.length} of ${rows.length} flows`;
    head.replaceChildren(
      h("span", { role: "columnheader" }, "Chart"),
      ...COLUMNS.map(({ key, title }) => {
        const on = order.key === key;
        const turn = (): void => {
          order = { key, down: on ? !order.down : key !== "flow" };
          sort();
        };
        return h(
          "span",
          { role: "columnheader", "aria-sort": on ? (order.down ? "descending" : "ascending") : "none" },
          h("button", { type: "button", class: "link", onclick: turn }, title, on ? (order.down ? " ↓" : " ↑") : ""),
        );
      }),
      h("span", { role: "columnheader" }, "Over time"),
    );
    draw();
  };
  const draw = (): void => {
    const current = run.value;
    if (!current || !flowTable.value) return;
    const from = Math.max(0, Math.floor(scroll.scrollTop / ROW) - SPARE);
    const to = Math.min(shown.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / ROW) + SPARE);
    const focused = document.activeElement?.getAttribute("data-flow");
    space.replaceChildren(...shown.slice(from, to).map((row, i) => rowOf(current, row, from + i)));
    if (focused) space.querySelector<HTMLElement>(`[data-flow="${CSS.escape(focused)}"]`)?.focus();
  };
  const read = (): void => {
    rows = run.value && flowTable.value ? rowsOf(run.value) : [];
    if (flowTable.value) sort();
  };
  search.addEventListener("input", () => {
    scroll.scrollTop = 0;
    sort();
  });
  scroll.addEventListener("scroll", draw);
  dialog.addEventListener("close", () => (flowTable.value = false));
  flowTable.watch((on) => {
    if (on && !dialog.open) dialog.showModal();
    if (!on && dialog.open) dialog.close();
    read();
  });
  run.watch(read);
  findings.watch(read);
  chosenFlows.watch(draw);
  return dialog;
}

function rowsOf(current: Run): Row[] {
  const { flows } = current.tables;
  const stalled = new Map<string, number>();
  const cost = new Map<string, number>();
  for (const { flow, stalledS, bytes, kind } of findings.value ?? []) {
    // All silences of a finding, of which its words tell the longest.
    stalled.set(flow, (stalled.get(flow) ?? 0) + stalledS);
    if (kind !== "delay" && Number.isFinite(bytes)) cost.set(flow, (cost.get(flow) ?? 0) + bytes);
  }
  return current.flows.map((flow, row) => ({
    flow,
    goodput: flows.goodput_bps[row],
    stalled: stalled.get(flow) ?? 0,
    timeouts: flows.timeouts[row],
    dropped: flows.dropped[row],
    completion: flows.completion_s[row],
    cost: cost.get(flow) ?? 0,
  }));
}

function compare(a: Row, b: Row, key: keyof Row): number {
  const [one, other] = [a[key], b[key]];
  if (typeof one === "string" || typeof other === "string")
    return String(one).localeCompare(String(other), "en", { numeric: true });
  // A measure without a value counts as the smallest.
  return (Number.isNaN(one) ? -Infinity : one) - (Number.isNaN(other) ? -Infinity : other) || 0;
}

function rowOf(current: Run, row: Row, place: number): HTMLElement {
  const on = shownFlows().includes(row.flow);
  const box = h("input", {
    type: "checkbox",
    checked: on,
    "data-flow": row.flow,
    "aria-label": `Show ${row.flow} in the charts`,
  });
  box.addEventListener("change", () => toggleFlow(row.flow, box.checked));
  const cells = COLUMNS.map(({ text }) => h("span", { role: "cell" }, text(row)));
  return h(
    "label",
    { class: "flow-row", role: "row", style: `top:${place * ROW}px` },
    h("span", { role: "cell" }, box),
    ...cells,
    h("span", { role: "cell" }, curve(current, row.flow)),
  );
}

/** Goodput over time, small. */
function curve(current: Run, flow: string): SVGElement {
  const {
    x,
    ys: [rate],
  } = current.flowSeries(flow, "goodput_bps");
  const columns = CURVE.width / 2;
  const sums = new Float64Array(columns);
  const counts = new Float64Array(columns);
  for (let i = 0; i < x.length; i++) {
    const column = Math.min(columns - 1, Math.floor((x[i] / current.duration) * columns));
    sums[column] += rate[i] || 0;
    counts[column]++;
  }
  // A column between the ends of two steps has the value of the step that holds it.
  const means = new Float64Array(columns);
  for (let i = columns - 1, next = 0; i >= 0; i--) means[i] = next = counts[i] > 0 ? sums[i] / counts[i] : next;
  const top = means.reduce((most, value) => Math.max(most, value), 1);
  const points = Array.from(
    means,
    (mean, i) => `${(i + 0.5) * 2} ${(CURVE.height - 1 - (mean / top) * (CURVE.height - 2)).toFixed(1)}`,
  );
  return svg(
    "svg",
    {
      viewBox: `0 0 ${CURVE.width} ${CURVE.height}`,
      width: CURVE.width,
      height: CURVE.height,
      class: "small-curve",
      "aria-hidden": "true",
    },
    svg("path", { d: `M${points.join("L")}` }),
  );
}
