import type { JWK } from 'jose';
import { createFileSnapshotStore } from '../../node/files/file-snapshot-store.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { type PinnedKeySet, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import { signingKeyOf } from '../../snapshot/signing/seal.ts';
import { type AdvertisedAddresses, createAdvertisedAddresses } from '../advertised-addresses.ts';
import type { ClusterTiming } from '../cluster-source.ts';
import type { SyncParts } from '../round.ts';
import { createSyncLoop, type SyncLoop } from '../sync-loop.ts';
import { runOnce, type SyncOnceResult } from '../sync-once.ts';
import { type ClusterAccess, loadClusterAccess } from './cluster-access.ts';
import { openCluster, openServers } from './open-cluster.ts';
import type { SyncOptions } from './sync-options.ts';
import { checkSyncOptions } from './sync-options.ts';
import { fileTarget, httpsTarget, previousSnapshot } from './targets.ts';

/** A sync job with open connections. */
interface PreparedSync {
  readonly options: SyncParts;
  /** Closes the connections. Call it after the loop has ended. */
  close(): Promise<void>;
}

/**
 * Reads the servers and pushes to the routers until `signal` aborts.
 *
 * @param onStart called with the loop, for its status
 * @param beforeReading called before anything is asked, an exec plugin for credentials included: who probes the process
 *   gets its answers from then on
 * @throws {TypeError} if the options contradict each other
 *
 * @example
 * ```ts
 * const stop = new AbortController();
 * const running = runSync(
 *   {
 *     servers: [apiServer],
 *     routers: [{ url: routerUrl }],
 *     certificateAuthorities,
 *     clientCertificate,
 *     signingKey: privateJwk,
 *   },
 *   stop.signal,
 * );
 *
 * stop.abort();
 * await running;
 * ```
 */
export async function runSync(
  options: SyncOptions,
  signal: AbortSignal,
  onStart: (loop: SyncLoop) => void = () => {},
  beforeReading: () => Promise<void> = async () => {},
): Promise<void> {
  const access = options.kubernetes && (await loadClusterAccess(options.kubernetes));
  await beforeReading();
  const input = await readSyncInput(options, access);
  const prepared = await openSync(input, signal);
  try {
    const loop = createSyncLoop(prepared.options);
    onStart(loop);
    await loop.run(signal);
  } finally {
    await prepared.close();
  }
}

/**
 * One round, for CI and cron. @throws as `runOnce` and `runSync` do.
 *
 * @example
 * ```ts
 * const { ok, deliveries } = await syncOnce(
 *   {
 *     servers: [apiServer],
 *     routers: [{ url: routerUrl }],
 *     certificateAuthorities,
 *     clientCertificate,
 *     signingKey: privateJwk,
 *   },
 *   signal,
 * );
 * console.log(ok, deliveries.length); // true 1
 * ```
 */
export async function syncOnce(options: SyncOptions, signal: AbortSignal): Promise<SyncOnceResult> {
  // A server that may be restarting is not waited for: the next run reads it.
  const prepared = await prepareSync(options, signal, { departure: 0 });
  try {
    return await runOnce(prepared.options, signal);
  } finally {
    await prepared.close();
  }
}

/**
 * @throws {TypeError} naming every error of the options
 */
export async function prepareSync(
  given: SyncOptions,
  signal: AbortSignal,
  timing: Partial<ClusterTiming> = {},
): Promise<PreparedSync> {
  return openSync(await readSyncInput(given), signal, timing);
}

/** Reads and checks all that is given, and opens nothing. @param loaded the kubeconfig, where it has been read already */
async function readSyncInput(given: SyncOptions, loaded?: ClusterAccess) {
  const access = loaded ?? (given.kubernetes && (await loadClusterAccess(given.kubernetes)));
  const credentials = await access?.credentials();
  const options = checkSyncOptions({
    ...given,
    certificateAuthorities: given.certificateAuthorities ?? credentials?.certificateAuthorities,
    clientCertificate: given.clientCertificate ?? credentials?.clientCertificate,
  });
  const signingKey = options.signingKey === undefined ? undefined : signingKeyOf(options.signingKey);
  const keys = new Map([...(options.snapshotKeys ?? []), ...(await ownKeys(options.signingKey))]);
  return { given, access, options, signingKey, keys };
}

async function openSync(
  { given, access, options, signingKey, keys }: Awaited<ReturnType<typeof readSyncInput>>,
  signal: AbortSignal,
  timing: Partial<ClusterTiming> = {},
): Promise<PreparedSync> {
  const { stateFile, departedServerGraceMilliseconds: grace, logger = silentLogger } = options;
  const cluster =
    access === undefined
      ? undefined
      : await openCluster({
          access,
          certificateAuthorities: given.certificateAuthorities,
          authoritiesFrom: given.authoritiesFrom,
          servers: options.servers,
          timing: grace === undefined ? timing : { ...timing, grace },
          local: options.local,
          via: options.via,
        });
  const opened = cluster ?? openServers(options);
  // A Worker is in front of no API server, so it cannot advertise an address.
  const advertising = (options.routers ?? []).filter(({ publicAuthorities }) => publicAuthorities !== true);
  const advertised = createAdvertisedAddresses(advertising.map(({ url }) => url));
  const pushed = httpsTargets(options, advertised);
  const store = stateFile === undefined ? undefined : createFileSnapshotStore(stateFile);
  const previous =
    options.previous ?? (await previousSnapshot({ store, holders: pushed, keys, logger }, signal));
  return {
    options: {
      servers: opened.servers,
      clusterSource: cluster?.source(previous),
      targets: [
        ...pushed,
        ...(options.files ?? []).map(fileTarget),
        ...(stateFile === undefined ? [] : [fileTarget({ file: stateFile })]),
        ...(options.targets ?? []),
      ],
      signingKey,
      previous,
      advertised,
      snapshot: { cluster: options.cluster },
      timing: options.timing,
      observer: options.observer,
      logger,
    },
    async close() {
      opened.close();
      await Promise.all(pushed.map((target) => target.close()));
    },
  };
}

function httpsTargets(options: SyncOptions, advertised: AdvertisedAddresses) {
  const authorities = options.routerCertificateAuthorities ?? options.certificateAuthorities;
  return (options.routers ?? []).map(({ url, serverName, publicAuthorities = false }) =>
    httpsTarget({
      url,
      serverName,
      clientCertificate: options.clientCertificate,
      bearerToken: options.routerBearerToken,
      onAdvertised: (address) => advertised.heard(url, address),
      certificateAuthorities: publicAuthorities ? undefined : authorities,
    }),
  );
}

/** The public half of the sync job's own key, to verify the snapshot that it starts from. */
async function ownKeys(privateJwk: JWK | undefined): Promise<PinnedKeySet> {
  if (privateJwk === undefined) return new Map();
  const { kty, crv, x, y, kid, alg } = privateJwk;
  const parsed = await parseSnapshotKeys(JSON.stringify({ keys: [{ kty, crv, x, y, kid, alg }] }));
  if (parsed.ok) return parsed.keys;
  const issues = parsed.issues.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw new TypeError(`The signing key cannot be used: ${issues}.`);
}
