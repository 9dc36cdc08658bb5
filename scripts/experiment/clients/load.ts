import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../seeded-random.ts';
import { ApiClient, type ClientOptions } from './api-client.ts';
import { discover } from './discoverer.ts';
import { execOnce } from './exec.ts';
import { getFixture, listAll } from './readers.ts';
import {
  autoscalers,
  configMaps,
  deployments,
  newFlowSchemas,
  oldAutoscalers,
  type UsedResource,
} from './subjects.ts';
import { Watcher } from './watcher.ts';
import { Writer } from './writer.ts';

/** How many clients of each kind there are, and the milliseconds between two things that one of them does. */
const steadyLoad = {
  getters: { count: 4, every: 250 },
  listers: { count: 2, every: 500 },
  writers: { count: 3, every: 400 },
  watchers: { count: 12 },
  aggregatedDiscovery: { count: 1, every: 1_000 },
  classicDiscovery: { count: 1, every: 1_000 },
  execs: { count: 1, every: 1_500 },
} as const;

interface RunningLoad {
  readonly watchers: readonly Watcher[];
  /** Creations that were confirmed. */
  created(): number;
  /** Ends the requests; the watches go on. */
  stopAsking(): Promise<void>;
  stopWatching(): Promise<void>;
}

/** Starts the clients; `signal` of the options has to abort when `stopAsking` is called. */
export function startLoad(
  options: Omit<ClientOptions, 'signal'>,
  { random, revision }: { readonly random: SeededRandom; readonly revision: number },
): RunningLoad {
  const asking = new AbortController();
  const watching = new AbortController();
  const clients: ApiClient[] = [];
  const loops: Promise<void>[] = [];
  const watches: Promise<void>[] = [];
  const known = new Set<string>();

  const newClient = (signal: AbortSignal): ApiClient => {
    const client = new ApiClient({ ...options, signal });
    clients.push(client);
    return client;
  };
  const repeat = (
    { count, every }: { readonly count: number; readonly every: number },
    makeStep: (client: ApiClient, index: number, draw: SeededRandom) => () => Promise<void>,
  ): void => {
    for (let index = 0; index < count; index += 1) {
      const draw = random.fork();
      const step = makeStep(newClient(asking.signal), index, draw);
      loops.push(
        (async () => {
          while (!asking.signal.aborted) {
            await step();
            await sleep(every * draw.between(0.5, 1.5), undefined, { signal: asking.signal }).catch(
              () => undefined,
            );
          }
        })(),
      );
    }
  };

  /** What may be read now: an API version that is new only once discovery has shown it, as any client does it. */
  const readable = (): UsedResource[] => [
    configMaps,
    deployments,
    oldAutoscalers,
    ...(known.has(newFlowSchemas.groupVersion) ? [newFlowSchemas] : []),
  ];
  repeat(steadyLoad.getters, (client, _index, draw) => () => getFixture(client, draw.pick(readable())));
  repeat(steadyLoad.listers, (client, _index, draw) => () => listAll(client, draw.pick(readable())));
  const writers: Writer[] = [];
  repeat(steadyLoad.writers, (client, index) => {
    const writer = new Writer(client, index === 0 ? oldAutoscalers : configMaps);
    writers.push(writer);
    return () => writer.write();
  });
  for (const form of ['aggregated', 'classic'] as const) {
    repeat(steadyLoad[`${form}Discovery`], (client) => async () => {
      for (const groupVersion of await discover(client, form)) known.add(groupVersion);
    });
  }
  repeat(steadyLoad.execs, (client) => () => execOnce(client));

  const watchers = Array.from({ length: steadyLoad.watchers.count }, (_, index) => {
    const watched =
      index % 3 === 0 ? { resource: oldAutoscalers, successor: autoscalers } : { resource: configMaps };
    return new Watcher(newClient(watching.signal), random.fork(), { ...watched, since: revision });
  });
  watches.push(...watchers.map((watcher) => watcher.run(watching.signal)));

  return {
    watchers,
    created: () => writers.reduce((sum, { created }) => sum + created, 0),
    async stopAsking() {
      asking.abort();
      await Promise.all(loops);
    },
    async stopWatching() {
      watching.abort();
      await Promise.all(watches);
      for (const client of clients) client.close();
    },
  };
}
