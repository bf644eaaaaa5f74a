import { server } from "../data/source";
import { clock, connection, notice, panel, PANELS, type Panel } from "../state/app";
import { theme, toggleTheme } from "../state/theme";
import { h, icon, ICONS, svg } from "./dom";
import { runList } from "./runs";

const TITLES: Record<Panel, string> = { watch: "Watch", compare: "Compare", studies: "Studies", try: "Try it" };

/** Header, navigation and the panel that is open; panels are built when they are first seen. */
export function shell(makers: Record<Panel, () => HTMLElement>): HTMLElement {
  const built = new Map<Panel, HTMLElement>();
  const main = h("main", { id: "main", tabindex: -1 });
  const tabs = new Map<Panel, HTMLElement>();
  const offered = PANELS.filter((name) => name !== "try" || server);
  for (const name of offered) {
    tabs.set(name, h("button", { type: "button", onclick: () => (panel.value = name) }, TITLES[name]));
  }
  panel.follow((name) => {
    const wanted = offered.includes(name) ? name : "watch";
    if (wanted !== "watch") clock.pause();
    let element = built.get(wanted);
    if (!element) built.set(wanted, (element = makers[wanted]()));
    if (!element.isConnected) main.append(element);
    for (const [other, one] of built) one.hidden = other !== wanted;
    for (const [other, tab] of tabs) tab.setAttribute("aria-current", other === wanted ? "page" : "false");
    document.body.dataset["panel"] = wanted;
    document.title = `${TITLES[wanted]} · Skyhop`;
  });
  const bar = h("p", { class: "notice", role: "alert", hidden: true });
  notice.follow((text) => {
    bar.hidden = text === "";
    bar.textContent = text;
  });
  const lost = h(
    "p",
    { class: "notice lost", role: "status", hidden: true },
    "The connection to the server is lost. The page shows what it has read and tries to connect again.",
  );
  connection.follow((state) => (lost.hidden = state !== "lost"));
  document.addEventListener("keydown", (event) => {
    const at = event.target as HTMLElement;
    if (
      event.key !== " " ||
      panel.value !== "watch" ||
      at.closest("button, input:not([type=range]), select, textarea, summary, .cm-editor")
    )
      return;
    event.preventDefault();
    clock.toggle();
  });
  const skip = h(
    "a",
    {
      class: "skip",
      href: "#main",
      onclick: ((event: Event) => {
        event.preventDefault();
        main.focus();
      }) as EventListener,
    },
    "Skip to the content",
  );
  const header = h(
    "header",
    { class: "top" },
    skip,
    brand(),
    h("nav", { "aria-label": "Panels" }, ...tabs.values()),
    runList(),
    themeButton(),
  );
  return h("div", { class: "page" }, header, h("div", { class: "bars" }, lost, bar), main);
}

function brand(): HTMLElement {
  const mark = svg(
    "svg",
    { viewBox: "0 0 32 32", class: "logo", "aria-hidden": "true" },
    svg("circle", { cx: 16, cy: 19, r: 9, class: "logo-earth" }),
    svg("path", { d: "M3 18C7 3 25 3 29 18", class: "logo-path" }),
    svg("circle", { cx: 16, cy: 6.8, r: 2.8, class: "logo-satellite" }),
  );
  return h("div", { class: "brand" }, mark, h("strong", {}, "Skyhop"));
}

function themeButton(): HTMLElement {
  const button = h("button", { type: "button", class: "quiet theme", onclick: toggleTheme }, icon(ICONS.sun));
  theme.follow((value) => {
    button.setAttribute("aria-label", value === "dark" ? "Light colours" : "Dark colours");
    button.title = value === "dark" ? "Light colours" : "Dark colours";
  });
  return button;
}
