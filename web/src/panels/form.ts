import { LAND } from "../data/land";
import { outlineOf, pathText, tomlOf, type Leaf, type Outline } from "../data/toml";
import type { SchemaCompletion } from "./completion";
import { h, svg } from "./dom";
import type { Editing } from "./editor";

const LONGEST_TEXT = 200_000; // signs: beyond, a scenario holds a recording, and the text alone is edited
const MOST_FIELDS = 400;
const MAP_STEP_DEG = 1; // by an arrow key; a tenth with Shift

/** The values of a scenario as fields and its stations on a map, beside the text; both edit the same text. */
export class ScenarioForm {
  readonly element = h("section", { class: "form", "aria-label": "Scenario as a form" });
  private readonly fields = h("div", { class: "fields" });
  private readonly map = new StationMap((name, latitude, longitude) => this.place(name, latitude, longitude));
  private readonly catalogue = h("select", { "aria-label": "Catalogue" });
  private outline: Outline = { leaves: [], headers: [] };
  private drawn = "";

  constructor(
    private readonly editing: Editing,
    private readonly completion: SchemaCompletion,
    catalogues: readonly string[],
  ) {
    const flow = h("button", { type: "button", onclick: () => this.addFlow() }, "Add a flow");
    const station = h("button", { type: "button", onclick: () => this.place(null, 0, 0) }, "Add a station");
    this.catalogue.append(
      h("option", { value: "" }, "Satellites from …"),
      ...catalogues.map((name) => h("option", { value: name }, name)),
    );
    this.catalogue.hidden = catalogues.length === 0;
    this.catalogue.addEventListener("change", () => {
      if (this.catalogue.value) this.useCatalogue(this.catalogue.value);
      this.catalogue.value = "";
    });
    this.element.append(h("div", { class: "form-bar" }, flow, station, this.catalogue), this.map.element, this.fields);
  }

  /** Follows the text. */
  update(text: string): void {
    this.outline = text.length > LONGEST_TEXT ? { leaves: [], headers: [] } : outlineOf(text);
    const shown = this.outline.leaves.slice(0, MOST_FIELDS);
    const names = JSON.stringify(shown.map(({ path, value }) => [path, typeof value]));
    if (names !== this.drawn) {
      this.drawn = names;
      this.rebuild(shown);
    }
    // A field that is being typed in keeps what is typed.
    shown.forEach((leaf, i) => {
      const field = this.fields.querySelector<HTMLInputElement | HTMLSelectElement>(`[data-field="${i}"]`);
      if (!field || field === document.activeElement) return;
      if (field instanceof HTMLInputElement && field.type === "checkbox") field.checked = leaf.value === true;
      else field.value = String(leaf.value);
    });
    this.map.show(
      stationsIn(this.outline),
      this.outline.headers.some(({ path }) => path[0] === "constellation" || path[0] === "stations"),
    );
  }

  private rebuild(leaves: readonly Leaf[]): void {
    const focused = (document.activeElement as HTMLElement | null)?.dataset?.["path"];
    const groups = new Map<string, HTMLElement[]>();
    leaves.forEach((leaf, i) => {
      const depth =
        typeof leaf.path[1] === "number" || (leaf.path.length > 2 && leaf.path[0] === "stations")
          ? 2
          : leaf.path.length > 1
            ? 1
            : 0;
      const group = pathText(leaf.path.slice(0, depth)) || "the run";
      groups.set(group, [
        ...(groups.get(group) ?? []),
        this.field(leaf, i, pathText(leaf.path.slice(depth)).replace(/^\./, "")),
      ]);
    });
    this.fields.replaceChildren(
      ...[...groups].map(([name, members]) => h("fieldset", {}, h("legend", {}, name), ...members)),
    );
    if (focused) this.fields.querySelector<HTMLElement>(`[data-path=${JSON.stringify(focused)}]`)?.focus();
  }

  private field(leaf: Leaf, index: number, name: string): HTMLElement {
    const about = { "data-field": index, "data-path": pathText(leaf.path), "aria-label": pathText(leaf.path) };
    const choices =
      typeof leaf.value === "string"
        ? this.completion.textsAt(leaf.path.map((part) => (typeof part === "number" ? "[]" : part)))
        : [];
    let input: HTMLInputElement | HTMLSelectElement;
    if (typeof leaf.value === "boolean") input = h("input", { type: "checkbox", ...about });
    else if (choices.includes(String(leaf.value)))
      input = h("select", about, ...choices.map((one) => h("option", { value: one }, one)));
    else input = h("input", { type: typeof leaf.value === "number" ? "number" : "text", step: "any", ...about });
    input.addEventListener("change", () => {
      const value =
        input instanceof HTMLInputElement && input.type === "checkbox"
          ? input.checked
          : typeof leaf.value === "number"
            ? Number(input.value)
            : input.value;
      // Its place may have moved since it was drawn.
      const now = this.outline.leaves[index];
      if (now && (typeof value !== "number" || input.value !== "")) this.write(now, tomlOf(value));
    });
    return h("label", {}, h("span", {}, name), input);
  }

  private write(leaf: Leaf, text: string): void {
    this.editing.view.dispatch({ changes: { from: leaf.from, to: leaf.to, insert: text } });
  }

  private insert(at: number, text: string): void {
    this.editing.view.dispatch({ changes: { from: at, insert: text } });
  }

  /** Moves a station, or adds one. */
  private place(name: string | null, latitude: number, longitude: number): void {
    const degrees = (value: number): string => `"${Number(value.toFixed(2))} deg"`;
    if (name !== null) {
      const changes = (
        [
          ["latitude", latitude],
          ["longitude", longitude],
        ] as const
      ).flatMap(([key, value]) => {
        const leaf = this.outline.leaves.find(
          ({ path }) => path.length === 3 && path[0] === "stations" && path[1] === name && path[2] === key,
        );
        return leaf ? [{ from: leaf.from, to: leaf.to, insert: degrees(value) }] : [];
      });
      this.editing.view.dispatch({ changes });
      return;
    }
    const names = stationsIn(this.outline).map((one) => one.name);
    let number = names.length + 1;
    while (names.includes(`station-${number}`)) number++;
    const line = `station-${number} = { latitude = ${degrees(latitude)}, longitude = ${degrees(longitude)} }`;
    const header = this.outline.headers.find(({ path }) => path.length === 1 && path[0] === "stations");
    const end = this.editing.text().length;
    if (header) this.insert(header.end, `\n${line}`);
    else if (names.length > 0)
      this.insert(
        end,
        `\n[stations.station-${number}]\nlatitude = ${degrees(latitude)}\nlongitude = ${degrees(longitude)}\n`,
      );
    else this.insert(end, `\n[stations]\n${line}\n`);
  }

  /** A flow between the nodes of the last one, which the reader changes then. */
  private addFlow(): void {
    const value = (key: string): string | undefined =>
      this.outline.leaves.findLast(({ path }) => path[0] === "flows" && path.at(-1) === key)?.value.toString();
    const stations = stationsIn(this.outline).map((one) => one.name);
    const names = this.outline.leaves
      .filter(({ path }) => path[0] === "flows" && path[2] === "name")
      .map((leaf) => String(leaf.value));
    let number = names.length + 1;
    while (names.includes(`flow-${number}`)) number++;
    const [from, to] = [value("from") ?? stations[0] ?? "left", value("to") ?? stations[1] ?? "right"];
    this.insert(
      this.editing.text().length,
      `\n[[flows]]\nname = "flow-${number}"\nfrom = ${tomlOf(from)}\nto = ${tomlOf(to)}\ntcp = "cubic"\n`,
    );
  }

  /** The satellites of a catalogue that the server has, in place of a preset. */
  private useCatalogue(name: string): void {
    const { leaves, headers } = this.outline;
    const known = leaves.find(({ path }) => path[0] === "constellation" && path.length === 2 && path[1] === "elements");
    if (known) return this.write(known, tomlOf(name));
    const preset = leaves.find(({ path }) => path[0] === "constellation" && path.length === 2 && path[1] === "preset");
    if (preset) {
      const begin = this.editing.text().lastIndexOf("preset", preset.from);
      this.editing.view.dispatch({ changes: { from: begin, to: preset.to, insert: `elements = ${tomlOf(name)}` } });
      return;
    }
    const header = headers.find(({ path }) => path.length === 1 && path[0] === "constellation");
    if (header) this.insert(header.end, `\nelements = ${tomlOf(name)}`);
    else this.insert(this.editing.text().length, `\n[constellation]\nelements = ${tomlOf(name)}\n`);
  }
}

interface Placed {
  name: string;
  latitude: number;
  longitude: number;
}

/** The stations whose places stand in the text in degrees. */
function stationsIn({ leaves }: Outline): Placed[] {
  const found = new Map<string, Partial<Placed>>();
  for (const { path, value } of leaves) {
    if (path[0] !== "stations" || path.length !== 3 || (path[2] !== "latitude" && path[2] !== "longitude")) continue;
    const name = String(path[1]);
    found.set(name, { ...found.get(name), name, [path[2]]: Number.parseFloat(String(value)) });
  }
  return [...found.values()].filter(
    (one): one is Placed => Number.isFinite(one.latitude) && Number.isFinite(one.longitude),
  );
}

/** The world in plate carrée: a click adds a station, dragging and arrow keys move one. */
class StationMap {
  readonly element: HTMLElement;
  private readonly root = svg("svg", {
    viewBox: "-180 -90 360 180",
    class: "station-map",
    role: "group",
    "aria-label": "Stations on the map",
  });
  private readonly marks = svg("g");

  constructor(private readonly place: (name: string | null, latitude: number, longitude: number) => void) {
    const rings = LAND.map((ring) => {
      let path = "";
      for (let i = 0; i < ring.length; i += 2)
        path += `${i === 0 ? "M" : "L"}${ring[i].toFixed(1)} ${(-ring[i + 1]).toFixed(1)}`;
      return `${path}Z`;
    });
    this.root.append(
      svg("rect", { x: -180, y: -90, width: 360, height: 180, class: "sea" }),
      svg("path", { d: rings.join(""), class: "land" }),
      this.marks,
    );
    this.root.addEventListener("click", (event) => {
      if ((event.target as Element).closest(".placed")) return;
      const { latitude, longitude } = this.at(event);
      this.place(null, latitude, longitude);
    });
    this.element = h(
      "div",
      { class: "map-box" },
      h("p", { class: "note" }, "A click on the map adds a station; drag one, or move it with the arrow keys."),
    );
    this.element.prepend(this.root);
  }

  show(stations: readonly Placed[], wanted: boolean): void {
    this.element.hidden = !wanted;
    const focused = document.activeElement?.getAttribute("data-station");
    this.marks.replaceChildren(...stations.map((one) => this.mark(one)));
    if (focused !== null && focused !== undefined)
      this.marks.querySelector<SVGElement>(`[data-station=${JSON.stringify(focused)}]`)?.focus();
  }

  private mark({ name, latitude, longitude }: Placed): SVGElement {
    const dot = svg("circle", { r: 3.4, cx: longitude, cy: -latitude });
    const label = svg("text", { x: longitude + 5, y: -latitude + 3 });
    label.textContent = name;
    const group = svg(
      "g",
      {
        class: "placed",
        tabindex: 0,
        role: "button",
        "data-station": name,
        "aria-label": `${name}, ${latitude}° north, ${longitude}° east. Arrow keys move it.`,
      },
      dot,
      label,
    );
    group.addEventListener("keydown", (event) => {
      const by = MAP_STEP_DEG * (event.shiftKey ? 0.1 : 1);
      const moves: Record<string, [number, number]> = {
        ArrowUp: [by, 0],
        ArrowDown: [-by, 0],
        ArrowLeft: [0, -by],
        ArrowRight: [0, by],
      };
      const move = moves[event.key];
      if (!move) return;
      event.preventDefault();
      this.place(name, Math.max(-90, Math.min(90, latitude + move[0])), wrapped(longitude + move[1]));
    });
    let to: { latitude: number; longitude: number } | null = null;
    group.addEventListener("pointerdown", (event) => group.setPointerCapture(event.pointerId));
    group.addEventListener("pointermove", (event) => {
      if (!group.hasPointerCapture(event.pointerId)) return;
      to = this.at(event);
      dot.setAttribute("cx", String(to.longitude));
      dot.setAttribute("cy", String(-to.latitude));
      label.setAttribute("x", String(to.longitude + 5));
      label.setAttribute("y", String(-to.latitude + 3));
    });
    group.addEventListener("pointerup", () => {
      if (to) this.place(name, to.latitude, to.longitude);
    });
    return group;
  }

  private at({ clientX, clientY }: MouseEvent): { latitude: number; longitude: number } {
    const box = this.root.getBoundingClientRect();
    const longitude = ((clientX - box.left) / box.width) * 360 - 180;
    const latitude = 90 - ((clientY - box.top) / box.height) * 180;
    return { latitude: Math.max(-90, Math.min(90, latitude)), longitude: wrapped(longitude) };
  }
}

function wrapped(longitude: number): number {
  return ((((longitude + 180) % 360) + 360) % 360) - 180;
}
