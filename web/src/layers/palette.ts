import { colour, seriesColour } from "../state/theme";

/** Colours of the sky, read from the page's style so that both renderers and both themes agree. */
export interface Palette {
  ocean: string;
  land: string;
  coast: string;
  graticule: string;
  night: string;
  glow: string;
  satellite: string;
  serving: string;
  isl: string;
  plane: string;
  path: string;
  station: string;
  coverage: string;
  selected: string;
  handover: string;
  drop: string;
  /** From an idle link to a full one. */
  load: [string, string, string];
  shells: string[];
  flows: string[];
}

export function palette(): Palette {
  const role = (name: string): string => colour(`sky-${name}`);
  return {
    ocean: role("ocean"),
    land: role("land"),
    coast: role("coast"),
    graticule: role("graticule"),
    night: role("night"),
    glow: role("glow"),
    satellite: role("satellite"),
    serving: role("serving"),
    isl: role("isl"),
    plane: role("plane"),
    path: role("path"),
    station: role("station"),
    coverage: role("coverage"),
    selected: role("selected"),
    handover: role("handover"),
    drop: colour("drop"),
    load: [colour("load-low"), colour("load-middle"), colour("load-high")],
    shells: [role("satellite"), ...[5, 3, 4, 2, 1].map(seriesColour)],
    flows: [0, 1, 2, 3, 4, 5].map(seriesColour),
  };
}

/** The colour of a utilisation from 0 to 1, as its red, green and blue from 0 to 255. */
export function loadColour([low, middle, high]: Palette["load"], share: number): [number, number, number] {
  const [from, to, part] = share < 0.5 ? [low, middle, share * 2] : [middle, high, share * 2 - 1];
  return [1, 3, 5].map((at) => {
    const [a, b] = [from, to].map((colour) => Number.parseInt(colour.slice(at, at + 2), 16));
    return Math.round(a + (b - a) * part);
  }) as [number, number, number];
}
