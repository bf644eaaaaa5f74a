/**
 * Legs of split connections are flows of their own, named `<flow>.to-<node>` before the last. A leg hands on what the
 * next one delivers, so sums over connections count the last leg alone.
 */
export function earlierLegs(flows: readonly string[]): Set<string> {
  const all = new Set(flows);
  return new Set(flows.filter((flow) => flow.includes(".to-") && all.has(flow.slice(0, flow.lastIndexOf(".to-")))));
}

/** All legs of split connections, the last ones, too: delays and losses of a leg are those of its part of the path. */
export function splitLegs(flows: readonly string[]): Set<string> {
  const earlier = [...earlierLegs(flows)];
  return new Set([...earlier, ...earlier.map((flow) => flow.slice(0, flow.lastIndexOf(".to-")))]);
}

/** Whether a leg of a split connection has this column of its own part of the path alone. */
export const isOfPart = (column: string): boolean => /^(delay|rtt|jitter)_|^delivery_fraction$/.test(column);
