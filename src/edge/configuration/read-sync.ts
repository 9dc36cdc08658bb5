import { parseHttpsOrigin } from '../../snapshot/addresses/host-port.ts';
import { snapshotLimits } from '../../snapshot/format/limits.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import type { SyncConfiguration, SyncServerConfiguration } from './configuration.ts';
import type { EnvironmentReader } from './environment-reader.ts';
import { readSigningKey } from './read-destination-identity.ts';

const serversName = 'SYNC_SERVERS';
const members: ReadonlySet<string> = new Set(['id', 'url', 'readFrom', 'serverName', 'hostname']);

/**
 * Reads what `scheduled` needs; `undefined` where nothing of it is given.
 * @param pinned what this Worker's own receiver will accept; `undefined` when those keys are invalid themselves
 */
export async function readSync(
  reader: EnvironmentReader,
  pinned: PinnedKeySet | undefined,
): Promise<SyncConfiguration | undefined> {
  const names = [serversName, 'SYNC_TOKEN', 'SYNC_SIGNING_KEY'];
  if (!names.some((name) => reader.has(name))) return undefined;
  for (const name of names) {
    if (!reader.has(name))
      reader.issue(name, `is required with the other settings of the sync job, ${names.join(', ')}`);
  }
  const servers = readServers(reader);
  const token = reader.text('SYNC_TOKEN');
  const signing = await readSigningKey(reader, 'SYNC_SIGNING_KEY');
  if (signing !== undefined && pinned !== undefined && !pinned.has(signing.key.kid)) {
    reader.issue(
      'SYNC_SIGNING_KEY',
      'must have its public half in SNAPSHOT_KEYS, or what is made here is refused here',
    );
  }
  const lifetimeSeconds =
    reader.wholeNumber('SYNC_LIFETIME_SECONDS', 60, snapshotLimits.lifetimeSeconds) ?? 900;
  if (servers === undefined || token === undefined || signing === undefined) return undefined;
  return { servers, token, signing, lifetimeSeconds };
}

function readServers(reader: EnvironmentReader): readonly SyncServerConfiguration[] | undefined {
  const records = reader.records(serversName);
  if (records === undefined) return undefined;
  const ids = new Set<string>();
  return records.flatMap((record, index) => {
    const server = readServer(reader, record, `[${index}]`);
    if (server === undefined) return [];
    if (ids.has(server.id)) reader.issue(serversName, `[${index}].id must be unique`);
    ids.add(server.id);
    return server;
  });
}

function readServer(
  reader: EnvironmentReader,
  record: Readonly<Record<string, unknown>>,
  place: string,
): SyncServerConfiguration | undefined {
  for (const [member, value] of Object.entries(record)) {
    if (!members.has(member))
      reader.issue(serversName, `${place} must have no member but ${[...members].join(', ')}`);
    else if (typeof value !== 'string' || value === '')
      reader.issue(serversName, `${place}.${member} must be text`);
  }
  const { id, url, readFrom = url, serverName, hostname } = record;
  const isHttps = [url, readFrom].every((text) => typeof text === 'string' && parseHttpsOrigin(text).ok);
  if (typeof id !== 'string') reader.issue(serversName, `${place}.id is required: the API server's ID`);
  if (!isHttps) reader.issue(serversName, `${place}.url and readFrom must be https://name:port`);
  if (typeof id !== 'string' || typeof url !== 'string' || typeof readFrom !== 'string') return undefined;
  return {
    id,
    url,
    readFrom,
    serverName: typeof serverName === 'string' ? serverName : undefined,
    hostname: typeof hostname === 'string' ? hostname : undefined,
  };
}
