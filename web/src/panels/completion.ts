import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";

/** The parts of JSON Schema that the scenario's schema uses. */
interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  const?: unknown;
  enum?: unknown[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  examples?: unknown[];
  default?: unknown;
}

/** Where the cursor stands: the keys that lead there, those beside it, and whether a value is wanted. */
interface Place {
  path: string[];
  wantsValue: boolean;
}

/** Completes keys and values of a scenario from its schema. */
export class SchemaCompletion {
  private readonly root: Schema;

  constructor(schema: unknown) {
    this.root = schema as Schema;
  }

  readonly source = (context: CompletionContext): CompletionResult | null => {
    const before = context.state.sliceDoc(0, context.pos);
    const word = context.matchBefore(/"?[\w.-]*/);
    const from = word?.from ?? context.pos;
    if (!context.explicit && word?.text === "") return null;
    const place = placeOf(before.slice(0, from));
    if (!place) return null;
    const schemas = this.at(place.path);
    const options = place.wantsValue
      ? schemas.flatMap((one) => this.values(one))
      : schemas.flatMap((one) => this.keys(one));
    if (options.length === 0) return null;
    return { from, options: unique(options), validFor: /^"?[\w.-]*$/ };
  };

  /** The texts that a value may be, where the schema lists them all. */
  textsAt(path: string[]): string[] {
    const texts = this.at(path).flatMap((one) => [
      ...(one.enum ?? []),
      ...(one.const !== undefined ? [one.const] : []),
    ]);
    return [...new Set(texts.filter((value): value is string => typeof value === "string"))];
  }

  private resolve(schema: Schema): Schema {
    const seen = schema.$ref ? this.root.$defs?.[schema.$ref.replace("#/$defs/", "")] : undefined;
    return seen ? { ...seen, ...(schema.description ? { description: schema.description } : {}) } : schema;
  }

  /** The schema and all its alternatives. */
  private alternatives(schema: Schema, depth = 0): Schema[] {
    const one = this.resolve(schema);
    if (depth > 6) return [one];
    return [
      one,
      ...[...(one.oneOf ?? []), ...(one.anyOf ?? [])].flatMap((other) => this.alternatives(other, depth + 1)),
    ];
  }

  private at(path: string[]): Schema[] {
    let now = this.alternatives(this.root);
    for (const key of path) {
      const next: Schema[] = [];
      for (const one of now) {
        if (key === "[]") {
          if (one.items) next.push(one.items);
        } else if (one.properties?.[key]) {
          next.push(one.properties[key]);
        } else if (typeof one.additionalProperties === "object") {
          next.push(one.additionalProperties);
        }
      }
      now = next.flatMap((one) => this.alternatives(one));
      // [[flows]] and [flows] mean members of a list alike.
      if (key !== "[]") now = [...now, ...now.flatMap((one) => (one.items ? this.alternatives(one.items) : []))];
    }
    return now;
  }

  private keys(schema: Schema): Completion[] {
    return Object.entries(schema.properties ?? {}).map(([key, value]) => {
      const full = this.resolve(value);
      const about = full.description;
      return { label: key, type: "property", apply: `${key} = `, ...(about ? { info: about } : {}) };
    });
  }

  private values(schema: Schema): Completion[] {
    const texts = [
      ...(schema.enum ?? []),
      ...(schema.const !== undefined ? [schema.const] : []),
      ...(schema.examples ?? []),
    ];
    const about = schema.description ? { info: schema.description } : {};
    const found: Completion[] = texts.map((value) => ({
      label: typeof value === "string" ? `"${value}"` : String(value),
      type: "enum",
      ...about,
    }));
    if (schema.type === "boolean") found.push({ label: "true", type: "keyword" }, { label: "false", type: "keyword" });
    if (schema.properties) found.push({ label: "{ }", type: "class", ...about });
    return found;
  }
}

function unique(options: Completion[]): Completion[] {
  const seen = new Map(options.map((one) => [one.label, one] as const));
  return [...seen.values()];
}

/** Reads TOML up to the cursor as far as its nesting goes; null inside a comment or a text. */
export function placeOf(text: string): Place | null {
  let table: string[] = [];
  const lines = text.split("\n");
  let open: Place = { path: [], wantsValue: false };
  const stack: string[][] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i];
    const header = stack.length === 0 ? /^\s*\[\[?\s*([^\]]+?)\s*\]\]?/.exec(line) : null;
    if (header) {
      table = header[1].split(".").map((key) => key.trim().replace(/^"|"$/g, ""));
      open = { path: table, wantsValue: false };
      continue;
    }
    if (stack.length === 0) open = { path: table, wantsValue: false };
    const scanned = scan(line, open, stack, i === lines.length - 1);
    if (!scanned) return null;
    open = scanned;
  }
  return open;
}

/** Follows braces, brackets, keys and texts through one line. `stack` holds the paths around the one that is open. */
function scan(line: string, begin: Place, stack: string[][], last: boolean): Place | null {
  let place = begin;
  let container = stack.length > 0 ? place.path : begin.path;
  let key = "";
  for (let i = 0; i < line.length; i++) {
    const sign = line[i];
    if (sign === "#") return last ? null : place;
    if (sign === '"' || sign === "'") {
      const end = line.indexOf(sign, i + 1);
      if (end < 0) return last ? null : place;
      if (!place.wantsValue) key += line.slice(i + 1, end);
      i = end;
    } else if (sign === "=") {
      container = place.path;
      place = { path: [...container, ...key.trim().split(".")], wantsValue: true };
      key = "";
    } else if (sign === "{" || sign === "[") {
      stack.push(container);
      const inside = sign === "[" ? [...place.path, "[]"] : place.path;
      container = inside;
      place = { path: inside, wantsValue: sign === "[" };
      key = "";
    } else if (sign === "}" || sign === "]") {
      container = stack.pop() ?? [];
      place = { path: container, wantsValue: false };
      key = "";
    } else if (sign === ",") {
      place = { path: container, wantsValue: container.at(-1) === "[]" };
      key = "";
    } else if (!place.wantsValue) {
      key += sign;
    }
  }
  return place;
}
