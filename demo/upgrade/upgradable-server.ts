import type { DemoCertificates } from '../certificates.ts';
import { demoServers, settingsOf, sharedByServers } from '../cluster.ts';
import type { DemoApiServer } from '../control-plane.ts';
import {
  type ExampleApiServer,
  type ExampleApiServerOptions,
  type ExampleStore,
  startExampleApiServer,
} from '../example-api-server/index.ts';
import { to, type UpgradeVersion } from './versions.ts';

/**
 * The servers of the version that most have, the newer when equal: to these a balancer leads everybody that is switched once, in the
 * middle of an upgrade. Pure.
 */
export function serversOfOneVersion<Server extends { readonly version: UpgradeVersion }>(
  servers: readonly Server[],
): readonly Server[] {
  const upgraded = servers.filter(({ version }) => version === to);
  return upgraded.length * 2 >= servers.length ? upgraded : servers.filter(({ version }) => version !== to);
}

/** One API server of the cluster that stops and returns at its address, in the version it had or in the next. */
export class UpgradableServer implements DemoApiServer {
  readonly name: string;
  readonly url: string;
  readonly serverId: string;
  readonly #shared: SharedByServers;
  readonly #port: number;
  #version: UpgradeVersion;
  #running: ExampleApiServer | undefined;

  private constructor(
    shared: SharedByServers,
    name: string,
    version: UpgradeVersion,
    first: ExampleApiServer,
  ) {
    this.#shared = shared;
    this.name = name;
    this.#version = version;
    this.#running = first;
    this.#port = first.port;
    this.url = first.url;
    this.serverId = first.serverId;
  }

  static async start(
    shared: SharedByServers,
    name: string,
    version: UpgradeVersion,
  ): Promise<UpgradableServer> {
    const first = await startExampleApiServer({ ...shared, ...settingsOf(version), name, version });
    return new UpgradableServer(shared, name, version, first);
  }

  /** The version that it has, or had when it was stopped. */
  get version(): UpgradeVersion {
    return this.#version;
  }

  /** Another object after each start; `undefined` while it is stopped. */
  get running(): ExampleApiServer | undefined {
    return this.#running;
  }

  /** Ends what it does, in an orderly manner. */
  async close(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.close();
  }

  async start(version: UpgradeVersion): Promise<void> {
    this.#version = version;
    this.#running = await startExampleApiServer({
      ...this.#shared,
      ...settingsOf(version),
      name: this.name,
      version,
      port: this.#port,
    });
  }
}

type SharedByServers = Omit<ExampleApiServerOptions, 'version' | 'name'>;

export interface UpgradableCluster {
  readonly store: ExampleStore;
  readonly servers: readonly UpgradableServer[];
}

/** Starts three servers of one version over one store, on free loopback ports. */
export async function startUpgradableCluster(
  certificates: DemoCertificates,
  version: UpgradeVersion,
): Promise<UpgradableCluster> {
  const shared = await sharedByServers(certificates);
  const started: UpgradableServer[] = [];
  for (const { name } of demoServers) started.push(await UpgradableServer.start(shared, name, version));
  return { store: shared.store, servers: started };
}
