import { postObject, type TlsCredentials } from '../../../test/support/clients/tls-request.ts';
import { manifestOf } from './exclusive-resources.ts';
import { type Loop, startLoop } from './loop.ts';
import type { WatchedCollection } from './watch-follower.ts';

const pause = 150;
/** Milliseconds until an attempt is given up and made again. */
const attemptTimeout = 5000;

export interface ObjectWriter extends Loop {
  /** Names of the objects that an API server has confirmed, in order. */
  readonly written: readonly string[];
  /** Attempts that failed and were made again. */
  readonly retries: () => number;
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
  const loop = startLoop(pause, async () => {
    const name = `written-${written.length}`;
    if (await create(origin, collection, name, credentials)) written.push(name);
    else retries++;
  });
  return { ...loop, written, retries: () => retries };
}

async function create(
  origin: string,
  { path, object }: WatchedCollection,
  name: string,
  credentials: TlsCredentials,
): Promise<boolean> {
  try {
    const made = manifestOf(object, name);
    const { statusCode } = await postObject(`${origin}${path}`, made, credentials, {
      timeout: attemptTimeout,
    });
    return statusCode === 201 || statusCode === 409;
  } catch {
    return false;
  }
}
