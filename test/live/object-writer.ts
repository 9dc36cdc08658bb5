import { setTimeout as sleep } from 'node:timers/promises';
import { manifestOf } from './exclusive-resources.ts';
import { type TlsCredentials, tlsRequest } from './tls-request.ts';
import type { WatchedCollection } from './watch-follower.ts';

const pause = 150;
/** Milliseconds until an attempt is given up and made again. */
const attemptTimeout = 5000;

export interface ObjectWriter {
  /** Names of the objects that an API server has confirmed, in order. */
  readonly written: readonly string[];
  /** Attempts that failed and were made again. */
  readonly retries: () => number;
  stop(): Promise<void>;
}

/**
 * Makes one object after the other until it is stopped. An attempt that fails is made again under the same name, so
 * every name is written once: a conflict with itself means that the attempt before had come through.
 */
export function startObjectWriter(
  origin: string,
  collection: WatchedCollection,
  credentials: TlsCredentials,
): ObjectWriter {
  const written: string[] = [];
  let retries = 0;
  let isStopped = false;
  const running = (async () => {
    for (let number = 0; !isStopped; number++) {
      const name = `written-${number}`;
      let isWritten = await create(origin, collection, name, credentials);
      while (!isWritten && !isStopped) {
        retries++;
        await sleep(pause);
        isWritten = await create(origin, collection, name, credentials);
      }
      if (isWritten) written.push(name);
      await sleep(pause);
    }
  })();
  return {
    written,
    retries: () => retries,
    stop() {
      isStopped = true;
      return running;
    },
  };
}

async function create(
  origin: string,
  { path, object }: WatchedCollection,
  name: string,
  credentials: TlsCredentials,
): Promise<boolean> {
  try {
    const { statusCode } = await tlsRequest(`${origin}${path}`, credentials, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: manifestOf(object, name),
      timeout: attemptTimeout,
    });
    return statusCode === 201 || statusCode === 409;
  } catch {
    return false;
  }
}
