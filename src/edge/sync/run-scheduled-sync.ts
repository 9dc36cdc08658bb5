import { errorMessage } from '../../runtime/error-message.ts';
import type { Logger } from '../../runtime/logger.ts';
import { readText } from '../../runtime/read-text.ts';
import { SnapshotError } from '../../snapshot/format/snapshot-error.ts';
import type { Acceptance } from '../../snapshot/receiving/held-snapshot.ts';
import type { SnapshotReceiver } from '../../snapshot/receiving/receiver.ts';
import { sealRenewal } from '../../snapshot/signing/renewal.ts';
import type { SigningKey } from '../../snapshot/signing/signing-key.ts';
import type { SyncServer } from '../../sync/cluster/sync-server.ts';
import type { Delivery, DeliveryResult, SnapshotTarget } from '../../sync/delivery/deliver.ts';
import {
  ReadError,
  type ServerDocument,
  type ServerDocuments,
} from '../../sync/documents/server-documents.ts';
import { syncOnce } from '../../sync/sync-once.ts';
import type { WorkerConfiguration } from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import type { Fetch } from '../platform/fetch-transport.ts';
import { createSnapshotKeeping } from '../snapshot/snapshot-keeping.ts';
import { createListedCluster } from './listed-cluster.ts';

/** Milliseconds for a whole round; a cron trigger may take 15 minutes, a round of servers that respond some seconds. */
const roundTimeout = 60_000;

/**
 * Six connections of an event may be open at once (developers.cloudflare.com/workers/platform/limits); more wait, and
 * would use up their own time-outs waiting. Of 50 subrequests on a free plan, a round of three servers takes 18 for
 * storage versions and, while they are of several versions, 12 for schemas; what is left over is read in the next ones.
 */
const timing = {
  concurrentServers: 2,
  concurrentDocuments: 3,
  maximumHashDocuments: 6,
  maximumSchemaDocuments: 12,
};

/**
 * One round of the sync job: reads the servers of `SYNC_SERVERS`, makes a snapshot, signs it and stores it.
 * @throws {WorkerConfigurationError}; {Error} when nothing was stored, so that the trigger counts as failed
 */
export async function runScheduledSync(environment: object, logger: Logger): Promise<void> {
  const configuration = await readConfiguration(environment);
  const { sync, snapshot } = configuration;
  if (sync === undefined) {
    throw new Error(
      'A cron trigger is set, and nothing to do: give SYNC_SERVERS, SYNC_TOKEN and SYNC_SIGNING_KEY.',
    );
  }
  const { receiver } = await createSnapshotKeeping(snapshot, logger);
  await receiver.catchUp();
  const { key } = sync.signing;
  const servers = serversOf(configuration, sync);
  const { warnings, deliveries, readings } = await syncOnce(
    {
      servers,
      clusterSource: createListedCluster(servers, Date.now),
      targets: [receiverTarget(receiver, key)],
      signingKey: key,
      previous: receiver.current()?.snapshot,
      // A Worker cannot trust the certificates of extension API servers: it goes through the aggregators.
      resolvesServices: false,
      snapshot: { lifetimeSeconds: sync.lifetimeSeconds },
      timing,
      logger,
    },
    AbortSignal.timeout(roundTimeout),
  );
  for (const warning of warnings) logger.warn({ warning }, 'The snapshot was made, with a warning');
  for (const [server, reading] of readings) {
    if (!reading.ok) logger.warn({ server, reason: reading.reason }, 'An API server could not be read');
  }
  const [delivery] = deliveries;
  if (delivery === undefined)
    throw new Error('No API server could be read, now or before: there is no snapshot.');
  const { result } = delivery;
  if (result.kind !== 'accepted') throw new Error(`The snapshot was not stored: ${result.message}`);
  logger.info({ generation: receiver.current()?.generation }, 'The snapshot is stored');
}

function serversOf(
  { destinations }: WorkerConfiguration,
  { servers, token }: NonNullable<WorkerConfiguration['sync']>,
): readonly SyncServer[] {
  const send: Fetch = (url, init) =>
    destinations === undefined ? fetch(url, init) : destinations.fetch(url, init);
  return servers.map(({ id, url, readFrom, serverName, hostname }) => ({
    id,
    url,
    addressSource: 'listed',
    serverName,
    hostname,
    documents: fetchDocuments(send, readFrom, token),
  }));
}

/**
 * Delivers to this Worker's own receiver, which checks what comes as it checks a push. A snapshot that it holds
 * already is renewed: nothing else keeps it in force between two rounds.
 */
function receiverTarget(receiver: SnapshotReceiver, key: SigningKey): SnapshotTarget {
  async function take({ snapshot, sealed }: Delivery): Promise<Acceptance> {
    const digest = receiver.digest();
    if (receiver.current()?.snapshot === snapshot && digest !== undefined) {
      const { generation, lifetimeSeconds } = snapshot.metadata;
      const createdAt = new Date().toISOString();
      return receiver.renew(await sealRenewal({ generation, digest, createdAt, lifetimeSeconds }, key));
    }
    return receiver.accept(sealed?.snapshot ?? '');
  }

  return {
    name: 'this Worker',
    async put(delivery): Promise<DeliveryResult> {
      try {
        const { persisted, persistenceError } = await take(delivery);
        // In use in this isolate alone, which is about to end.
        return persisted
          ? { kind: 'accepted' }
          : { kind: 'unreachable', message: persistenceError ?? 'the store could not be written' };
      } catch (error) {
        if (!(error instanceof SnapshotError)) throw error;
        return error.code === 'NotNewer'
          ? { kind: 'newer-held', generation: receiver.current()?.generation, message: error.message }
          : { kind: 'refused', message: error.message };
      }
    },
  };
}

/** Of one document, unpacked: an isolate has 128 MiB for everything. */
const maximumBytes = 16 * 1024 * 1024;

/** The documents of an API server, `https://name:port`, that `send` reaches, read as an ordinary client. */
function fetchDocuments(send: Fetch, origin: string, bearerToken: string): ServerDocuments {
  async function read(
    path: string,
    accept: string,
    signal: AbortSignal | undefined,
  ): Promise<ServerDocument> {
    const response = await send(`${origin}${path}`, {
      headers: { accept, authorization: `Bearer ${bearerToken}`, 'user-agent': 'mixed-version-proxy-sync' },
      // Followed, it would take the token elsewhere.
      redirect: 'manual',
      ...(signal === undefined ? {} : { signal }),
    });
    const body = response.body === null ? '' : await readText(response.body, maximumBytes);
    if (body === undefined) throw new Error(`the response is larger than ${maximumBytes} bytes`);
    return { status: response.status, contentType: response.headers.get('content-type') ?? '', body };
  }

  return {
    async get(path, accept, signal) {
      try {
        return await read(path, accept, signal);
      } catch (cause) {
        const reason = errorMessage(cause);
        throw new ReadError('Unreachable', `${path.split('?', 1)[0]}: ${reason}`, { cause });
      }
    },
  };
}
