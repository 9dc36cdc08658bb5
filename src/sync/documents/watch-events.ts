import * as v from 'valibot';
import type { Clock } from '../../runtime/clock.ts';
import { ReadError } from './server-documents.ts';

/** k8s.io/apimachinery pkg/watch/watch.go. */
const watchEvent = v.object({
  type: v.picklist(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: v.unknown(),
});

export type WatchEvent = v.InferOutput<typeof watchEvent>;

/** Longer than any object that etcd holds (1.5 MiB by default), whatever its escapes. */
const maximumLineLength = 16 * 1024 * 1024;

/**
 * The events of a watch, one JSON document a line.
 *
 * @throws {ReadError} `InvalidDocument` for a line that is no event; the stream is of no more use then
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
  // What the connection broke off within is no event; the watch goes on from the last whole one.
}

function parseEvent(line: string): WatchEvent {
  try {
    return v.parse(watchEvent, JSON.parse(line));
  } catch (cause) {
    throw new ReadError('InvalidDocument', 'a line of a watch is no event', { cause });
  }
}

/**
 * Passes chunks on, and ends when nothing has come for too long or `signal` aborts: a connection whose other end
 * is gone stays open and silent for ever, and a watch on it would never hear of anything again.
 */
export async function* untilSilent(
  chunks: AsyncIterable<string>,
  silenceMilliseconds: number,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const iterator = chunks[Symbol.asyncIterator]();
  while (!signal.aborted) {
    const heard = new AbortController();
    const silence = clock
      .sleep(silenceMilliseconds, AbortSignal.any([signal, heard.signal]))
      .then(() => 'silence' as const);
    const next = iterator.next();
    // Whoever loses the race may still fail; that is nobody's business any more.
    next.catch(() => {});
    const result = await Promise.race([next, silence]);
    heard.abort();
    if (signal.aborted || result === 'silence' || result.done === true) return;
    yield result.value;
  }
}
