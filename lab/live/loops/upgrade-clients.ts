import type { Kubectl } from '../../../test/support/clients/kubectl.ts';
import type { LiveSuite } from '../live-suite.ts';
import { collectionPath, kubectlName } from './exclusive-resources.ts';
import { startLoop } from './loop.ts';
import { type ObjectWriter, startObjectWriter } from './object-writer.ts';
import { describeReads, type ReadLoop, startReadLoop } from './read-loop.ts';
import { describeWatch, lostOf, startWatchFollower, type WatchedCollection } from './watch-follower.ts';

/** The ways into the cluster that are compared; `bare` is the one without a router. */
const waysIn = ['routers', 'gateway', 'bare'] as const;
export type WayIn = (typeof waysIn)[number];

export interface UpgradeClientsOptions {
  /** Namespace of what is read and written. */
  readonly scope: string;
  /** Name of one object of each kind, which is read all the time. */
  readonly fixed: string;
  readonly kubectl: Kubectl;
}

/** Clients at work: each way in is read and watched, objects are made and kubectl runs through the routers. */
export interface UpgradeClients {
  readonly reads: Readonly<Record<WayIn, ReadLoop>>;
  /** kubectl commands that have ended, and what those that failed, or complained, had to say. */
  readonly commands: { readonly ended: number; readonly failed: readonly string[] };
  /** The older resource is about to go, and rightly so: it is not read any more once this resolves. */
  leaveOlder(): Promise<void>;
  /** Events that watches of this way in have not shown yet. */
  lost(way: WayIn): readonly string[];
  /** 404s in place of watches. */
  watchesNotFound(way: WayIn): number;
  /** Ends kubectl and what writes; watches go on. */
  stopWriting(): Promise<void>;
  /** Ends everything. */
  stop(): Promise<void>;
  /** Events, a line each. */
  describe(): readonly string[];
}

function originsOf({ forwarders, gateway }: LiveSuite['cluster']): Readonly<Record<WayIn, string>> {
  return {
    routers: `https://127.0.0.1:${forwarders.routers.port}`,
    gateway: gateway.origin,
    bare: `https://127.0.0.1:${forwarders.apiServers.port}`,
  };
}

/** Runs commands through the routers, one after the other. */
function startKubectl(
  { run, newer }: Pick<LiveSuite, 'run' | 'newer'>,
  { scope, fixed, kubectl }: UpgradeClientsOptions,
) {
  const commands = { ended: 0, failed: [] as string[] };
  const runs = startLoop(0, async () => {
    for (const args of [
      ['get', kubectlName(newer), fixed, ...(newer.namespaced ? ['-n', scope] : [])],
      ['get', 'configmap', fixed, '-n', scope],
      ['api-resources'],
    ]) {
      const { code, stderr } = await run(kubectl, 'routers', args);
      commands.ended++;
      if (code !== 0 || stderr !== '') commands.failed.push(`${args.join(' ')}: ${stderr}`);
    }
  });
  return { commands, runs };
}

function describeWriters(writers: ReadonlyMap<WatchedCollection, ObjectWriter>): string[] {
  return [...writers].map(
    ([{ object }, { written, retries }]) =>
      `written, ${object.kind}: ${written.length} objects, ${retries()} attempts made again`,
  );
}

export async function startUpgradeClients(
  { cluster, newer, older, run }: LiveSuite,
  { scope, fixed, kubectl }: UpgradeClientsOptions,
): Promise<UpgradeClients> {
  const { admin, operator } = cluster;
  const origins = originsOf(cluster);
  let readOlder = true;
  const paths = () => [
    `/api/v1/namespaces/${scope}/configmaps/${fixed}`,
    `${collectionPath(newer, scope)}/${fixed}`,
    ...(readOlder ? [`${collectionPath(older, scope)}/${fixed}`] : []),
  ];
  const collections: readonly WatchedCollection[] = [
    {
      path: `/api/v1/namespaces/${scope}/configmaps`,
      object: { apiVersion: 'v1', kind: 'ConfigMap', spec: {} },
    },
    { path: collectionPath(newer, scope), object: newer },
  ];
  const watches = await Promise.all(
    waysIn.flatMap((way) =>
      collections.map(async (collection) => ({
        way,
        collection,
        follower: await startWatchFollower(origins[way], collection, admin),
      })),
    ),
  );
  const readAt = (way: WayIn) => startReadLoop(origins[way], paths, operator);
  const reads = { routers: readAt('routers'), gateway: readAt('gateway'), bare: readAt('bare') };
  const writers = new Map<WatchedCollection, ObjectWriter>(
    collections.map((collection) => [collection, startObjectWriter(origins.routers, collection, admin)]),
  );
  const { commands, runs: kubectlRuns } = startKubectl({ run, newer }, { scope, fixed, kubectl });
  const watchesOf = (way: WayIn) => watches.filter((watch) => watch.way === way);
  const lost = (way: WayIn) =>
    watchesOf(way).flatMap(({ collection, follower }) =>
      lostOf(follower, writers.get(collection)?.written ?? []),
    );
  async function stopWriting(): Promise<void> {
    await Promise.all([kubectlRuns, ...writers.values()].map((loop) => loop.stop()));
  }
  return {
    reads,
    commands,
    async leaveOlder() {
      readOlder = false;
      await Promise.all(Object.values(reads).map((loop) => loop.nextTurn()));
    },
    lost,
    watchesNotFound: (way) => watchesOf(way).reduce((sum, { follower }) => sum + follower.counts.notFound, 0),
    stopWriting,
    async stop() {
      await stopWriting();
      await Promise.all([
        ...Object.values(reads).map((loop) => loop.stop()),
        ...watches.map(({ follower }) => follower.stop()),
      ]);
    },
    describe: () => [
      ...describeWriters(writers),
      `kubectl through the routers: ${commands.ended} commands, ${commands.failed.length} failed`,
      ...waysIn.flatMap((way) => [
        `reads, ${way}: ${describeReads(reads[way])}`,
        ...watchesOf(way).map(
          ({ collection, follower }) =>
            `watch, ${way}, ${collection.object.kind}: ${describeWatch(follower)}`,
        ),
        `events that never came, ${way}: ${lost(way).length}`,
      ]),
    ],
  };
}
