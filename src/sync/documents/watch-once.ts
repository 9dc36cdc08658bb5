import * as v from 'valibot';
import { type Clock, waitAtMost } from '../../runtime/clock.ts';
import { ReadError, type WatchConnection, withoutQuery } from './server-documents.ts';
import { resourceVersionOf, untilSilent, watchEvents } from './watch-events.ts';

export interface WatchOnceOptions {
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
export type WatchOutcome =
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
        if (isExpired(object)) return { kind: 'expired', from };
        throw new ReadError('UnexpectedStatus', `${subject} failed: ${messageOf(object)}`);
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

const status = v.object({ code: v.optional(v.number()), message: v.optional(v.string()) });

/** 410 Gone. After the response has begun, a watch can only report it as an event. */
function isExpired(object: unknown): boolean {
  const parsed = v.safeParse(status, object);
  return parsed.success && parsed.output.code === 410;
}

function messageOf(object: unknown): string {
  const parsed = v.safeParse(status, object);
  return (parsed.success ? parsed.output.message : undefined) ?? 'without a reason';
}
