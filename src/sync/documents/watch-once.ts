import * as v from 'valibot';
import { type Clock, waitAtMost } from '../../runtime/time.ts';
import { ReadError, type WatchConnection, withoutQuery } from './server-documents.ts';

interface WatchOnceOptions {
  /** Path of the collection, with or without a selector. */
  readonly path: string;
  /** The resourceVersion that is already known. */
  readonly from: string;
  /** The server is asked to end the watch after this time. If it does not, the watch is ended here. */
  readonly lifetimeMilliseconds: number;
  readonly silenceMilliseconds: number;
  readonly connection: WatchConnection;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called in the order of the changes. If it throws, the watch is broken. */
  readonly onObject: (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: unknown) => void;
  /** Called when the server has accepted the watch. */
  readonly onOpen: () => void;
}

/** How a watch ended. `from`: where the next one starts. */
type WatchOutcome =
  /** Normally, or after too long a silence. The next watch shows whether that was an outage. */
  | { readonly kind: 'ended'; readonly from: string }
  /** Everything must be listed again: the changes since `from` are compacted (410), or the kind is gone. */
  | { readonly kind: 'expired'; readonly from: string }
  | {
      readonly kind: 'broken';
      readonly from: string;
      readonly error: unknown;
      /** The server was reached, and its response does not allow the watch to continue. */
      readonly listAgain: boolean;
    };

/** How long a server may take to end a watch after its lifetime, milliseconds. */
const lifetimeGrace = 10_000;

/** One watch over one connection. Never rejects. */
export async function watchOnce(options: WatchOnceOptions): Promise<WatchOutcome> {
  const { connection, clock, signal, silenceMilliseconds } = options;
  const subject = `a watch of ${withoutQuery(options.path)}`;
  let { from } = options;
  const attempt = new AbortController();
  const either = AbortSignal.any([signal, attempt.signal]);
  void clock.sleep(options.lifetimeMilliseconds + lifetimeGrace, either).then(() => attempt.abort());
  try {
    const opening = connection.watch(watchPath(options), either);
    const response = await waitAtMost(opening, silenceMilliseconds, clock, either);
    if (response === 'timed-out') {
      throw new ReadError('Unreachable', `no response to ${subject} within ${silenceMilliseconds} ms`);
    }
    const { status, chunks } = response;
    // 404: a new list shows whether the kind is not served at all, or only not by this server.
    if (status === 410 || status === 404) return { kind: 'expired', from };
    if (status !== 200) throw new ReadError('UnexpectedStatus', `${subject} returned ${status}`);
    options.onOpen();
    for await (const { type, object } of watchEvents(
      untilSilent(chunks, silenceMilliseconds, clock, either),
    )) {
      if (type === 'ERROR') {
        const { code, message } = v.parse(failureStatus, object);
        if (code === 410) return { kind: 'expired', from };
        throw new ReadError('UnexpectedStatus', `${subject} failed: ${message}`);
      }
      if (type !== 'BOOKMARK') options.onObject(type, object);
      from = resourceVersionOf(object) ?? from;
    }
    return { kind: 'ended', from };
  } catch (error) {
    // A server that refuses to continue from there (after a restore of etcd, for example) will refuse it again.
    const listAgain = error instanceof ReadError && error.code !== 'Unreachable';
    return { kind: 'broken', from, error, listAgain };
  } finally {
    attempt.abort();
  }
}

function watchPath({ path, from, lifetimeMilliseconds }: WatchOnceOptions): string {
  const query = new URLSearchParams({
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: from,
    timeoutSeconds: String(Math.ceil(lifetimeMilliseconds / 1000)),
  });
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

const unknownReason = 'without a reason';
/** `metav1.Status`: after the response has begun, a watch can only report a failure as an event. */
const failureStatus = v.fallback(
  v.object({ code: v.optional(v.number()), message: v.optional(v.string(), unknownReason) }),
  { message: unknownReason },
);

/** k8s.io/apimachinery pkg/watch/watch.go. */
const watchEvent = v.object({
  type: v.picklist(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: v.unknown(),
});

type WatchEvent = v.InferOutput<typeof watchEvent>;

/** Longer than any object that etcd holds (1.5 MiB by default), with all escapes. */
const maximumLineLength = 16 * 1024 * 1024;

/**
 * The events of a watch, one JSON document per line. A line that the connection broke off within is not an event: the
 * next watch continues from the last complete one.
 *
 * @throws {ReadError} `InvalidDocument` for a line that is not an event; the stream cannot be used after that
 */
async function* watchEvents(chunks: AsyncIterable<string>): AsyncGenerator<WatchEvent> {
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
async function* untilSilent(
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
  return `${namespace}/${name}`;
}

/** @returns `undefined` if the object has none */
function resourceVersionOf(object: unknown): string | undefined {
  const parsed = v.safeParse(objectWithVersion, object);
  return parsed.success ? parsed.output.metadata.resourceVersion : undefined;
}
