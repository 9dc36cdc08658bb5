import { type ClusterAccess, loadClusterAccess } from '../../node/credentials/cluster-access.ts';
import { defaultLogger } from '../../runtime/console-logger.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import { publicHalfOf, signingKeyOf } from '../../snapshot/signing/seal.ts';
import { AdvertisedAddresses } from '../advertised-addresses.ts';
import { defaultTiming, type SyncTiming } from '../documents/timing.ts';
import { SyncLoop } from '../sync-loop.ts';
import { runOnce, type SyncOnceResult } from '../sync-once.ts';
import type { SyncParts } from '../sync-parts.ts';
import { ApiClient } from './api-client.ts';
import { openCluster } from './open-cluster.ts';
import { openRecording } from './recording.ts';
import {
  checkSyncOptions,
  ownCredentials,
  type RouterTarget,
  type SyncCredentials,
  type SyncOptions,
} from './sync-options.ts';
import { fileTarget, HttpsTarget, previousSnapshot } from './targets.ts';

/**
 * Reads the servers and pushes to the routers until `signal` aborts.
 *
 * @param onStart called with the loop, for its status
 * @throws {TypeError} if the options contradict each other
 *
 * @example
 * ```ts
 * const stop = new AbortController();
 * const routers = [{ url: routerUrl }];
 * const signingKey = privateJwk;
 * const options = { servers: [apiServer], routers, certificateAuthorities, clientCertificate, signingKey };
 * const running = runSync(options, stop.signal);
 * stop.abort();
 * await running;
 * ```
 */
export async function runSync(
  options: SyncOptions,
  signal: AbortSignal,
  onStart: (loop: SyncLoop) => void = () => {},
): Promise<void> {
  const opened = await openSync(options, signal);
  try {
    const loop = new SyncLoop(opened.parts);
    onStart(loop);
    await loop.run(signal);
  } finally {
    opened.close();
  }
}

/**
 * One round, for CI and cron: waits for every server, delivers to every target, ends.
 *
 * @throws {TypeError} if the options contradict each other
 * @throws {SnapshotError} if the snapshot cannot be sealed
 *
 * @example
 * ```ts
 * const routers = [{ url: routerUrl }];
 * const signingKey = privateJwk;
 * const options = { servers: [apiServer], routers, certificateAuthorities, clientCertificate, signingKey };
 * const { ok, deliveries } = await syncOnce(options, signal);
 * console.log(ok, deliveries.length); // true 1
 * ```
 */
export async function syncOnce(options: SyncOptions, signal: AbortSignal): Promise<SyncOnceResult> {
  // A server that may be restarting is not waited for: the next run reads it. Storage versions are, but not for all of the
  // time of a reading: one extension API server that hangs must not fail it.
  const { readTimeout = defaultTiming.readTimeout } = options.timing ?? {};
  const timing = { ...options.timing, departure: 0, storageVersionTimeout: readTimeout / 3 };
  const opened = await openSync(options, signal, timing, 0);
  try {
    return await runOnce(opened.parts, signal);
  } finally {
    opened.close();
  }
}

/**
 * How long a sync job that starts asks who may hold the last snapshot while nobody responds, milliseconds: a pod's network may not
 * be there yet, and without that snapshot a server that is down now would be forgotten by all.
 */
const holdersAskedFor = 5_000;

interface OpenedSync {
  readonly parts: SyncParts;
  close(): void;
}

async function openSync(
  given: SyncOptions,
  signal: AbortSignal,
  timing: Partial<SyncTiming> | undefined = given.timing,
  patience: number = holdersAskedFor,
): Promise<OpenedSync> {
  const access = given.kubernetes && (await loadClusterAccess(given.kubernetes, given.readFile, given.clock));
  const credentials = () => credentialsNow(given, access);
  const options = { ...given, ...(await credentials()) };
  checkSyncOptions(options);
  const { logger = defaultLogger, record, files = [], targets = [], routers = [] } = options;
  const recording = record === undefined ? undefined : await openRecording(record);
  // A Worker is in front of no API server, so it cannot advertise an address.
  const advertising = routers.filter(({ publicAuthorities }) => publicAuthorities !== true);
  const advertised = new AdvertisedAddresses(advertising.map(({ url }) => url));
  const pushed = routers.map((router) => pushTarget(router, options, credentials, advertised));
  const allTargets = [...pushed, ...files.map(fileTarget), ...targets];
  const keys = await trustedKeys(options);
  const previous =
    options.previous ?? (await previousSnapshot({ holders: allTargets, keys, logger, patience }, signal));
  const client = clientOf(given, access);
  const parts: SyncParts = {
    clusterSource: openCluster(client, { ...given, previous, timing }, access, recording),
    targets: allTargets,
    signingKey: options.signingKey === undefined ? undefined : signingKeyOf(options.signingKey),
    previous,
    advertised,
    clock: options.clock,
    cluster: options.cluster,
    // doctor compares them with those of another cluster.
    alwaysReadsSchemas: options.alwaysReadsSchemas === true || record !== undefined,
    timing,
    observer: options.observer,
    logger,
  };
  return {
    parts,
    close() {
      client.close();
      for (const target of pushed) target.close();
    },
  };
}

/** The credentials that are given, and, where they are not, those of the kubeconfig. */
async function credentialsNow(
  given: SyncOptions,
  access: ClusterAccess | undefined,
): Promise<SyncCredentials> {
  const own = ownCredentials(given);
  // Routers are pushed to as who reads the cluster, unless there is a certificate for them.
  const isFound = (given.routers ?? []).length > 0 || own.certificateAuthorities === undefined;
  const found = isFound ? await access?.credentials() : undefined;
  return {
    ...own,
    certificateAuthorities: own.certificateAuthorities ?? found?.certificateAuthorities,
    clientCertificate: own.clientCertificate ?? found?.clientCertificate,
  };
}

function pushTarget(
  { url, serverName, publicAuthorities = false }: RouterTarget,
  { routerBearerToken, openClient }: SyncOptions,
  credentials: () => Promise<SyncCredentials>,
  advertised: AdvertisedAddresses,
): HttpsTarget {
  return new HttpsTarget({
    url,
    serverName,
    async credentials() {
      const { clientCertificate, certificateAuthorities, routerCertificateAuthorities } = await credentials();
      const authorities = routerCertificateAuthorities ?? certificateAuthorities;
      return {
        clientCertificate,
        certificateAuthorities: publicAuthorities ? undefined : authorities,
      };
    },
    bearerToken: routerBearerToken,
    onAdvertised: (address) => advertised.heard(url, address),
    openClient,
  });
}

/** @returns what the snapshot to start from may be signed with */
async function trustedKeys({ signingKey, snapshotKeys = new Map() }: SyncOptions): Promise<PinnedKeySet> {
  return new Map([...snapshotKeys, ...(signingKey === undefined ? [] : await publicHalfOf(signingKey))]);
}

function clientOf(given: SyncOptions, access: ClusterAccess | undefined): ApiClient {
  return new ApiClient({
    credentials: async () => {
      if (access !== undefined) return access.credentials();
      const { certificateAuthorities, clientCertificate } = ownCredentials(given);
      return { certificateAuthorities, clientCertificate, headers: [] };
    },
    via: given.via,
    userAgent: given.via === undefined ? 'mixed-version-proxy-sync' : undefined,
    openClient: given.openClient,
  });
}
