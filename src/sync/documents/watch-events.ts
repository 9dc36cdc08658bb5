import * as v from 'valibot';
import { type Clock, waitAtMost } from '../../runtime/clock.ts';
import { ReadError } from './server-documents.ts';

/** k8s.io/apimachinery pkg/watch/watch.go. */
const watchEvent = v.object({
  type: v.picklist(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: v.unknown(),
});

export type WatchEvent = v.InferOutput<typeof watchEvent>;

/** Longer than any object that etcd holds (1.5 MiB by default), with all escapes. */
const maximumLineLength = 16 * 1024 * 1024;

/**
 * The events of a watch, one JSON document per line. A line that the connection broke off within is not an event: the
 * next watch continues from the last complete one.
 *
 * @throws {ReadError} `InvalidDocument` for a line that is not an event; the stream cannot be used after that
 */
export async function* watchEvents(chunks: AsyncIterable<string>): AsyncGenerator<WatchEvent> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > maximumLineLength) {
      throw new ReadError(
        'InvalidDocument',
        `an event of a watch is longer than ${maximumLineLength} characters`,
      );
    }
    for (const line of lines) if (line.trim() !== '') yield parseEvent(line);
  }
}

function parseEvent(line: string): WatchEvent {
  try {
    return v.parse(watchEvent, JSON.parse(line));
  } catch (cause) {
    throw new ReadError('InvalidDocument', 'a line of a watch is not an event', { cause });
  }
}

/**
 * Passes chunks on. Ends when nothing has arrived for too long, or when `signal` aborts: a connection to a peer that is
 * gone can stay open and silent for ever.
 */
export async function* untilSilent(
  chunks: AsyncIterable<string>,
  silenceMilliseconds: number,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const iterator = chunks[Symbol.asyncIterator]();
  while (!signal.aborted) {
    const result = await waitAtMost(iterator.next(), silenceMilliseconds, clock, signal);
    if (signal.aborted || result === 'timed-out' || result.done === true) return;
    yield result.value;
  }
}

const objectWithName = v.object({
  metadata: v.object({ name: v.string(), namespace: v.nullish(v.string(), '') }),
});
const objectWithVersion = v.object({
  metadata: v.object({ resourceVersion: v.pipe(v.string(), v.nonEmpty()) }),
});

/** `<namespace>/<name>`. @throws {ReadError} `InvalidDocument` for an object without a name */
export function objectKey(object: unknown): string {
  const parsed = v.safeParse(objectWithName, object);
  if (!parsed.success) throw new ReadError('InvalidDocument', 'an object has no name');
  const { name, namespace } = parsed.output.metadata;
  return `${namespace ?? ''}/${name}`;
}

/** @returns `undefined` if the object has none */
export function resourceVersionOf(object: unknown): string | undefined {
  const parsed = v.safeParse(objectWithVersion, object);
  return parsed.success ? parsed.output.metadata.resourceVersion : undefined;
}
