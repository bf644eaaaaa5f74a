import { Signal } from "./signal";

export type Theme = "dark" | "light";

const KEY = "skyhop.theme";
const system = window.matchMedia("(prefers-color-scheme: light)");

/** Dark or light: as the reader chose here, else as the system says. */
export const theme = new Signal<Theme>(chosen());

function chosen(): Theme {
  const kept = localStorage.getItem(KEY);
  if (kept === "dark" || kept === "light") return kept;
  return system.matches ? "light" : "dark";
}

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(KEY, theme.value);
}

export function applyTheme(): void {
  theme.follow((value) => (document.documentElement.dataset["theme"] = value));
  system.addEventListener("change", () => (theme.value = chosen()));
}

/** A colour of the page by its role, as it is now. */
export function colour(role: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${role}`).trim();
}

/** Colours of flows and runs: Okabe and Ito's, told apart by everybody (jfly.uni-koeln.de/color). */
export function seriesColour(index: number): string {
  return colour(`series-${index % 6}`);
}

export const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2, 1, 2, 1, 2], [12, 4]];

export const reducedMotion = window.matchMedia("(prefers-reduced-motion: reduce)");
