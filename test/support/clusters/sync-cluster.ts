import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { Agent } from 'undici';
import { runSync, type SyncOptions } from '../../../src/sync/node/index.ts';
import type { SyncLoop } from '../../../src/sync/sync-loop.ts';
import { type OwnPathsClient, ownPathsClient } from '../clients/own-paths-client.ts';
import { pauseAfter } from '../eventually.ts';
import {
  createEmbeddedCluster,
  type EmbeddedCluster,
  type EmbeddedClusterOptions,
} from './embedded-cluster.ts';

/** A cluster on loopback that ends with the test. */
export async function syncCluster(
  context: TestContext,
  options?: EmbeddedClusterOptions,
): Promise<EmbeddedCluster> {
  const cluster = await createEmbeddedCluster(options);
  context.after(() => cluster.close());
  return cluster;
}

interface RunningSync {
  readonly loop: SyncLoop;
  /** Ends it as a signal does. */
  stop(): Promise<void>;
}

/** Runs a sync job until the test is over, or it is stopped. */
export async function startSync(context: TestContext, options: SyncOptions): Promise<RunningSync> {
  const controller = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<SyncLoop>();
  const ended = runSync(options, controller.signal, resolve);
  ended.catch(reject);
  const stop = () => {
    controller.abort();
    return ended;
  };
  context.after(stop);
  return { loop: await promise, stop };
}

/** Client of a router's own paths: asks as the sync job's user until the test is over. */
export function askRouter(context: TestContext, origin: string, cluster: EmbeddedCluster): OwnPathsClient {
  const { admin } = cluster.certificates;
  // A router lets this certificate in at once, whatever becomes of its API servers.
  const clientCertificate = {
    certificate: readFileSync(admin.certificate, 'utf8'),
    key: readFileSync(admin.privateKey, 'utf8'),
  };
  const client = ownPathsClient(origin, { ...cluster.credentials, clientCertificate });
  context.after(() => client.close());
  return client;
}

/** Connections of a client with the sync job's certificate, until the test is over. */
export function clientAgent(context: TestContext, { credentials }: EmbeddedCluster): Agent {
  const { certificateAuthorities: ca, clientCertificate } = credentials;
  const { certificate: cert, key } = clientCertificate;
  const agent = new Agent({ connect: { ca, cert, key } });
  context.after(() => agent.destroy());
  return agent;
}

/** Repeats a request until `condition` holds for its result. Fails after a minute, far longer than any takes. */
export async function eventuallyReturns<Result>(
  request: () => Promise<Result>,
  condition: (result: Result) => boolean,
): Promise<Result> {
  const giveUpAt = Date.now() + 60_000;
  for (;;) {
    const askedAt = performance.now();
    // A router that is down does not respond yet.
    const result = await request().catch((error: unknown) => new Error(String(error)));
    if (!(result instanceof Error) && condition(result)) return result;
    if (Date.now() > giveUpAt) {
      const last = result instanceof Error ? result.message : JSON.stringify(result).slice(0, 500);
      throw new Error(`never came true: ${condition}; last result: ${last}`);
    }
    await pauseAfter(askedAt);
  }
}
