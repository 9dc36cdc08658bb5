import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../scripts/harness/wait-until.ts';
import { collectionPath } from './exclusive-resources.ts';
import { type GetSuite, kubectls, type LiveSuite } from './live-suite.ts';
import { describeMutations, type MutationLoop, startMutationLoop } from './mutation-loop.ts';
import { describeReads, type ReadLoop, startReadLoop } from './read-loop.ts';
import type { LiveRouter } from './routers.ts';
import { tlsRequest } from './tls-request.ts';
import {
  describeWatch,
  startWatchFollower,
  type WatchedCollection,
  type WatchFollower,
} from './watch-follower.ts';

/** How long a server stays away: well past the time in which a list without it could be taken for the truth. */
const awayMilliseconds = 12_000;

/** Servers that go away, in peace or not, and come back as what they were or as another version. */
export function registerDepartureCases(suite: GetSuite): void {
  const [kubectl] = kubectls;
  if (kubectl === undefined) return;

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    test(`the only server of a version ends by ${signal}: what only it serves is unavailable, never not found`, async (context) => {
      const { cluster, newer } = suite();
      const [routerA] = cluster.sidecars;
      const [, , only] = cluster.servers;
      const clients = await startClients(suite(), signal.toLowerCase(), [routerA, cluster.gateway]);
      try {
        await clients.untilMoreRounds();
        await (signal === 'SIGTERM' ? only.stop() : only.kill());
        await sleep(awayMilliseconds);
        for (const { name, origin } of [routerA, cluster.gateway]) {
          const answer = await tlsRequest(`${origin}${collectionPath(newer)}`, cluster.operator);
          assert.equal(answer.statusCode, 503, name);
          assert.ok(Number(answer.headers['retry-after']) > 0, name);
          const groups = await tlsRequest(`${origin}/apis`, cluster.operator);
          assert.ok(groups.text.includes(`"${newer.apiVersion}"`), `${name} still names ${newer.apiVersion}`);
        }
        await only.launch(only.binary());
        await only.untilReady();
        await clients.untilMoreRounds();
      } finally {
        await clients.stop();
        if (!only.isRunning()) await only.launch(only.binary());
        await only.untilReady();
      }
      clients.assertNothingWrong(context);
    });
  }

  test('a server is killed and comes back within half a second as another version: no request is answered wrongly', async (context) => {
    const { cluster } = suite();
    const [, server] = cluster.servers;
    const [, routerB] = cluster.sidecars;
    const before = server.binary();
    const clients = await startClients(suite(), 'another', [routerB, cluster.gateway]);
    try {
      for (const binary of [cluster.newest, before, cluster.newest, before]) {
        await clients.untilMoreRounds();
        await server.kill();
        await server.launch(binary);
        await server.untilReady();
      }
      await clients.untilMoreRounds();
    } finally {
      await clients.stop();
      if (!server.isRunning()) await server.launch(before);
      await server.untilReady();
    }
    clients.assertNothingWrong(context);
  });
}

interface Clients {
  /** Resolves once every one that changes objects has done so a few times more. */
  untilMoreRounds(): Promise<void>;
  stop(): Promise<void>;
  assertNothingWrong(context: TestContext): void;
}

/** Lists, watches, creates, changes and removes through each of these routers, without a pause. */
async function startClients(
  { cluster, newer, older }: LiveSuite,
  name: string,
  routers: readonly LiveRouter[],
): Promise<Clients> {
  const credentials = cluster.operator;
  const collections: readonly WatchedCollection[] = [
    {
      path: '/api/v1/namespaces/default/configmaps',
      object: { apiVersion: 'v1', kind: 'ConfigMap', spec: {} },
    },
    { path: collectionPath(newer, 'default'), object: newer },
    { path: collectionPath(older, 'default'), object: older },
  ];
  const reads: (readonly [string, ReadLoop])[] = [];
  const mutations: (readonly [string, MutationLoop])[] = [];
  const watches: (readonly [string, WatchFollower])[] = [];
  for (const router of routers) {
    const paths = collections.map(({ path }) => path);
    reads.push([router.name, startReadLoop(router.origin, () => paths, credentials)]);
    for (const [index, collection] of collections.entries()) {
      const title = `${router.name}, ${collection.object.kind} ${collection.object.apiVersion}`;
      const prefix = `${name}-${router.name}-${index}`;
      watches.push([title, await startWatchFollower(router.origin, collection, credentials)]);
      mutations.push([title, startMutationLoop(router.origin, collection, credentials, prefix)]);
    }
  }
  return {
    async untilMoreRounds() {
      await Promise.all(
        mutations.map(([title, { counts }]) => {
          const from = counts.rounds;
          return waitUntil(`${title}: more objects are made and removed`, () => counts.rounds >= from + 3);
        }),
      );
    },
    async stop() {
      await Promise.all([...reads, ...mutations, ...watches].map(([, client]) => client.stop()));
    },
    assertNothingWrong(context) {
      for (const [title, loop] of reads) context.diagnostic(`reads, ${title}: ${describeReads(loop)}`);
      for (const [title, loop] of mutations)
        context.diagnostic(`writes, ${title}: ${describeMutations(loop)}`);
      for (const [title, watch] of watches) context.diagnostic(`watch, ${title}: ${describeWatch(watch)}`);
      for (const [title, { counts }] of [...reads, ...mutations]) {
        assert.equal(counts.notFound, 0, `wrong 404s, ${title}`);
        assert.equal(counts.forbidden, 0, `wrong 403s, ${title}`);
      }
      for (const [title, { counts }] of watches)
        assert.equal(counts.notFound, 0, `wrong 404s of watches, ${title}`);
    },
  };
}
