import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Snapshot } from '../../../src/snapshot/format/schema.ts';
import { type ApiServerDouble, startApiServer } from '../api-servers/api-server-double.ts';
import { type ParsedFamily, parseScrape } from '../prometheus-text.ts';
import { snapshotOf } from '../snapshots/snapshot-builder.ts';
import { type StartedRouter, servingPair, startRouterWithFiles } from './started-router.ts';

/** `ask` and `push` are a super-user's. */
export interface ObservedRouter extends Pick<Awaited<ReturnType<StartedRouter['asUser']>>, 'ask' | 'push'> {
  readonly started: StartedRouter;
  readonly peer: ApiServerDouble;
  scrape(): Promise<ReadonlyMap<string, ParsedFamily>>;
}

/** A router as `serve` starts it, with a peer, and a super-user's connection to it. */
export async function startObservedRouter(
  context: TestContext,
  flags: Readonly<Record<string, readonly string[]>> = {},
): Promise<ObservedRouter> {
  const started = await startRouterWithFiles(context, {
    flags: {
      'allow-loopback-peers': ['true'],
      ...flags,
    },
  });
  const { cluster, frontProxies } = started.authorities;
  const peer = await startApiServer(context, 'cp-b', {
    protocol: 'h2',
    pair: await servingPair(cluster, 'peer'),
    clientAuthorities: frontProxies.certificate,
  });
  const { ask, push } = await started.asUser();
  return {
    started,
    peer,
    ask,
    async scrape() {
      const { status, text } = await ask('/.mixed-version-proxy/metrics');
      assert.equal(status, 200, text);
      return parseScrape(text);
    },
    push,
  };
}

/** `cp-a` is the local server; of its peers only `cp-b` answers. */
export function mixedCluster(peer: ApiServerDouble, generation = 1): Snapshot {
  return snapshotOf(
    {
      'cp-a': { serves: ['v1/pods', 'v1/pods/exec'], address: '127.0.0.1:1' },
      'cp-b': { serves: ['v1/pods', 'batch/v1/jobs'], address: `127.0.0.1:${peer.port}` },
      // Nobody listens on port 1.
      'cp-c': { serves: ['policy/v1/evictions'], address: '127.0.0.1:1' },
      'cp-d': { serves: ['lost/v1/things'], withoutAddress: true },
    },
    {
      generation,
    },
  );
}
