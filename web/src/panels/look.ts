import { colour } from "../state/theme";
import type { FigureLook } from "./figure";

/** A figure in the page's own colours. */
export function pageLook(size: { width: number; height: number }): FigureLook {
  const series = [0, 1, 2, 3, 4, 5].map((i) => colour(`series-${i}`));
  return { ...size, paper: colour("panel"), ink: colour("ink"), muted: colour("muted"), rule: colour("rule"), series };
}
