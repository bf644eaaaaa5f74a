type Child = Node | string | null | undefined | false;
type Props = Record<string, string | number | boolean | EventListener | undefined | null>;

/** An element with attributes, listeners (`onclick`) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  put(element, props);
  element.append(...present(children));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  put(element, props);
  element.append(...present(children));
  return element;
}

function present(children: Child[]): (Node | string)[] {
  return children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false);
}

function put(element: Element, props: Props): void {
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(key.replace(/^on/, ""), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
}

/** A line icon of 24 × 24 from path data. */
export function icon(path: string): SVGSVGElement {
  return svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, svg("path", { d: path }));
}

export const ICONS = {
  play: "M7 4.5v15l12-7.5z",
  pause: "M7 5v14M17 5v14",
  sun:
    "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 " +
    "19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  globe: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
  map: "M3 5h18v14H3zM3 12h18M9 5v14M15 5v14",
  layers: "M12 3l9 5-9 5-9-5zM3 13l9 5 9-5",
  close: "M6 6l12 12M18 6L6 18",
  download: "M12 4v11M7 11l5 5 5-5M4 20h16",
  previous: "M18 5v14L8 12zM6 5v14",
  next: "M6 5v14l10-7zM18 5v14",
  list: "M4 6h16M4 12h16M4 18h16",
} as const;
