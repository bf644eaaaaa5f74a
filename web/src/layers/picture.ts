import type { Frame } from "./frame";

/** One way to draw the sky: globe or flat map. */
export interface Picture {
  readonly canvas: HTMLCanvasElement;
  /** Takes the theme's colours. */
  paint(): void;
  resize(width: number, height: number): void;
  draw(frame: Frame): void;
  /** Shows some nodes, with a flight or at once. */
  look(frame: Frame, nodes: readonly string[], fly: boolean): void;
  /** Moves the view, radians. */
  turn(right: number, up: number): void;
  /** Below 1 comes nearer. */
  zoom(factor: number): void;
  /** Where a position (Earth radii) is on the canvas in CSS pixels; null when it cannot be seen. */
  project(x: number, y: number, z: number): [number, number] | null;
  readonly drawCalls: number;
}
