/** A single value in a text of TOML, with its place. */
export interface Leaf {
  path: readonly (string | number)[];
  value: string | number | boolean;
  from: number;
  to: number;
}

/** A header of a table, `[stations]`: its path and where its line ends. */
export interface Header {
  path: readonly (string | number)[];
  end: number;
}

export interface Outline {
  leaves: Leaf[];
  headers: Header[];
}

const KEY = /[ \t]*(?:"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*/y;
const BARE = /[^\s,\]}#]+/y;

/** Reads the single values of a text of TOML. A line that is not TOML is passed over: the text may be half written. */
export function outlineOf(text: string): Outline {
  return new Reader(text).read();
}

/** The path as a scenario's messages have it: `links[0].queue`. */
export function pathText(path: readonly (string | number)[]): string {
  return path
    .map((part, i) =>
      typeof part === "number"
        ? `[${part}]`
        : (i > 0 ? "." : "") + (/^[\w-]+$/.test(part) ? part : JSON.stringify(part)),
    )
    .join("");
}

/** A value as TOML writes it. */
export function tomlOf(value: string | number | boolean): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** What differs between two texts in their values, a line each. */
export function differences(before: string, after: string): string[] {
  const [old, now] = [before, after].map(
    (text) => new Map(outlineOf(text).leaves.map(({ path, value }) => [pathText(path), tomlOf(value)])),
  );
  const found: string[] = [];
  for (const [path, value] of now) {
    if (!old.has(path)) found.push(`${path}: new, ${value}`);
    else if (old.get(path) !== value) found.push(`${path}: ${old.get(path)} → ${value}`);
  }
  for (const [path, value] of old) if (!now.has(path)) found.push(`${path}: gone, was ${value}`);
  return found;
}

class Unreadable extends Error {}

class Reader {
  private at = 0;
  private table: (string | number)[] = [];
  private readonly counts = new Map<string, number>();
  private readonly outline: Outline = { leaves: [], headers: [] };

  constructor(private readonly text: string) {}

  read(): Outline {
    while (this.at < this.text.length) {
      const begin = this.at;
      try {
        this.line();
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error;
        this.at = begin;
        this.toNextLine();
      }
    }
    return this.outline;
  }

  private line(): void {
    this.space();
    if (this.at >= this.text.length) return;
    if (this.text[this.at] === "[") return this.header();
    const path = this.keys();
    this.expect("=");
    this.value([...this.table, ...path]);
    this.toNextLine();
  }

  private header(): void {
    const list = this.text.startsWith("[[", this.at);
    this.at += list ? 2 : 1;
    const keys = this.keys();
    this.expect(list ? "]]" : "]");
    const table: (string | number)[] = [];
    keys.forEach((key, i) => {
      table.push(key);
      const name = pathText(table);
      const last = i === keys.length - 1;
      if (last && list) this.counts.set(name, (this.counts.get(name) ?? -1) + 1);
      const count = this.counts.get(name);
      if (count !== undefined) table.push(count);
    });
    this.table = table;
    this.outline.headers.push({ path: table, end: this.at });
    this.toNextLine();
  }

  private keys(): string[] {
    const keys: string[] = [];
    do {
      KEY.lastIndex = this.at;
      const found = KEY.exec(this.text);
      if (!found) throw new Unreadable();
      keys.push(found[1] !== undefined ? unescaped(`"${found[1]}"`) : (found[2] ?? found[3]));
      this.at = KEY.lastIndex;
    } while (this.text[this.at] === "." && ++this.at);
    return keys;
  }

  private value(path: (string | number)[]): void {
    this.space();
    const sign = this.text[this.at];
    if (sign === "[") return this.list(path);
    if (sign === "{") return this.inline(path);
    const from = this.at;
    if (this.text.startsWith('"""', from) || this.text.startsWith("'''", from)) {
      const end = this.text.indexOf(this.text.slice(from, from + 3), from + 3);
      if (end < 0) throw new Unreadable();
      // Content of a file: nothing to edit in a field.
      this.at = end + 3;
    } else if (sign === '"' || sign === "'") {
      const found = sign === '"' ? /"(?:[^"\\\n]|\\.)*"/y : /'[^'\n]*'/y;
      found.lastIndex = from;
      const [quoted] = found.exec(this.text) ?? [];
      if (quoted === undefined) throw new Unreadable();
      this.at += quoted.length;
      this.leaf(path, sign === '"' ? unescaped(quoted) : quoted.slice(1, -1), from);
    } else {
      BARE.lastIndex = from;
      const [word] = BARE.exec(this.text) ?? [];
      if (word === undefined) throw new Unreadable();
      this.at += word.length;
      const number = Number(word.replaceAll("_", ""));
      if (word === "true" || word === "false") this.leaf(path, word === "true", from);
      else if (Number.isFinite(number)) this.leaf(path, number, from);
      else throw new Unreadable();
    }
  }

  private list(path: (string | number)[]): void {
    this.at++;
    for (let i = 0; ; i++) {
      this.space();
      if (this.take("]")) return;
      this.value([...path, i]);
      this.space();
      if (!this.take(",")) return this.expect("]");
    }
  }

  private inline(path: (string | number)[]): void {
    this.at++;
    for (;;) {
      this.space();
      if (this.take("}")) return;
      const keys = this.keys();
      this.expect("=");
      this.value([...path, ...keys]);
      this.space();
      if (!this.take(",")) return this.expect("}");
    }
  }

  private leaf(path: (string | number)[], value: Leaf["value"], from: number): void {
    this.outline.leaves.push({ path, value, from, to: this.at });
  }

  private take(what: string): boolean {
    const there = this.text.startsWith(what, this.at);
    if (there) this.at += what.length;
    return there;
  }

  private expect(what: string): void {
    this.space();
    if (!this.take(what)) throw new Unreadable();
  }

  /** Blanks, line ends and comments. */
  private space(): void {
    for (;;) {
      while (/\s/.test(this.text[this.at] ?? "x")) this.at++;
      if (this.text[this.at] !== "#") return;
      this.toNextLine();
    }
  }

  private toNextLine(): void {
    const end = this.text.indexOf("\n", this.at);
    this.at = end < 0 ? this.text.length : end + 1;
  }
}

function unescaped(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    // TOML has escapes that JSON has not.
    throw new Unreadable();
  }
}
