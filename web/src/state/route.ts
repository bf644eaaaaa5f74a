import { clock, entries, openRun, overlays, panel, PANELS, run, toggleOverlay, view, type Panel } from "./app";

/** What is shown stands in the address, so that reloading, going back and sharing a link find it again. */
export async function restore(): Promise<void> {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  const wanted = new URLSearchParams(query ?? "");
  if ((PANELS as readonly string[]).includes(name)) panel.value = name as Panel;
  if (wanted.get("view") === "map") view.value = "map";
  const known = (id: string) => entries.value.some((entry) => entry.id === id);
  const id = wanted.get("run") ?? entries.value[0]?.id;
  if (id !== undefined) await openRun(known(id) ? id : (entries.value[0]?.id ?? id));
  for (const other of wanted.getAll("with")) if (known(other) && other !== id) await toggleOverlay(other);
  const time = Number(wanted.get("t"));
  if (Number.isFinite(time)) clock.seek(time);
}

function address(): string {
  const query = new URLSearchParams();
  if (run.value) query.set("run", run.value.id);
  for (const overlay of overlays.value) query.append("with", overlay.id);
  if (clock.time.value > 0) query.set("t", clock.time.value.toFixed(2));
  if (view.value === "map") query.set("view", "map");
  return `#/${panel.value}?${query.toString()}`;
}

/** Keeps the address in step; a new panel is a step that Back undoes. */
export function record(): void {
  let timer = 0;
  const replace = (): void => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => history.replaceState(null, "", address()), 250);
  };
  for (const signal of [run, overlays, view, clock.playing, clock.time] as const) signal.watch(replace as () => void);
  panel.watch(() => {
    const wanted = address();
    if (location.hash.split("?")[0] !== wanted.split("?")[0]) history.pushState(null, "", wanted);
  });
  window.addEventListener("popstate", () => {
    const name = location.hash.replace(/^#\/?/, "").split("?")[0];
    if ((PANELS as readonly string[]).includes(name)) panel.value = name as Panel;
  });
}
