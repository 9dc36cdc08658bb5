import { request } from 'node:https';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type TlsCredentials, tlsRequest } from '../../../test/support/clients/tls-request.ts';
import type { ExclusiveResource } from './exclusive-resources.ts';

const pause = 200;

/** The objects that are watched and written. */
export interface WatchedCollection {
  /** Path of the collection. */
  readonly path: string;
  readonly object: Pick<ExclusiveResource, 'apiVersion' | 'kind' | 'spec'>;
}

export interface WatchCounts {
  /** Connections that a watch began on. */
  opened: number;
  /** 404 in place of a watch: to a client the resource is gone. */
  notFound: number;
  /** Any other refusal, or no answer. */
  failed: number;
  /** 410: the server does not know what has happened since, as one that has just started; its client lists anew. */
  gone: number;
}

/**
 * Follows a collection as client-go's reflector does: on from the last version it saw, on a new connection, and behind
 * a 410 from a new list (client-go tools/cache/reflector.go, ListAndWatch).
 */
export interface WatchFollower {
  readonly counts: Readonly<WatchCounts>;
  /** How often each object was seen to be added, by a watch or by the list behind a 410. */
  readonly added: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: {
    readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
    readonly code?: number;
  };
}

/** Begins behind what is there now. */
export async function startWatchFollower(
  origin: string,
  { path }: WatchedCollection,
  credentials: TlsCredentials,
): Promise<WatchFollower> {
  const counts: WatchCounts = { opened: 0, notFound: 0, failed: 0, gone: 0 };
  const added = new Map<string, number>();
  const end = new AbortController();
  let { resourceVersion } = await list(`${origin}${path}`, credentials);

  function take({ type, object }: WatchEvent): void {
    const { name = '', resourceVersion: version } = object.metadata ?? {};
    if (type === 'ERROR') {
      if (object.code === 410) counts.gone++;
      else counts.failed++;
      return;
    }
    if (version !== undefined) resourceVersion = version;
    if (type === 'ADDED') added.set(name, (added.get(name) ?? 0) + 1);
  }

  async function relist(): Promise<void> {
    const listed = await list(`${origin}${path}`, credentials).catch(() => undefined);
    if (listed === undefined) return;
    resourceVersion = listed.resourceVersion;
    for (const name of listed.names) if (!added.has(name)) added.set(name, 1);
  }

  const running = (async () => {
    while (!end.signal.aborted) {
      const goneBefore = counts.gone;
      const url = `${origin}${path}?watch=1&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`;
      try {
        const statusCode = await followOnce(url, credentials, end.signal, () => counts.opened++, take);
        if (statusCode === 404) counts.notFound++;
        else if (statusCode === 410) counts.gone++;
        else if (statusCode !== 200) counts.failed++;
      } catch {
        if (!end.signal.aborted) counts.failed++;
      }
      if (counts.gone > goneBefore) {
        await relist();
      }
      await sleep(pause, undefined, { signal: end.signal }).catch(() => undefined);
    }
  })();
  return {
    counts,
    added,
    stop() {
      end.abort();
      return running;
    },
  };
}

/** One line: `watches 4, 404 1, other failures 1, 410 0`. */
export function describeWatch({ counts: { opened, notFound, failed, gone } }: WatchFollower): string {
  return `watches ${opened}, 404 ${notFound}, other failures ${failed}, 410 ${gone}`;
}

/** Names in `written` that were never seen. */
export function lostOf({ added }: WatchFollower, written: readonly string[]): readonly string[] {
  return written.filter((name) => !added.has(name));
}

async function list(
  url: string,
  credentials: TlsCredentials,
): Promise<{ readonly resourceVersion: string; readonly names: readonly string[] }> {
  for (;;) {
    const { statusCode, text } = await tlsRequest(url, credentials);
    if (statusCode === 200) {
      const { metadata, items } = JSON.parse(text) as {
        metadata: { resourceVersion: string };
        items: readonly { metadata: { name: string } }[];
      };
      return { resourceVersion: metadata.resourceVersion, names: items.map((item) => item.metadata.name) };
    }
    await sleep(pause);
  }
}

/** @returns the code of the answer, once its watch has ended */
function followOnce(
  url: string,
  credentials: TlsCredentials,
  signal: AbortSignal,
  onOpen: () => void,
  onEvent: (event: WatchEvent) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { ...credentials, agent: false, servername: 'kubernetes.default.svc', signal } as const;
    const outgoing = request(url, options, (incoming) => {
      const { statusCode = 0 } = incoming;
      incoming.once('error', reject);
      if (statusCode !== 200) {
        incoming.resume().once('end', () => resolve(statusCode));
        return;
      }
      onOpen();
      let isWhole = true;
      createInterface({ input: incoming, crlfDelay: Number.POSITIVE_INFINITY })
        .on('line', (line) => {
          // A connection that breaks off may leave half an event; it comes again on the next one.
          const event = parseEvent(line);
          if (event === undefined) isWhole = false;
          else if (isWhole) onEvent(event);
        })
        .once('error', reject)
        .once('close', () => resolve(statusCode));
    });
    outgoing.once('error', reject);
    outgoing.end();
  });
}

function parseEvent(line: string): WatchEvent | undefined {
  try {
    return JSON.parse(line) as WatchEvent;
  } catch {
    return undefined;
  }
}
