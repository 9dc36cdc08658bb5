import { setTimeout as sleep } from 'node:timers/promises';
import { describeMachine } from '../../harness/machine.ts';
import { ApiClient } from '../clients/api-client.ts';
import { configMaps, deployments, fixtureName } from '../clients/subjects.ts';
import { Watcher } from '../clients/watcher.ts';
import { Writer } from '../clients/writer.ts';
import { startExperimentCluster } from '../cluster/experiment-cluster.ts';
import { Findings } from '../record/findings.ts';
import { missedEvents, untilCaughtUp } from '../record/outcome.ts';
import { SeededRandom } from '../seeded-random.ts';
import { reconnectingClient, slowReader } from './restless-clients.ts';
import { sampleRouters } from './sample-routers.ts';
import type { Sample, SoakResults } from './soak-results.ts';

interface SoakRun {
  readonly minutes: number;
  readonly watches: number;
  readonly seed: number;
  readonly tell: (line: string) => void;
}

/** Milliseconds. */
const sampleEvery = 5_000;
const changeSnapshotEvery = 6_000;
const writeEvery = 8_000;
const readEvery = 200;
/** Watches that are begun in a second at the start. */
const openedPerSecond = 60;

const restless = 20;

/** Three routers beside three servers of different versions, for a long time. */
export async function runSoak({ minutes, watches, seed, tell }: SoakRun): Promise<SoakResults> {
  const machine = describeMachine();
  const random = new SeededRandom(seed);
  const findings = new Findings();
  const cluster = await startExperimentCluster({
    versions: ['1.25', '1.26', '1.36'],
    bookmarkInterval: 30_000,
    historyLimit: 10_000,
    inspect: true,
  });
  const ending = new AbortController();
  const { signal } = ending;
  try {
    const { store, access, servers } = cluster;
    const options = { ...access, findings, signal };
    const loops: Promise<unknown>[] = [];
    const repeat = (every: number, step: () => unknown): void => {
      const loop = async (): Promise<void> => {
        while (!signal.aborted) {
          await step();
          await sleep(every, undefined, { signal }).catch(() => undefined);
        }
      };
      loops.push(loop());
    };

    const watchers: Watcher[] = [];
    while (watchers.length < watches) {
      const watched = { resource: configMaps, since: store.revision, timeout: [120, 300] as const };
      const watcher = new Watcher(new ApiClient(options), random.fork(), watched);
      watchers.push(watcher);
      loops.push(watcher.run(signal));
      await sleep(1_000 / openedPerSecond);
    }
    tell(`${watches} watches are open`);
    for (let index = 0; index < restless; index += 1) {
      loops.push(
        reconnectingClient(access, random.fork(), signal),
        slowReader(access, random.fork(), signal),
      );
    }
    const writer = new Writer(new ApiClient(options), configMaps);
    const reader = new ApiClient(options);
    repeat(writeEvery, () => writer.write());
    repeat(readEvery, async () => {
      const resource = random.pick([configMaps, deployments]);
      await reader.ask({ method: 'GET', path: `${resource.collection}/${fixtureName}` }, resource);
    });
    repeat(changeSnapshotEvery, () => random.pick(servers).changeServedSet());

    const begun = performance.now();
    const samples: Sample[] = [];
    while (performance.now() - begun < minutes * 60_000) {
      const at = Math.round((performance.now() - begun) / 1000);
      const sample = { at, ...(await sampleRouters(cluster)) };
      samples.push(sample);
      if (samples.length % 6 === 1) {
        const { resident, heap, sockets, generation } = sample;
        tell(
          `${at} s: ${resident} MiB resident, ${heap} MiB heap, ${sockets} sockets, generation ${generation}`,
        );
      }
      await sleep(sampleEvery);
    }
    const since = Math.max(...watchers.map((watcher) => watcher.since));
    const events = store.changesSince(since).filter(({ key }) => key.resource === configMaps.resource).length;
    await untilCaughtUp(store, watchers, 20_000);
    const missed = missedEvents(store, watchers);
    ending.abort();
    await Promise.all(loops);
    for (const { name, detail } of findings.all.slice(0, 10)) tell(`${name}: ${detail}`);
    return {
      measuredAt: new Date().toISOString(),
      machine,
      seed,
      minutes,
      watches,
      slowReaders: restless,
      reconnectingClients: restless,
      routers: cluster.routers.length,
      events,
      lostEvents: missed.length,
      watchRestarts: watchers.reduce((sum, { restarts }) => sum + restarts, 0),
      brokenWatches: findings.count('brokenWatches'),
      samples,
    };
  } finally {
    ending.abort();
    await cluster.close();
  }
}
