import { request } from 'node:https';
import { sealedSnapshotLimit } from '../../snapshot/limits.ts';
import type { RouterConnection } from './router-connection.ts';

/** An answer of the router, whatever its code. */
export interface RouterAnswer {
  readonly status: number;
  readonly text: string;
}

const patience = 10_000;

/** A snapshot as plain JSON is larger than sealed: base64 takes a third, white space is left out. */
const longestAnswer = 2 * sealedSnapshotLimit;

/**
 * Asks a router for one of its own paths.
 * @param path below `/.mixed-version-proxy/`
 * @throws when there is no answer, or none that ends within ten seconds
 */
export function askRouter(connection: RouterConnection, path: string): Promise<RouterAnswer> {
  const { origin, serverName, certificateAuthorities, clientCertificate, headers } = connection;
  const { promise, resolve, reject } = Promise.withResolvers<RouterAnswer>();
  const outgoing = request(`${origin}/.mixed-version-proxy/${path}`, {
    headers: ['accept', 'application/json', 'host', new URL(origin).host, ...headers],
    agent: false,
    signal: AbortSignal.timeout(patience),
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(certificateAuthorities === undefined ? {} : { ca: certificateAuthorities }),
    ...(clientCertificate === undefined
      ? {}
      : { cert: clientCertificate.certificate, key: clientCertificate.key }),
  });
  outgoing.on('error', reject);
  outgoing.on('response', (incoming) => {
    const chunks: Buffer[] = [];
    let length = 0;
    incoming.on('data', (chunk: Buffer) => {
      length += chunk.byteLength;
      chunks.push(chunk);
      if (length > longestAnswer)
        outgoing.destroy(new RangeError(`the answer is longer than ${longestAnswer} bytes`));
    });
    incoming.on('error', reject);
    incoming.on('end', () =>
      resolve({ status: incoming.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
    );
  });
  outgoing.end();
  return promise;
}
