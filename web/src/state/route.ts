import {
  chosenFlows,
  clock,
  comparison,
  entries,
  fetchRuns,
  missing,
  notice,
  opened,
  openRun,
  overlays,
  panel,
  PANELS,
  range,
  run,
  selection,
  sequenceShown,
  toggleOverlay,
  view,
  wholeFlow,
  zoomTo,
  type Panel,
  type Selection,
} from "./app";

/**
 * What is shown stands in the address, so that reloading, going back, a bookmark and a pasted link find it again. The
 * address is read at the start and whenever it changes from outside; otherwise it follows what is shown.
 */
let reading = false;

/** Panels of older versions, and where their content is now. */
const MOVED: Record<string, Panel> = { why: "watch" };

/** The panel that the address names; null when it names none. */
export function panelOf(hash: string): Panel | null {
  const name = hash.replace(/^#\/?/, "").split("?")[0] ?? "";
  return (PANELS as readonly string[]).includes(name) ? (name as Panel) : (MOVED[name] ?? null);
}

/** Shows what the address says. */
export async function restore(): Promise<void> {
  reading = true;
  try {
    await show(location.hash);
  } finally {
    reading = false;
  }
}

async function show(hash: string): Promise<void> {
  const wanted = new URLSearchParams(hash.split("?").slice(1).join("?"));
  panel.value = panelOf(hash) ?? panel.value;
  view.value = wanted.get("view") === "map" ? "map" : "globe";
  await fetchRuns([wanted.get("run") ?? "", ...wanted.getAll("compare")].filter((one) => one !== "")).catch(() => {});
  const id = wanted.get("run") ?? entries.value[0]?.id;
  const changed = id !== undefined && id !== run.value?.id;
  if (changed) await openRun(id);
  const others = wanted.getAll("with").filter((other) => other !== id);
  for (const other of overlays.value) if (!others.includes(other.id)) await toggleOverlay(other.id);
  for (const other of others) {
    if (overlays.value.some((one) => one.id === other)) continue;
    if (entries.value.some((entry) => entry.id === other)) await toggleOverlay(other);
    else notice.value = `There is no run “${other}” here to draw over the first.`;
  }
  const time = Number(wanted.get("t"));
  if (Number.isFinite(time)) clock.seek(time);
  const [from, to] = (wanted.get("zoom") ?? "").split("-").map(Number);
  if (to > from) zoomTo(from, to);
  else if (wanted.has("zoom") || !changed) range.value = null;
  chosenFlows.value = wanted.has("flow") ? wanted.getAll("flow").filter((name) => name !== "") : null;
  const [kind, ...name] = (wanted.get("select") ?? "").split(":");
  selection.value = ["satellite", "station", "link"].includes(kind)
    ? ({ kind, name: name.join(":") } as Selection)
    : null;
  const runs = wanted.getAll("compare");
  const [least, most] = (wanted.get("part") ?? "").split("_").map(Number);
  comparison.value = {
    runs: runs.length > 0 ? runs : comparison.value.runs,
    measure: wanted.get("measure") ?? "",
    flow: wanted.get("of") ?? "",
    base: wanted.get("base") ?? "",
    seeds: wanted.get("seeds") === "together",
    zoom: most > least ? [least, most] : null,
  };
  opened.value = wanted.get("finding");
  sequenceShown.value = wanted.get("charts") === "sequence";
  wholeFlow.value = wanted.get("packets") === "all";
}

function address(): string {
  const query = new URLSearchParams();
  const id = run.value?.id ?? missing.value;
  if (id !== null) query.set("run", id);
  for (const overlay of overlays.value) query.append("with", overlay.id);
  if (clock.time.value > 0) query.set("t", clock.time.value.toFixed(2));
  if (view.value === "map") query.set("view", "map");
  if (range.value) query.set("zoom", range.value.map((time) => time.toFixed(3)).join("-"));
  if (sequenceShown.value) query.set("charts", "sequence");
  if (sequenceShown.value && wholeFlow.value) query.set("packets", "all");
  if (opened.value !== null) query.set("finding", opened.value);
  if (chosenFlows.value)
    for (const name of chosenFlows.value.length > 0 ? chosenFlows.value : [""]) query.append("flow", name);
  if (selection.value) query.set("select", `${selection.value.kind}:${selection.value.name}`);
  if (panel.value === "compare") {
    for (const other of comparison.value.runs ?? []) query.append("compare", other);
    if (comparison.value.measure) query.set("measure", comparison.value.measure);
    if (comparison.value.flow) query.set("of", comparison.value.flow);
    if (comparison.value.base) query.set("base", comparison.value.base);
    if (comparison.value.seeds) query.set("seeds", "together");
    if (comparison.value.zoom)
      query.set("part", comparison.value.zoom.map((value) => Number(value.toPrecision(7))).join("_"));
  }
  return `#/${panel.value}?${query.toString()}`;
}

/** Keeps the address in step; a new panel and a new run are steps that Back undoes. */
export function record(): void {
  let timer = 0;
  const replace = (): void => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => history.replaceState(null, "", address()), 250);
  };
  const push = (): void => {
    // The address comes from there already.
    if (reading) return replace();
    window.clearTimeout(timer);
    const wanted = address();
    if (location.hash !== wanted) history.pushState(null, "", wanted);
  };
  for (const signal of [
    overlays,
    view,
    clock.playing,
    clock.time,
    range,
    opened,
    chosenFlows,
    selection,
    comparison,
    sequenceShown,
    wholeFlow,
  ] as const)
    signal.watch(replace as () => void);
  panel.watch(push);
  run.watch(push);
  window.addEventListener("popstate", () => {
    window.clearTimeout(timer);
    void restore();
  });
  replace();
}
