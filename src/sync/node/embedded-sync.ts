import { isDeepStrictEqual } from 'node:util';
import type { ClusterAccessOptions, ServeConfig } from '../../node/configuration/serve-config.ts';
import { expiringCredentials, loadClusterAccess } from '../../node/credentials/cluster-access.ts';
import { isLocalServerAddress } from '../../node/process/local-server-id.ts';
import type { EmbeddedSync, EmbeddedSyncParts } from '../../node/process/process-edge.ts';
import type { EmbeddedSyncStatus } from '../../own-paths/status/status-sources.ts';
import { newPseudonym } from '../../request/headers.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { backOffDelay, systemClock } from '../../runtime/time.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import { SnapshotError } from '../../snapshot/format/snapshot-error.ts';
import type { OwnSnapshotReceiver } from '../../snapshot/receiving/own-receiver.ts';
import type { DeliveryResult, SnapshotTarget } from '../deliver.ts';
import type { SyncLoop } from '../sync-loop.ts';
import type { SyncOnceResult } from '../sync-once.ts';
import { runSync, syncOnce } from './run-sync.ts';
import type { LocalApiServer, SyncOptions } from './sync-options.ts';

/**
 * Milliseconds. Every router reads each server: while nothing changes, a fifth as often as a sync job that does it for
 * all. What changes is told by watches, and a server that could not be read is asked again after a second.
 */
const timing = { restInterval: 5_000, check: 30_000 };

/** Between attempts to open it, milliseconds. */
const openingBackOff = { initialMilliseconds: 500, maximumMilliseconds: 10_000 };

/** The settings that reading depends on; a change of them starts it anew. Certificates are none of them. */
type Reading = Omit<SyncOptions, 'targets' | 'previous' | 'observer' | 'logger' | 'kubernetes'> & {
  readonly kubernetes: ClusterAccessOptions;
};

/** Runs the sync job inside of a router: the same loop as `mixed-version-proxy sync`, with that router for its target. */
export function openEmbeddedSync(parts: EmbeddedSyncParts): EmbeddedSync {
  return new RouterSync(parts);
}

class RouterSync implements EmbeddedSync {
  readonly #parts: EmbeddedSyncParts;
  readonly #target: SnapshotTarget;
  #reading: Reading | undefined;
  /** The newest, whose certificates count from the next request on. */
  #inUse: ServeConfig | undefined;
  #loop: SyncLoop | undefined;
  /** Why the loop could not be opened; `undefined`: it could. */
  #failure: string | undefined;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(parts: EmbeddedSyncParts) {
    this.#parts = parts;
    this.#target = ownRouterTarget(parts.receiver);
  }

  async prepare(config: ServeConfig): Promise<() => void> {
    const next = readingOf(config, this.#parts.pseudonym);
    const isSame = isDeepStrictEqual(next, this.#reading);
    // Whatever is wrong with the kubeconfig itself is found here; it is loaded anew by the loop.
    if (!isSame) await loadClusterAccess(next.kubernetes, this.#parts.edge.readFile);
    return () => {
      this.#inUse = config;
      // One that waits to be tried again is tried at once.
      if (!isSame || this.#failure !== undefined) this.#begin(next, config);
    };
  }

  hurry(id: string): void {
    this.#loop?.hurry(id);
  }

  async expiring(): ReturnType<EmbeddedSync['expiring']> {
    if (this.#reading === undefined) return [];
    return expiringCredentials(this.#reading.kubernetes, this.#parts.edge.readFile);
  }

  status(): EmbeddedSyncStatus {
    const status = this.#loop?.status();
    const [delivered] = status?.targets.flatMap(({ lastResult }) => lastResult ?? []) ?? [];
    return {
      source: this.#reading === undefined ? '' : sourceOf(this.#reading.kubernetes),
      lastRoundAt: status?.lastRoundAt,
      lastReadAt: status?.lastReadAt,
      servers: status?.servers ?? [],
      refusedAddresses: status?.refusedAddresses ?? [],
      warnings: [
        ...(this.#failure === undefined ? [] : [`the cluster cannot be read: ${this.#failure}`]),
        ...(delivered?.kind === 'refused' ? [`what was read is refused: ${delivered.message}`] : []),
        ...(status?.warnings ?? []),
      ],
    };
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #begin(next: Reading, config: ServeConfig): void {
    this.#reading = next;
    this.#stop.abort();
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    const isAt = isLocalServerAddress(config, this.#parts.edge.networkInterfaces);
    this.#running = this.#running.then(() => this.#run(next, isAt, signal));
  }

  /** Reads the cluster until `signal` aborts, and opens it again after a failure. Never rejects. */
  async #run(next: Reading, isAt: (address: string) => boolean, signal: AbortSignal): Promise<void> {
    const { receiver, observer, logger, edge } = this.#parts;
    const config = () => this.#inUse;
    const options = {
      ...next,
      ...certificatesOf(config),
      openClient: edge.openClient,
      readFile: edge.readFile,
      local: next.local && { ...next.local, ...localCertificates(config), isAt },
      targets: [this.#target],
      previous: held(receiver),
      observer,
      logger,
    };
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await runSync(options, signal, (started) => {
          this.#loop = started;
          this.#failure = undefined;
        });
      } catch (error) {
        // Work that an ordered end cuts off is no failure.
        if (signal.aborted) return;
        // Once for each reason: a file that is not there yet is looked for again until it is.
        if (this.#failure !== errorMessage(error)) logger.error({ err: error }, 'The cluster cannot be read');
        this.#failure = errorMessage(error);
        await systemClock.sleep(backOffDelay(openingBackOff, failures, Math.random()), signal);
      }
    }
  }
}

/** Reads the cluster once, as the router does when it starts, and delivers to nobody. @throws {Error} as `syncOnce` */
export function readClusterOnce(
  config: ServeConfig,
  signal: AbortSignal,
): Promise<Pick<SyncOnceResult, 'snapshot' | 'readings' | 'warnings'>> {
  const { local, ...reading } = readingOf(config, newPseudonym());
  const own = localCertificates(() => config);
  return syncOnce(
    {
      ...reading,
      ...certificatesOf(() => config),
      local: local && { ...local, ...own, isAt: isLocalServerAddress(config) },
      targets: [],
    },
    signal,
  );
}

/** Asked for each request: a bundle that is replaced interrupts no reading. */
function certificatesOf(config: () => ServeConfig | undefined): Pick<SyncOptions, 'credentials'> {
  return { credentials: () => ({ certificateAuthorities: config()?.peerCa?.pem }) };
}

function localCertificates(
  config: () => ServeConfig | undefined,
): Pick<LocalApiServer, 'certificateAuthorities'> {
  return { certificateAuthorities: () => config()?.local?.ca.pem };
}

function sourceOf(access: ClusterAccessOptions): string {
  return 'kubeconfig' in access ? access.kubeconfig : 'in-cluster';
}

/** With the time of its last renewal, which is what the loop renews it by. */
function held(receiver: OwnSnapshotReceiver): Snapshot | undefined {
  const table = receiver.current();
  if (table === undefined) return undefined;
  const { snapshot, createdAt } = table;
  return { ...snapshot, metadata: { ...snapshot.metadata, createdAt: new Date(createdAt).toISOString() } };
}

function readingOf(
  { embeddedSync, serverId, local, settings: { apiServers, snapshot, peers } }: ServeConfig,
  pseudonym: string,
): Reading {
  if (embeddedSync === undefined) throw new TypeError('There is no cluster to read: snapshots are pushed.');
  return {
    kubernetes: embeddedSync,
    servers: apiServers.servers ?? [],
    cluster: snapshot.cluster,
    peers: { allowLoopback: peers.allowLoopback, allowedCIDRs: peers.allowedCIDRs },
    local: local && { id: serverId, origin: local.origin, serverName: local.serverName },
    via: `1.1 ${pseudonym}`,
    timing: { ...timing, grace: snapshot.departedServerGrace },
  };
}

/** Delivers to the router in whose process the sync job runs: to the receiver of pushes, unsigned. */
function ownRouterTarget(receiver: Pick<OwnSnapshotReceiver, 'acceptOwn' | 'current'>): SnapshotTarget {
  return {
    name: 'this router',
    async put({ snapshot }): Promise<DeliveryResult> {
      try {
        await receiver.acceptOwn(snapshot);
        return { kind: 'accepted' };
      } catch (error) {
        if (!(error instanceof SnapshotError)) throw error;
        const { code, message } = error;
        return code === 'NotNewer'
          ? { kind: 'newer-held', generation: receiver.current()?.generation, message }
          : { kind: 'refused', message };
      }
    },
    // An accepted snapshot stays for the life of the process.
    async holds({ snapshot: { metadata } }) {
      const table = receiver.current();
      return table?.generation === metadata.generation && table.createdAt === Date.parse(metadata.createdAt);
    },
  };
}
