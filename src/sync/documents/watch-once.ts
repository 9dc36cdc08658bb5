import * as v from 'valibot';
import type { Clock } from '../../runtime/clock.ts';
import { ReadError } from './server-documents.ts';
import type { WatchConnection } from './watch-connection.ts';
import { untilSilent, watchEvents } from './watch-events.ts';
import { resourceVersionOf } from './watched-object.ts';

export interface FollowOptions {
  /** Path of the collection, with a selector or without. */
  readonly path: string;
  /** resourceVersion that is known already. */
  readonly from: string;
  /** The server is asked to end the watch after this time; one that does not is not waited for. */
  readonly lifetimeMilliseconds: number;
  readonly silenceMilliseconds: number;
  readonly connection: WatchConnection;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called in the order of the changes. What it throws breaks the watch. */
  readonly onObject: (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: unknown) => void;
  /** Called when the server takes the watch. */
  readonly onAnswered: () => void;
}

/** How a watch ended. `from`: where the next one goes on. */
export type FollowOutcome =
  /** As it should, or after too long a silence: whether that was quiet or an outage, the next one shows. */
  | { readonly kind: 'ended'; readonly from: string }
  /** Everything must be listed again: the changes since `from` are compacted away (410), or the kind is gone. */
  | { readonly kind: 'expired'; readonly from: string }
  | {
      readonly kind: 'broken';
      readonly from: string;
      readonly error: unknown;
      /** The server was reached and what it said does not let the watch go on. */
      readonly listAgain: boolean;
    };

/** How long a server may take to end a watch whose time is over, milliseconds. */
const lifetimeGrace = 10_000;

/** One watch over one connection. Never rejects. */
export async function followOnce(options: FollowOptions): Promise<FollowOutcome> {
  const { connection, clock, signal, silenceMilliseconds } = options;
  let { from } = options;
  const attempt = new AbortController();
  const either = AbortSignal.any([signal, attempt.signal]);
  void clock.sleep(options.lifetimeMilliseconds + lifetimeGrace, either).then(() => attempt.abort());
  try {
    const answer = await withinSilence(connection.watch(watchPath(options), either), options, either);
    // Not served here: a new list tells whether it is served at all, or this is one server among others.
    if (answer.status === 410 || answer.status === 404) return { kind: 'expired', from };
    if (answer.status !== 200) {
      throw new ReadError(
        'UnexpectedStatus',
        `a watch of ${options.path} was answered with ${answer.status}`,
      );
    }
    options.onAnswered();
    for await (const { type, object } of watchEvents(
      untilSilent(answer.chunks, silenceMilliseconds, clock, either),
    )) {
      if (type === 'ERROR') {
        if (isExpired(object)) return { kind: 'expired', from };
        throw new ReadError('UnexpectedStatus', `a watch of ${options.path} failed: ${messageOf(object)}`);
      }
      if (type !== 'BOOKMARK') options.onObject(type, object);
      from = resourceVersionOf(object) ?? from;
    }
    return { kind: 'ended', from };
  } catch (error) {
    // A server that refuses to go on from there, for example since etcd was restored, will refuse it again.
    const listAgain = error instanceof ReadError && error.code !== 'Unreachable';
    return { kind: 'broken', from, error, listAgain };
  } finally {
    attempt.abort();
  }
}

function watchPath({ path, from, lifetimeMilliseconds }: FollowOptions): string {
  const query = new URLSearchParams({
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: from,
    timeoutSeconds: String(Math.ceil(lifetimeMilliseconds / 1000)),
  });
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

/** The head of the answer, too, must come within the time of silence. */
async function withinSilence<Result>(
  task: Promise<Result>,
  { clock, silenceMilliseconds, path }: FollowOptions,
  signal: AbortSignal,
): Promise<Result> {
  const over = new AbortController();
  const silence = clock.sleep(silenceMilliseconds, AbortSignal.any([signal, over.signal])).then((): never => {
    throw new ReadError(
      'Unreachable',
      `a watch of ${path} was not answered within ${silenceMilliseconds} ms`,
    );
  });
  // Both may fail after the race is decided.
  silence.catch(() => {});
  task.catch(() => {});
  try {
    return await Promise.race([task, silence]);
  } finally {
    over.abort();
  }
}

const status = v.object({ code: v.optional(v.number()), message: v.optional(v.string()) });

/** 410 Gone, which a watch that has begun can only say as an event. */
function isExpired(object: unknown): boolean {
  const parsed = v.safeParse(status, object);
  return parsed.success && parsed.output.code === 410;
}

function messageOf(object: unknown): string {
  const parsed = v.safeParse(status, object);
  return (parsed.success ? parsed.output.message : undefined) ?? 'no reason was given';
}
