import { decode, type Answer, type Question } from "./decode";

/** Reads tables beside the page, which goes on drawing and answering meanwhile. */
self.addEventListener("message", ({ data: { id, ...question } }: MessageEvent<Question>) => {
  const say = (answer: Answer, moved: ArrayBuffer[] = []): void => self.postMessage(answer, { transfer: moved });
  decode(question).then(
    (found) =>
      say(
        { id, ...found },
        Object.values(found.table).map(
          (column) => (column instanceof Float64Array ? column : column.codes).buffer as ArrayBuffer,
        ),
      ),
    (error: unknown) => say({ id, error: String(error) }),
  );
});

// Whoever started the worker asks after this: where it cannot start, the page reads the tables itself.
self.postMessage(null);
