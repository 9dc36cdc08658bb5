import { setTimeout as sleep } from 'node:timers/promises';
import { newField } from '../cluster.ts';
import { objectAt } from '../example-api-server/kubernetes-object.ts';
import { type Counts, judge, noCounts } from './counts.ts';
import type { UpgradableCluster } from './upgradable-server.ts';
import { configMaps, newPolicies, oldWorkloads, pods, serves, type UsedResource } from './versions.ts';
import type { ClientRequest, WayIn } from './way-in.ts';

/** Name of the object of each resource that is there all the time. */
const fixtureName = 'fixture';
const readers = 2;
/** As in a cluster, one program reads what comes and goes, another one writes Pods. */
const reader = 'my-operator/1.0';
const writer = 'argocd/2.9';
const discovery = `/apis/${newPolicies.groupVersion}`;
/** Milliseconds between two things that a client does. */
const pauseOfReaders = 150;
const pauseOfWriters = 400;
const pauseOfDiscovery = 1_000;

/** Stores what has to be there before clients come. */
export function storeFixtures({ store }: UpgradableCluster): void {
  for (const { groupVersion, kind, storage, collection } of [configMaps, oldWorkloads, newPolicies]) {
    const place = collection.includes('/namespaces/') ? { namespace: 'default' } : {};
    store.create(storage, { apiVersion: groupVersion, kind, metadata: { name: fixtureName, ...place } });
  }
}

/** Clients on one way to the cluster, and what they have counted. */
export class Load {
  readonly counts: Counts = noCounts();
  readonly #cluster: UpgradableCluster;
  readonly #way: WayIn;
  readonly #name: string;
  readonly #stop = new AbortController();
  readonly #clients: Promise<void>[];
  #knowsNewPolicies = false;
  #made = 0;

  /** @param name part of the names of its objects; no other load may have it */
  constructor(cluster: UpgradableCluster, way: WayIn, name: string) {
    this.#cluster = cluster;
    this.#way = way;
    this.#name = name;
    this.#clients = [
      ...Array.from({ length: readers }, () => this.#repeat(pauseOfReaders, () => this.#read())),
      this.#repeat(pauseOfWriters, () => this.#writeField()),
      this.#repeat(pauseOfDiscovery, () => this.#discover()),
    ];
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#clients);
  }

  async #repeat(pause: number, step: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await step();
      await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  }

  /** New resources are used once discovery has shown them, as clients do it. */
  async #discover(): Promise<void> {
    const response = await this.#way.ask({ method: 'GET', path: discovery, userAgent: reader });
    this.counts.requests += 1;
    // The older version serves this group version as well, without the resource.
    if (response?.body.includes(`"${newPolicies.storage.resource}"`)) this.#knowsNewPolicies = true;
  }

  /** Reads an object of a resource that is served by a server of the cluster, be it stopped. */
  async #read(): Promise<void> {
    const { servers } = this.#cluster;
    const readable = [
      configMaps,
      ...(servers.some(({ version }) => serves(version, oldWorkloads)) ? [oldWorkloads] : []),
      ...(this.#knowsNewPolicies ? [newPolicies] : []),
    ];
    // By chance: in turn, the same resource would go to the same server for ever.
    const resource = readable[Math.floor(Math.random() * readable.length)] ?? configMaps;
    const path = `${resource.collection}/${fixtureName}`;
    await this.#ask(resource, { method: 'GET', path, userAgent: reader });
  }

  /** Creates an object with the field that 1.36 has added, puts a label on it, and looks into the store. */
  async #writeField(): Promise<void> {
    const { store } = this.#cluster;
    this.#made += 1;
    const name = `${this.#name}-${this.#made}`;
    const path = `${pods.collection}/${name}`;
    const hasField = () => {
      const stored = store.get(pods.storage, 'default', name);
      return stored !== undefined && newField in objectAt(stored, 'spec');
    };
    const created = await this.#ask(pods, {
      method: 'POST',
      path: pods.collection,
      userAgent: writer,
      body: {
        apiVersion: pods.groupVersion,
        kind: pods.kind,
        metadata: { name },
        spec: { containers: [], [newField]: 'training' },
      },
    });
    // A server that does not know the field says so in a warning: nothing is lost without a word.
    const wasStored = created === 201 && hasField();
    if (created !== 201) return;
    const labels = { 'looked-at': 'yes' };
    const labelled = await this.#ask(pods, {
      method: 'PATCH',
      path,
      userAgent: writer,
      body: { metadata: { labels } },
    });
    if (wasStored && labelled === 200) {
      this.counts.fieldsStored += 1;
      if (!hasField()) this.counts.fieldsLost += 1;
    }
    await this.#ask(pods, { method: 'DELETE', path, userAgent: writer });
  }

  async #ask(resource: UsedResource, request: ClientRequest): Promise<number | undefined> {
    const before = this.#serversOf(resource);
    const status = (await this.#way.ask(request))?.status;
    const after = this.#serversOf(resource);
    const verdict = judge(
      status,
      before.some((server) => after.includes(server)),
    );
    this.counts.requests += 1;
    if (verdict !== 'right') this.counts[verdict] += 1;
    return status;
  }

  /** The servers that run and serve it. */
  #serversOf(resource: UsedResource): readonly unknown[] {
    return this.#cluster.servers.flatMap(({ running, version }) =>
      running !== undefined && serves(version, resource) ? [running] : [],
    );
  }
}
