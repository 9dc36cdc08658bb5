import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import type { EdgeTls, RunningEdge } from '../../../demo/edge/running-edge.ts';
import { clusterAuthority, frontProxyPair, serverPair } from '../credentials.ts';
import type { RunningRuntime } from '../runtime.ts';
import type { ClientCertificate } from '../wire/exchange.ts';
import { http1Client } from '../wire/http1-client.ts';

/** The TLS side of a router in a process of its own. */
export function edgeTls(identity: 'front-proxy' | 'assertion'): EdgeTls {
  return {
    serving: { certificate: serverPair.chain, privateKey: serverPair.privateKey },
    destinationAuthorities: clusterAuthority.certificate,
    ...(identity === 'assertion'
      ? {}
      : { frontProxyClient: { certificate: frontProxyPair.chain, privateKey: frontProxyPair.privateKey } }),
  };
}

/** Starts such a router in a directory of its own, and asks it over HTTP/1.1. */
export async function startEdgeRuntime(
  start: (directory: string) => Promise<RunningEdge>,
  tls: (certificate: ClientCertificate | undefined) => ConnectionOptions,
): Promise<RunningRuntime> {
  const directory = await mkdtemp(join(tmpdir(), 'conformance-'));
  const removeDirectory = (): Promise<void> => rm(directory, { recursive: true, force: true });
  let edge: RunningEdge;
  try {
    edge = await start(directory);
  } catch (error) {
    await removeDirectory();
    throw error;
  }
  const client = http1Client({ port: Number(new URL(edge.origin).port), tls });
  return {
    client,
    async close() {
      await client.close();
      await edge.close();
      await removeDirectory();
    },
  };
}
