import { connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';

interface SlowReaderOptions {
  readonly origin: string;
  readonly path: string;
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
  /** Bytes to read in all, and each second. */
  readonly bytes: number;
  readonly bytesPerSecond: number;
}

/** A client's receive window: one that reads slowly must not have taken everything already. */
const streamWindow = 64 * 1024;
const pause = 20;

/**
 * Reads an answer over HTTP/2 no faster than told, then hangs up. Back-pressure is what reaches the proxy: nothing
 * piles up here.
 * @throws when the answer is no 200, or is shorter.
 */
export async function readSlowly(options: SlowReaderOptions): Promise<void> {
  const session = connect(options.origin, { ...options.tls, settings: { initialWindowSize: streamWindow } });
  try {
    const failed = new Promise<never>((_, reject) => session.on('error', reject));
    await Promise.race([read(session.request({ ':path': options.path }), options), failed]);
  } finally {
    session.destroy();
  }
}

async function read(
  stream: ReturnType<ReturnType<typeof connect>['request']>,
  { bytes, bytesPerSecond }: SlowReaderOptions,
): Promise<void> {
  let status: number | undefined;
  stream.on('response', (headers) => {
    status = headers[':status'];
  });
  const start = performance.now();
  let taken = 0;
  for await (const chunk of stream) {
    taken += (chunk as Buffer).length;
    if (taken >= bytes) return;
    while (taken > ((performance.now() - start) / 1_000) * bytesPerSecond) await sleep(pause);
  }
  throw new Error(`the answer (${status}) ended after ${taken} of ${bytes} bytes`);
}
