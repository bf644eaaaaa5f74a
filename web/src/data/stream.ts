import type { Job, NewPoints } from "./source";

/** How the page stands with its server. */
export type Connection = "connecting" | "open" | "lost";

/** What the server tells, and what one tab tells the others. */
export type News =
  /** The ids of all runs that the server knows; it comes first after each connection. */
  | { kind: "known"; data: string[] }
  | { kind: "job"; data: Job }
  | { kind: "points"; data: NewPoints }
  /** The runs in the folder have changed. */
  | { kind: "runs"; data: null }
  | { kind: "connection"; data: Connection };

type Message = News | { kind: "ask"; data: null };

const NAME = "skyhop-events";
const AGAIN_MS = 3000; // before a stream that the server refused is opened again

/**
 * Follows the server's events in all tabs over one stream. A browser allows six connections to a host, and a stream
 * occupies one for good: with a stream per tab, the sixth tab would wait for ever. The tab that holds the lock listens
 * and tells the others; when it is closed, the next one takes its place.
 */
export function followEvents(hear: (news: News) => void, tellAll: () => News[]): void {
  if (!navigator.locks || !window.BroadcastChannel) {
    new Listener(hear).open();
    return;
  }
  const channel = new BroadcastChannel(NAME);
  let leads = false;
  channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if (data.kind !== "ask") hear(data);
    else if (leads) for (const news of tellAll()) channel.postMessage(news);
  });
  channel.postMessage({ kind: "ask", data: null } satisfies Message);
  void navigator.locks.request(NAME, () => {
    leads = true;
    new Listener((news) => {
      hear(news);
      channel.postMessage(news);
    }).open();
    // The lock is held as long as the tab lives.
    return new Promise<never>(() => undefined);
  });
}

/** One stream of events, which comes back after every loss. */
class Listener {
  constructor(private readonly hear: (news: News) => void) {}

  open(): void {
    const events = new EventSource("api/events");
    const parsed = (event: Event): unknown => JSON.parse((event as MessageEvent<string>).data);
    for (const kind of ["known", "job", "points", "runs"] as const) {
      events.addEventListener(kind, (event) => this.hear({ kind, data: parsed(event) } as News));
    }
    events.addEventListener("open", () => this.hear({ kind: "connection", data: "open" }));
    events.addEventListener("error", () => {
      this.hear({ kind: "connection", data: "lost" });
      if (events.readyState !== EventSource.CLOSED) return;
      // The browser does not come back by itself to a server that refused.
      events.close();
      window.setTimeout(() => this.open(), AGAIN_MS);
    });
  }
}
