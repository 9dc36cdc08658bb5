import { join } from 'node:path';
import { Duplex, Writable } from 'node:stream';
import type { DemoCertificates } from '../../../demo/certificates.ts';
import {
  apiServerId,
  type ExampleStore,
  type KubernetesVersionName,
} from '../../../demo/example-api-server/index.ts';
import { groupVersionOf, kubernetesVersions } from '../../../demo/example-api-server/kubernetes-versions.ts';
import type { Child } from '../../harness/child-process.ts';
import { serveStore } from './serve-store.ts';
import type { ServerProcessConfiguration } from './server-configuration.ts';
import { startScript } from './start-script.ts';
import { storeDescriptors } from './store-calls.ts';

interface ApiServerOptions {
  readonly name: string;
  readonly port: number;
  readonly certificates: DemoCertificates;
  readonly store: ExampleStore;
  readonly bookmarkInterval: number;
  readonly logFile: string;
}

/** When a server answered: from having said that it listens to being told to stop, in milliseconds of `performance`. */
interface Life {
  readonly version: KubernetesVersionName;
  readonly from: number;
  until: number;
}

/** One node's API server: whatever version of it runs, at the same address and under the same ID. */
export class ApiServer {
  readonly serverId: string;
  readonly port: number;
  readonly #options: ApiServerOptions;
  readonly #lives: Life[] = [];
  #process: Child | undefined;

  constructor(options: ApiServerOptions) {
    this.#options = options;
    this.serverId = apiServerId(options.name);
    this.port = options.port;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  get version(): KubernetesVersionName | undefined {
    return this.#lives.at(-1)?.version;
  }

  async start(version: KubernetesVersionName): Promise<void> {
    const { name, port, certificates, store, bookmarkInterval, logFile } = this.#options;
    const configuration: ServerProcessConfiguration = {
      version,
      name,
      port,
      certificates,
      bookmarkInterval,
    };
    const running = await startScript({
      arguments: [join(import.meta.dirname, 'server-process.ts'), JSON.stringify(configuration)],
      logFile,
      furtherPipes: 2,
      stopWithin: 10_000,
    });
    this.#process = running;
    const calls = running.pipes[storeDescriptors.calls];
    const news = running.pipes[storeDescriptors.news];
    if (!(calls instanceof Duplex) || !(news instanceof Writable))
      throw new TypeError('the pipes are missing');
    serveStore(store, calls, news);
    await running.nextLine();
    this.#lives.push({ version, from: performance.now(), until: Number.POSITIVE_INFINITY });
  }

  /** SIGKILL: connections break, the identity Lease stays. */
  kill(): Promise<void> {
    this.#endLife();
    return this.#process?.kill() ?? Promise.resolve();
  }

  /** Turns a group version off, or on again, so that the next snapshot differs. */
  changeServedSet(): void {
    this.#process?.signal('SIGUSR2');
  }

  /** Whether it answered during all of the time and serves the resource. */
  servedDuring(groupVersion: string, resource: string, from: number, until: number): boolean {
    return this.#lives.some(
      (life) => life.from <= from && life.until >= until && serves(life.version, groupVersion, resource),
    );
  }

  #endLife(): void {
    const life = this.#lives.at(-1);
    if (life !== undefined) life.until = Math.min(life.until, performance.now());
  }
}

function serves(version: KubernetesVersionName, groupVersion: string, resource: string): boolean {
  return kubernetesVersions[version].table.some(
    (one) =>
      groupVersionOf(one.group, one.version) === groupVersion &&
      one.resources.some((served) => served.resource === resource),
  );
}
