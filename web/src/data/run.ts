import type { SkyhopScenario } from "../generated/scenario";
import type { Tables } from "../generated/tables";
import { lastAtOrBefore, type Columns } from "./columns";
import { rollingMean, type Series } from "./decimate";
import { EarthModel, toVector, type Place, type Vector } from "./geo";
import { Happenings } from "./happenings";
import { earlierLegs, isOfPart, splitLegs } from "./legs";
import { readParquet, readSeries, type SeriesTable } from "./parquet";
import { rankOf } from "./quantile";
import { Sky, type FoundShell } from "./sky";
import { source, type RunEntry } from "./source";
import { sunDirection } from "./sun";
import { Track } from "./track";

export interface Station {
  name: string;
  place: Place;
  position: Vector;
  /** Least elevation of a satellite that it uses, degrees. */
  maskDeg: number;
}

export interface Link {
  name: string;
  kind: string;
  from: string;
  to: string | null;
}

/** The columns of the flows' series that the page shows; the others stay in the file. */
const MEASURES = [
  "cwnd",
  "ssthresh",
  "in_flight",
  "rtt_s",
  "srtt_s",
  "rto_s",
  "pacing_bps",
  "delay_mean_s",
  "goodput_bps",
  "throughput_bps",
  "received",
] as const;
export type FlowMeasure = (typeof MEASURES)[number];
const LINK_MEASURES = ["queue_packets", "utilisation"] as const;

const NO_STEPS: Series = { x: new Float64Array(0), ys: [new Float64Array(0)] };

/** One run with the tables that the page needs, read once. */
export class Run {
  /** At the start of the run. */
  readonly stations: readonly Station[];
  private readonly tracks: ReadonlyMap<string, Track>;
  readonly earth: EarthModel;
  readonly links: readonly Link[];
  /** When the run starts, in milliseconds of Unix time; null for a scenario without a date. */
  readonly start: number | null;
  private readonly series = new Map<string, Series>();

  private constructor(
    readonly entry: RunEntry,
    readonly scenario: SkyhopScenario,
    readonly tables: Omit<Tables, "flow_series" | "link_series">,
    private readonly flowTable: SeriesTable,
    private readonly linkTable: SeriesTable,
    readonly sky: Sky,
    /** What a reader of the results should know, one sentence each. */
    readonly warnings: readonly string[],
  ) {
    this.tracks = tracksOf(scenario);
    this.stations = stationsOf(scenario).map((station) => this.moved(station, 0));
    this.earth = EarthModel.named(scenario.constellation?.earth);
    this.links = linksOf(tables.links);
    const start = Date.parse(scenario.constellation?.epoch ?? "");
    this.start = Number.isNaN(start) ? null : start;
  }

  static async load(entry: RunEntry): Promise<Run> {
    const scenario = await readJson<SkyhopScenario>(entry.id, "scenario.json");
    const names = [
      "flows",
      "links",
      "drops",
      "flow_events",
      "handovers",
      "link_changes",
      "paths",
      "positions",
      "workload_transfers",
    ] as const;
    const series = [
      seriesOf(entry, "flow_series", "flow", [...MEASURES, "phase"]),
      seriesOf(entry, "link_series", "link", LINK_MEASURES),
    ];
    const [read, [flows, links], manifest] = await Promise.all([
      Promise.all(names.map((name) => readTable(entry, name))),
      Promise.all(series),
      readManifest(entry.id),
    ]);
    const tables = Object.fromEntries(names.map((name, i) => [name, read[i]])) as unknown as Tables;
    const sky = new Sky(tables.positions, foundPlanes(manifest, scenario));
    const warnings = [...(manifest.warnings ?? []), ...cutOf(manifest)];
    return new Run(entry, scenario, tables, flows, links, sky, warnings);
  }

  /**
   * What the run recorded of single packets; null where it recorded nothing. It is read when it is asked for: it is
   * long.
   */
  async packets(): Promise<Tables["packets"] | null> {
    const file = this.entry.tables.includes("packets") ? await source.file(this.id, "packets.parquet") : null;
    return file ? ((await readParquet(file)) as unknown as Tables["packets"]) : null;
  }

  get id(): string {
    return this.entry.id;
  }

  get title(): string {
    return this.entry.title;
  }

  get duration(): number {
    return this.entry.simulated_s;
  }

  private names: string[] | undefined;
  get flows(): string[] {
    return (this.names ??= this.tables.flows.flow.map((name) => name ?? ""));
  }

  private told: Happenings | undefined;
  /** What happened to each flow. */
  get happenings(): Happenings {
    return (this.told ??= new Happenings(this));
  }

  /** From the first flow's start to the last flow's stop, s. */
  activeTime(): [number, number] {
    const { start_s: starts, stop_s: stops } = this.tables.flows;
    const from = starts.reduce((a, b) => Math.min(a, b), Infinity);
    const to = stops.reduce((a, b) => Math.max(a, b), 0);
    return to > from ? [from, Math.min(to, this.duration)] : [0, this.duration];
  }

  get hasConstellation(): boolean {
    return this.scenario.constellation !== undefined;
  }

  /** Earth-fixed direction of the Sun, `time` seconds after the start. */
  sunAt(time: number): Vector {
    return sunDirection(this.start, time);
  }

  get maskDeg(): number {
    return number(this.scenario.constellation?.gsl?.elevation_mask);
  }

  /** The stations where they are at a time: those on a track move. */
  stationsAt(time: number): readonly Station[] {
    return this.tracks.size === 0 ? this.stations : this.stations.map((station) => this.moved(station, time));
  }

  private moved(station: Station, time: number): Station {
    const place = this.tracks.get(station.name)?.at(time);
    return place ? { ...station, place, position: toVector(place) } : station;
  }

  /** A measure of one flow over time. */
  flowSeries(flow: string, measure: FlowMeasure): Series {
    return this.cached(`${flow}\n${measure}`, () => rowsFrom(this.flowTable, flow, measure));
  }

  private readonly valued = new Map<FlowMeasure, boolean>();
  /** Whether any flow has a value of a measure at any step; a run of an earlier version may lack the column. */
  hasMeasure(measure: FlowMeasure): boolean {
    let has = this.valued.get(measure);
    if (has === undefined) {
      has = this.flowTable.columns[measure]?.some((value) => value === value) ?? false;
      this.valued.set(measure, has);
    }
    return has;
  }

  /** A measure of one link over time. */
  linkSeries(link: string, measure: "queue_packets" | "utilisation"): Series {
    return this.cached(`${link}\n\n${measure}`, () => rowsFrom(this.linkTable, link, measure));
  }

  /** At which steps a flow's sender was in which state, by the state, s. */
  phases(flow: string): Map<string, number[]> {
    const found = new Map<string, number[]>();
    const [first, end] = this.flowTable.rows.get(flow) ?? [0, 0];
    const { codes, values } = this.flowTable.texts["phase"] ?? { codes: [], values: [] };
    const time = this.flowTable.columns["time_s"];
    for (let row = first; row < end; row++) {
      const name = values[codes[row]];
      if (!name) continue;
      const known = found.get(name);
      if (known) known.push(time[row]);
      else found.set(name, [time[row]]);
    }
    return found;
  }

  private readonly others = new Map<string, Promise<Columns>>();
  /** Any table that the run has, read when it is asked for. */
  table(name: string): Promise<Columns> {
    if (name in this.tables)
      return Promise.resolve(this.tables[name as keyof typeof this.tables] as unknown as Columns);
    let table = this.others.get(name);
    if (!table) {
      table = source.file(this.id, `${name}.parquet`).then((file) => (file ? readParquet(file) : {}));
      this.others.set(name, table);
    }
    return table;
  }

  /** Length of a step of the recording, s; 0 without one. */
  get stepS(): number {
    return Math.max(0, seconds(this.scenario.records?.grid ?? "0 s")) || 0;
  }

  /** Whether the run recorded series of its flows. */
  get hasSeries(): boolean {
    return this.flowTable.rows.size > 0;
  }

  /** Whether a link has carried anything, and a series says when; without a name, whether any has. */
  hasLinkSeries(link?: string): boolean {
    return link === undefined ? this.linkTable.rows.size > 0 : this.linkTable.rows.has(link);
  }

  /** The links whose queues were longest, longest first. */
  busiestLinks(count: number): string[] {
    const { link, queue_max_packets: most } = this.tables.links;
    const order = link.map((_, row) => row).filter((row) => most[row] > 0 && this.linkTable.rows.has(link[row] ?? ""));
    order.sort(
      (a, b) => most[b] - most[a] || this.tables.links.queue_mean_packets[b] - this.tables.links.queue_mean_packets[a],
    );
    return order.slice(0, count).map((row) => link[row] ?? "");
  }

  private queueing: { links: Map<string, string[]>; most: number } | undefined;
  /**
   * The nodes that have queues, with the links that leave them, and the scale of their colours: the largest sum, over
   * the
   * links of a node, of what ever waited at each at the end of a step. No node's queue is longer at any step.
   */
  get queues(): { links: Map<string, string[]>; most: number } {
    if (this.queueing) return this.queueing;
    const links = new Map<string, string[]>();
    for (const { name, from } of this.links)
      if (this.linkTable.rows.has(name)) links.set(from, [...(links.get(from) ?? []), name]);
    let most = 0;
    for (const names of links.values()) {
      const peaks = names.map((name) =>
        this.linkSeries(name, "queue_packets").ys[0].reduce((a, b) => (b > a ? b : a), 0),
      );
      most = Math.max(
        most,
        peaks.reduce((a, b) => a + b, 0),
      );
    }
    return (this.queueing = { links, most });
  }

  /** What waits at a time on all links that leave a node, packets. */
  queueAt(node: string, time: number): number {
    let waiting = 0;
    for (const link of this.queues.links.get(node) ?? []) waiting += this.linkValue(link, "queue_packets", time) || 0;
    return waiting;
  }

  /**
   * The value of a link at a time: the queue at the end of the last step, the utilisation of the step that holds the
   * time. NaN when it carried nothing yet.
   */
  linkValue(link: string, measure: "queue_packets" | "utilisation", time: number): number {
    const { x, ys } = this.linkSeries(link, measure);
    let row = lastAtOrBefore(x, time);
    if (measure === "utilisation") {
      const inside = row < 0 || x[row] < time;
      const step = x.length > 1 ? x[1] - x[0] : Infinity;
      if (row < 0 && x[0] - step >= time) return NaN;
      if (inside && row + 1 < x.length) row++;
    }
    return row < 0 ? NaN : ys[0][row];
  }

  /** Something made from series, kept under a name of its own. */
  derived(key: string, make: () => Series): Series {
    return this.cached(`${key}\n\n\n`, make);
  }

  /**
   * Quantiles over all flows at each step of the recording, in the order of `shares`; steps without a value of any flow
   * are gaps. With `window`, of each flow's mean over so many seconds.
   */
  quantiles(measure: FlowMeasure, shares: readonly number[], window: number): Series[] {
    // Times of legs are those of a part of the path, and each leg has the rate of its connection once more.
    const legs = isOfPart(measure) ? splitLegs(this.flows) : earlierLegs(this.flows);
    const flows = this.flows.filter((flow) => !legs.has(flow));
    const { x } = flows
      .map((flow) => this.flowSeries(flow, measure))
      .reduce((a, b) => (b.x.length > a.x.length ? b : a), NO_STEPS);
    const all = this.derived(`${measure} ${shares.join(" ")} ${window}`, () => {
      const values = flows.map((flow) => {
        const raw = this.flowSeries(flow, measure);
        return (window > 0 ? rollingMean(raw, window) : raw).ys[0];
      });
      const ys = shares.map(() => new Float64Array(x.length).fill(NaN));
      const known = new Float64Array(values.length);
      for (let i = 0; i < x.length; i++) {
        let count = 0;
        for (const one of values) if (!Number.isNaN(one[i] ?? NaN)) known[count++] = one[i];
        if (count === 0) continue;
        const sorted = known.subarray(0, count).sort();
        shares.forEach((share, s) => (ys[s][i] = sorted[rankOf(share, count)]));
      }
      return { x, ys };
    });
    return all.ys.map((y) => ({ x, ys: [y] }));
  }

  private cached(key: string, make: () => Series): Series {
    let series = this.series.get(key);
    if (!series) this.series.set(key, (series = make()));
    return series;
  }
}

function stationsOf(scenario: SkyhopScenario): Station[] {
  return Object.entries(scenario.stations ?? {}).map(([name, station]) => {
    const place = {
      latitude: number(station.latitude),
      longitude: number(station.longitude),
      altitudeKm: kilometres(station.altitude),
    };
    const own = station.elevation_mask ?? scenario.constellation?.gsl?.elevation_mask;
    return { name, place, position: toVector(place), maskDeg: number(own) };
  });
}

function tracksOf(scenario: SkyhopScenario): Map<string, Track> {
  const found = new Map<string, Track>();
  for (const [name, { track }] of Object.entries(scenario.stations ?? {})) {
    if (!track || track.length === 0) continue;
    const points = track.map(({ at, latitude, longitude, altitude }) => ({
      time: seconds(at),
      place: { latitude: number(latitude), longitude: number(longitude), altitudeKm: kilometres(altitude) },
    }));
    found.set(name, new Track(points));
  }
  return found;
}

function linksOf(table: Tables["links"]): Link[] {
  return table.link.map((name, row) => ({
    name: name ?? "",
    kind: table.kind[row] ?? "",
    from: table.from[row] ?? "",
    to: table.to[row],
  }));
}

/** The rows of one flow or link, in the table's own memory, which nobody may change. */
function rowsFrom(table: SeriesTable, name: string, measure: string): Series {
  const [first, end] = table.rows.get(name) ?? [0, 0];
  const column = (title: string): Float64Array =>
    table.columns[title]?.subarray(first, end) ?? new Float64Array(end - first).fill(NaN);
  return { x: column("time_s"), ys: [column(measure)] };
}

/** The series of a run by flow or link; a run that recorded none has no rows. */
async function seriesOf(entry: RunEntry, name: string, by: string, measures: readonly string[]): Promise<SeriesTable> {
  const file = entry.tables.includes(name) ? await source.file(entry.id, `${name}.parquet`) : null;
  return file ? readSeries(file, by, ["time_s", ...measures]) : { columns: {}, texts: {}, rows: new Map() };
}

const EMPTY_TABLES: Record<string, string[]> = {
  flows: ["flow", "from", "to"],
  links: ["link", "kind", "from", "to"],
  drops: ["cause", "link", "node", "flow"],
  flow_events: ["flow", "event"],
  handovers: ["terminal", "from", "to", "why"],
  link_changes: ["link", "up", "why"],
  paths: ["flow", "path"],
  positions: ["node"],
  workload_transfers: ["workload"],
};

/** A table without rows was not written; its columns of numbers are then empty, too. */
async function readTable(entry: RunEntry, name: string): Promise<Columns> {
  const file = entry.tables.includes(name) ? await source.file(entry.id, `${name}.parquet`) : null;
  if (file) return readParquet(file);
  const texts = Object.fromEntries(EMPTY_TABLES[name].map((column) => [column, []]));
  const nothing = new Float64Array(0);
  return new Proxy(texts as unknown as Columns, { get: (table, key: string) => table[key] ?? nothing });
}

/** What the page reads of `manifest.json`. */
interface Manifest {
  planes?: FoundShell[];
  warnings?: string[];
  drops_left_out?: number;
}

/** What to say of losses that have no row: charts and findings would take the others for all. */
function cutOf({ drops_left_out: left = 0 }: Manifest): string[] {
  if (left === 0) return [];
  const losses = left.toLocaleString("en");
  return [`${losses} losses are in no chart and no finding: the table of losses is full before them`];
}

/** The manifest of a run; empty where there is none, as in an export of an earlier version. */
async function readManifest(run: string): Promise<Manifest> {
  const file = await source.file(run, "manifest.json");
  return file ? (JSON.parse(new TextDecoder().decode(file)) as Manifest) : {};
}

/** The planes of satellites from elements, which no name tells; in the manifest, where the links are a grid. */
function foundPlanes(manifest: Manifest, scenario: SkyhopScenario): FoundShell[] {
  return scenario.constellation?.elements === undefined ? [] : (manifest.planes ?? []);
}

async function readJson<T>(run: string, name: string): Promise<T> {
  const file = await source.file(run, name);
  if (!file) throw new Error(`${run} has no ${name}`);
  return JSON.parse(new TextDecoder().decode(file)) as T;
}

const SECONDS: Record<string, number> = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400 };

/** The seconds of a duration such as "250 ms". */
function seconds(duration: string): number {
  return number(duration) * (SECONDS[/[a-z]+$/.exec(duration)?.[0] ?? "s"] ?? NaN);
}

/** The number of a quantity such as "8.2 deg". */
function number(quantity: string | undefined): number {
  return quantity === undefined ? 0 : Number.parseFloat(quantity);
}

function kilometres(quantity: string | undefined): number {
  if (quantity === undefined) return 0;
  const value = number(quantity);
  return /\d\s*m$/.test(quantity) ? value / 1000 : value;
}

const loaded = new Map<string, Promise<Run>>();

/** The run of an entry; read once however often it is asked for. */
export function loadRun(entry: RunEntry): Promise<Run> {
  const key = `${entry.id} ${entry.records_hash} ${entry.modified}`;
  let run = loaded.get(key);
  if (!run) {
    run = Run.load(entry);
    loaded.set(key, run);
    run.catch(() => loaded.delete(key));
  }
  return run;
}
