import { server, type Preset } from "../data/source";
import { entries, jobs, notice, panel } from "../state/app";
import { h, svg } from "./dom";
import { openWhenDone } from "./try";

/** In an empty folder: scenarios to begin with, each one click away from its run. */
export function presetsPanel(): HTMLElement {
  const box = h("section", { class: "presets", "aria-label": "Scenarios to begin with", hidden: true });
  let asked = false;
  const update = (): void => {
    box.hidden = entries.value.length > 0 || !server;
    if (box.hidden || asked || !server) return;
    asked = true;
    server.presets().then(
      (presets) =>
        box.replaceChildren(
          h("h2", {}, "No run here yet. Start with one of these:"),
          h("div", { class: "preset-cards" }, ...presets.map(card)),
        ),
      (error: unknown) => {
        asked = false;
        box.replaceChildren(h("p", { class: "empty" }, `The scenarios cannot be read: ${String(error)}`));
      },
    );
  };
  // The list of runs has not been read when the page begins.
  entries.watch(update);
  requestAnimationFrame(() => setTimeout(update, 300));
  return box;
}

function card(preset: Preset): HTMLElement {
  const state = h("small", {}, "Run it");
  const button = h(
    "button",
    { type: "button", class: "preset-card" },
    picture(preset.text),
    h("b", {}, preset.title),
    state,
  );
  button.addEventListener("click", () => {
    state.textContent = "Starting …";
    server!.start(preset.text, 1).then(
      (job) => {
        openWhenDone(job);
        panel.value = "try";
      },
      (error: Error) => {
        state.textContent = "Run it";
        notice.value = error.message;
      },
    );
  });
  jobs.watch((all) => {
    const mine = all.find((job) => job.title === preset.title);
    if (mine) state.textContent = mine.state === "running" ? `${(mine.fraction * 100).toFixed(0)} %` : mine.state;
  });
  return button;
}

/** A sketch of a scenario: wires, one high satellite, or rings of satellites around the Earth. */
function picture(text: string): SVGElement {
  const root = svg("svg", { viewBox: "0 0 200 120", class: "preset-picture", "aria-hidden": "true" });
  if (!/^\[constellation\]/m.test(text)) {
    const ends = [
      [30, 30],
      [30, 90],
      [170, 30],
      [170, 90],
    ];
    for (const [x, y] of ends)
      root.append(svg("line", { x1: x, y1: y, x2: x < 100 ? 75 : 125, y2: 60, class: "wire" }));
    root.append(svg("line", { x1: 75, y1: 60, x2: 125, y2: 60, class: "path" }));
    for (const [x, y] of [...ends, [75, 60], [125, 60]])
      root.append(svg("circle", { cx: x, cy: y, r: 6, class: "station" }));
    return root;
  }
  const high = /geostationary|longitudes/.test(text);
  root.append(svg("circle", { cx: 100, cy: high ? 118 : 76, r: high ? 52 : 40, class: "earth" }));
  if (high) {
    root.append(
      svg("path", { d: "M62 82L100 14L138 82", class: "path" }),
      svg("circle", { cx: 100, cy: 14, r: 6, class: "satellite" }),
    );
    return root;
  }
  for (const tilt of [-28, 0, 28]) {
    root.append(
      svg("ellipse", { cx: 100, cy: 76, rx: 52, ry: 18, transform: `rotate(${90 + tilt} 100 76)`, class: "orbit" }),
    );
    for (const turn of [0.6, 1.9, 3.4, 5]) {
      const [x, y] = [52 * Math.cos(turn), 18 * Math.sin(turn)];
      const angle = ((90 + tilt) * Math.PI) / 180;
      root.append(
        svg("circle", {
          cx: 100 + x * Math.cos(angle) - y * Math.sin(angle),
          cy: 76 + x * Math.sin(angle) + y * Math.cos(angle),
          r: 3.4,
          class: "satellite",
        }),
      );
    }
  }
  root.append(svg("path", { d: "M68 60C78 22 122 22 134 58", class: "path" }));
  return root;
}
