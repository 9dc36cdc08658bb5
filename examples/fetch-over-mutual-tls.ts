/** Peers reached by undici's `fetch` over mutual TLS and HTTP/2: a transport of one's own on Node. */

import { connect, type TLSSocket } from 'node:tls';
import { fetch, type RequestInit } from 'undici';
import type { Transport } from '../src/index.ts';
import { Http2Pool } from '../src/node/index.ts';
import { fetchTransport } from './own-transport.ts';

export interface MutualTls {
  /** PEM of the authority that has signed the peers' serving certificates. */
  readonly authority: string;
  /** PEM of the client certificate by which peers believe the X-Remote headers. */
  readonly certificate: string;
  readonly key: string;
}

/** Every API server's certificate has this name, whatever its address. */
const serverName = 'kubernetes.default.svc';

/** @returns the transport, and what closes its connections */
export function fetchOverMutualTls({ authority, certificate, key }: MutualTls): {
  transport: Transport;
  close(): Promise<unknown>;
} {
  const pools = new Map<string, Http2Pool>();
  const poolFor = (origin: string): Http2Pool => {
    const known = pools.get(origin);
    if (known !== undefined) return known;
    const { hostname, port } = new URL(origin);
    const pool = new Http2Pool(origin, {
      connect: (onread) =>
        new Promise<TLSSocket>((resolve, reject) => {
          const options = { host: hostname, port: Number(port || 443), servername: serverName, onread };
          const credentials = { ca: authority, cert: certificate, key };
          const socket = connect({ ...options, ...credentials, ALPNProtocols: ['h2'] }, () =>
            resolve(socket),
          );
          socket.on('error', reject);
        }),
    });
    pools.set(origin, pool);
    return pool;
  };
  const transport = fetchTransport(async (request) => {
    const { method, headers, body, signal, url } = request;
    const init = { method, headers: [...headers], body, signal, duplex: 'half', redirect: 'manual' };
    const dispatcher = poolFor(new URL(url).origin);
    // undici's `Response` is Node's own class in another copy.
    return (await fetch(url, { ...init, dispatcher } as RequestInit)) as unknown as Response;
  });
  return { transport, close: () => Promise.all([...pools.values()].map((pool) => pool.close())) };
}
