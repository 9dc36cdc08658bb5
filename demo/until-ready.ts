import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { CertificatePaths } from './certificates.ts';

/** Milliseconds. On a slow machine the first round of the sync job takes a second or two. */
const deadline = 60_000;
const pollInterval = 100;

/**
 * Waits until every router says that it is ready: it has a snapshot to route by.
 * @param client presented to routers that demand a certificate.
 * @throws when one is not within a minute.
 */
export async function untilReady(
  routers: readonly { readonly origin: string }[],
  certificateAuthority: string,
  signal: AbortSignal,
  client?: CertificatePaths,
): Promise<void> {
  const read = (file: string) => readFile(file, 'utf8');
  const dispatcher = new Agent({
    connect: {
      ca: await read(certificateAuthority),
      ...(client === undefined
        ? {}
        : { cert: await read(client.certificate), key: await read(client.privateKey) }),
    },
  });
  const until = Date.now() + deadline;
  try {
    for (const { origin } of routers) {
      while (!signal.aborted) {
        const { statusCode, body } = await request(`${origin}/readyz`, { dispatcher });
        const text = await body.text();
        if (statusCode === 200) break;
        if (Date.now() > until) throw new Error(`${origin} is not ready: ${text}`);
        await sleep(pollInterval, undefined, { signal }).catch(() => undefined);
      }
    }
  } finally {
    await dispatcher.close();
  }
}
