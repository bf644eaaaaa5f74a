import "uplot/dist/uPlot.min.css";
import "./style/page.css";
import "./style/watch.css";
import "./style/panels.css";
import { comparePanel } from "./panels/compare";
import { shell } from "./panels/shell";
import { studiesPanel } from "./panels/studies";
import { tryPanel } from "./panels/try";
import { watchPanel } from "./panels/watch";
import { whyPanel } from "./panels/why";
import { followJobs, notice, panel, PANELS, refreshRuns, type Panel } from "./state/app";
import { record, restore } from "./state/route";
import { applyTheme } from "./state/theme";

async function start(): Promise<void> {
  applyTheme();
  const name = location.hash.replace(/^#\/?/, "").split("?")[0];
  if ((PANELS as readonly string[]).includes(name)) panel.value = name as Panel;
  const page = shell({ watch: watchPanel, why: whyPanel, compare: comparePanel, studies: studiesPanel, try: tryPanel });
  document.getElementById("page")?.replaceWith(page);
  try {
    await refreshRuns();
    await restore();
  } catch (error) {
    notice.value = `The runs cannot be read: ${String(error)}`;
  }
  record();
  followJobs();
  document.body.dataset["ready"] = "true";
  performance.mark("skyhop-ready");
}

void start();
