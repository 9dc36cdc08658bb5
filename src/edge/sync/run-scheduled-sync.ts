import type { Logger } from '../../runtime/logger.ts';
import type { SyncServer } from '../../sync/cluster/sync-server.ts';
import { syncOnce } from '../../sync/sync-once.ts';
import type { WorkerConfiguration } from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import type { Fetch } from '../platform/fetch-transport.ts';
import { createSnapshotKeeping } from '../snapshot/snapshot-keeping.ts';
import { fetchDocuments } from './fetch-documents.ts';
import { createListedCluster } from './listed-cluster.ts';
import { receiverTarget } from './receiver-target.ts';

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
      targets: [receiverTarget(receiver, key, Date.now)],
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
  for (const warning of warnings) logger.warn({ warning }, 'The snapshot was made with a reservation');
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
    documents: fetchDocuments({ fetch: send, origin: readFrom, bearerToken: token }),
  }));
}
