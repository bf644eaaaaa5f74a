import "uplot/dist/uPlot.min.css";
import "./style/page.css";
import "./style/watch.css";
import "./style/panels.css";
import { comparePanel } from "./panels/compare";
import { shell } from "./panels/shell";
import { studiesPanel } from "./panels/studies";
import { tryPanel } from "./panels/try";
import { watchPanel } from "./panels/watch";
import { followServer, notice, panel, refreshRuns } from "./state/app";
import { panelOf, record, restore } from "./state/route";
import { applyTheme } from "./state/theme";

async function start(): Promise<void> {
  applyTheme();
  panel.value = panelOf(location.hash) ?? panel.value;
  const page = shell({ watch: watchPanel, compare: comparePanel, studies: studiesPanel, try: tryPanel });
  document.getElementById("page")?.replaceWith(page);
  try {
    await refreshRuns();
    await restore();
  } catch (error) {
    notice.value = `The runs cannot be read: ${String(error)}`;
  }
  record();
  followServer();
  document.body.dataset["ready"] = "true";
  performance.mark("skyhop-ready");
}

void start();
