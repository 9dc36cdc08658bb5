import type { JWK } from 'jose';
import { createFileSnapshotStore } from '../../node/file-snapshot-store.ts';
import { UndiciTransport } from '../../node/undici-transport.ts';
import { type Logger, silentLogger } from '../../observe/logger.ts';
import { type PinnedKeySet, parseSnapshotKeys } from '../../snapshot/keys.ts';
import { signingKeyOf } from '../../snapshot/signing-key.ts';
import type { ServerDescription } from '../build-snapshot.ts';
import { createSyncLoop, type SyncLoop } from '../sync-loop.ts';
import { type SyncOnceResult, syncOnce } from '../sync-once.ts';
import type { SyncOptions, SyncTiming } from '../sync-options.ts';
import { type FileTargetOptions, fileTarget } from './file-target.ts';
import { httpsTarget } from './https-target.ts';
import { liveDocuments } from './live-documents.ts';
import { previousSnapshot } from './previous-snapshot.ts';

/** An API server, listed by hand. */
export interface RunSyncServer extends ServerDescription {
  /** `https://host:port` to read it at, where that is not its address for routers (a router in front of it). */
  readonly readFrom?: string | undefined;
}

export interface RunSyncRouter {
  /** `https://host:port`. */
  readonly url: string;
  /** Default: the host of `url`. */
  readonly serverName?: string | undefined;
}

export interface RunSyncOptions {
  readonly servers: readonly RunSyncServer[];
  readonly routers?: readonly RunSyncRouter[] | undefined;
  readonly files?: readonly FileTargetOptions[] | undefined;
  /** PEM: what API servers' and routers' serving certificates are checked against. */
  readonly certificateAuthorities: string;
  /** PEM: only for routers, where theirs come from another authority. */
  readonly routerCertificateAuthorities?: string | undefined;
  /** PEM pair of the sync job, presented to API servers and routers. Routers take nobody without one. */
  readonly clientCertificate?: { readonly certificate: string; readonly key: string } | undefined;
  /** For API servers, in place of the certificate or beside it. */
  readonly bearerToken?: (() => string | Promise<string>) | undefined;
  /** Private JWK, as `keygen` makes it. */
  readonly signingKey?: JWK | undefined;
  /** Where the last snapshot outlives the process. Its directory must exist. */
  readonly stateFile?: string | undefined;
  readonly cluster?: string | undefined;
  /** Default 300. */
  readonly lifetimeSeconds?: number | undefined;
  readonly timing?: Partial<SyncTiming> | undefined;
  readonly logger?: Logger | undefined;
}

/** A sync job with its connections open. */
export interface PreparedSync {
  readonly options: SyncOptions;
  /** Ends the connections. After the loop has ended. */
  close(): Promise<void>;
}

/**
 * Reads the servers and pushes to the routers until `signal` aborts.
 *
 * @param onStart is given the loop, for its status
 * @throws {TypeError} when the options contradict themselves
 */
export async function runSync(
  options: RunSyncOptions,
  signal: AbortSignal,
  onStart: (loop: SyncLoop) => void = () => {},
): Promise<void> {
  const prepared = await prepareSync(options, signal);
  try {
    const loop = createSyncLoop(prepared.options);
    onStart(loop);
    await loop.run(signal);
  } finally {
    await prepared.close();
  }
}

/** One round, for CI and cron. @throws as `syncOnce` and `runSync` do. */
export async function runSyncOnce(options: RunSyncOptions, signal: AbortSignal): Promise<SyncOnceResult> {
  const prepared = await prepareSync(options, signal);
  try {
    return await syncOnce(prepared.options, signal);
  } finally {
    await prepared.close();
  }
}

/** @throws {TypeError} naming every fault of the options */
export async function prepareSync(options: RunSyncOptions, signal: AbortSignal): Promise<PreparedSync> {
  const { certificateAuthorities, clientCertificate, stateFile, logger = silentLogger } = options;
  const { routers: routerOptions = [], files = [] } = options;
  checkOptions(options);
  const signingKey = options.signingKey === undefined ? undefined : signingKeyOf(options.signingKey);
  const keys = await ownKeys(options.signingKey);
  const transport = new UndiciTransport({
    credentials: { peerCertificateAuthorities: certificateAuthorities, frontProxy: clientCertificate },
  });
  const routers =
    clientCertificate === undefined
      ? []
      : routerOptions.map((router) =>
          httpsTarget({
            ...router,
            clientCertificate,
            certificateAuthorities: options.routerCertificateAuthorities ?? certificateAuthorities,
          }),
        );
  const store = stateFile === undefined ? undefined : createFileSnapshotStore(stateFile);
  const previous = await previousSnapshot({ store, routers, keys, logger }, signal);
  return {
    options: {
      servers: options.servers.map(({ readFrom, ...server }) => ({
        ...server,
        documents: liveDocuments({
          transport,
          id: server.id,
          origin: readFrom ?? originOf(server),
          serverName: server.serverName,
          bearerToken: options.bearerToken,
        }),
      })),
      targets: [
        ...routers,
        ...files.map(fileTarget),
        ...(stateFile === undefined ? [] : [fileTarget({ file: stateFile })]),
      ],
      signingKey,
      previous,
      snapshot: { cluster: options.cluster, lifetimeSeconds: options.lifetimeSeconds },
      timing: options.timing,
      logger,
    },
    async close() {
      transport.close();
      await Promise.all(routers.map((router) => router.close()));
    },
  };
}

function checkOptions(options: RunSyncOptions): void {
  const faults: string[] = [];
  const { routers = [], files = [], servers } = options;
  if (routers.length + files.length === 0) faults.push('there is no router and no file to deliver to');
  if (routers.length > 0 && options.clientCertificate === undefined) {
    faults.push('routers take snapshots only from a client with a certificate: give one');
  }
  const needsKey =
    routers.length > 0 || options.stateFile !== undefined || files.some((file) => !file.unsigned);
  if (needsKey && options.signingKey === undefined) {
    faults.push('there is no signing key: give one, or write files unsigned');
  }
  for (const { id, address, url, readFrom } of servers) {
    if (address === undefined && url === undefined && readFrom === undefined) {
      faults.push(`server ${id} has no address to read it at`);
    }
  }
  if (faults.length > 0) throw new TypeError(`The sync job cannot start: ${faults.join('; ')}.`);
}

function originOf({ address, url }: ServerDescription): string {
  return url ?? `https://${address}`;
}

/** The public half of the sync job's own key, to check that what it goes on from is its own. */
async function ownKeys(privateJwk: JWK | undefined): Promise<PinnedKeySet> {
  if (privateJwk === undefined) return new Map();
  const { kty, crv, x, y, kid, alg } = privateJwk;
  const parsed = await parseSnapshotKeys(JSON.stringify({ keys: [{ kty, crv, x, y, kid, alg }] }));
  if (parsed.ok) return parsed.keys;
  const faults = parsed.issues.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw new TypeError(`The signing key cannot be used: ${faults}.`);
}
