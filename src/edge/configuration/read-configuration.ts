import * as v from 'valibot';
import type { PreferredVersion } from '../../routing/decision.ts';
import { defaultPreferredVersion, isPreferredVersion } from '../../routing/preferred-version.ts';
import { describeIssues } from '../../runtime/validation.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { httpsOrigin } from '../../snapshot/format/schema.ts';
import { type PinnedKeySet, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import type { AnalyticsDataset, DurableObjectNamespace, Fetcher } from '../platform/bindings.ts';
import type { SnapshotConfiguration, WorkerConfiguration } from './configuration.ts';
import { binding, EnvironmentReader, flag, json, jsonText, text } from './environment-reader.ts';

const notTexts = 'must be a JSON array of texts';
const choice = <const Choices extends readonly string[]>(...choices: Choices) =>
  v.picklist(choices, `must be one of ${choices.join(', ')}`);
const preferredVersion = v.custom<PreferredVersion>(
  (value) => typeof value === 'string' && isPreferredVersion(value),
  'must be majority, newest, oldest, local, or a minor version such as 1.36',
);

/**
 * Checks the whole environment of a Worker (docs/guides/edge.md). Other names are ignored: platforms add their own.
 * @throws {WorkerConfigurationError} with every error, each under its variable's name.
 */
export async function readConfiguration(environment: object): Promise<WorkerConfiguration> {
  const reader = new EnvironmentReader(environment);
  const isGateway = reader.read('GATEWAY', flag) ?? false;
  const local = readLocal(reader, isGateway);
  const frontProxy = reader.read('PEER_MTLS', binding<Fetcher>('fetch'));
  const destinations = reader.read('DESTINATIONS', binding<Fetcher>('fetch'));
  const assertions = reader.has('ASSERTION_SIGNING_KEY')
    ? await (await import('./read-assertions.ts')).readAssertions(reader)
    : undefined;
  const callers = {
    clientCertificates: reader.read('CLIENT_CERTIFICATES', choice('none', 'cf')) === 'cf',
    tokenIssuer: tokenVariables.some((name) => reader.has(name))
      ? (await import('./read-token-issuer.ts')).readTokenIssuer(reader)
      : undefined,
  };
  if ((callers.clientCertificates || callers.tokenIssuer !== undefined) && !reader.has('PEER_MTLS')) {
    reader.required('ASSERTION_SIGNING_KEY', 'without it or PEER_MTLS no server can be told who calls', json);
  }
  const observers = {
    accessLog: reader.read('ACCESS_LOG', flag) ?? false,
    analytics: reader.read('ANALYTICS', binding<AnalyticsDataset>('writeDataPoint')),
  };
  const snapshot = await readSnapshot(reader);
  reader.throwIssues();
  if (snapshot === undefined) throw new TypeError('The snapshot has no settings, and no error.');
  return { local, frontProxy, destinations, assertions, callers, observers, snapshot };
}

const tokenVariables = [
  'TOKEN_ISSUER',
  'TOKEN_AUDIENCE',
  'TOKEN_JWKS_URL',
  'TOKEN_USERNAME_CLAIM',
  'TOKEN_GROUPS_CLAIM',
];

/** A forgotten setting is no gateway. */
function readLocal(reader: EnvironmentReader, isGateway: boolean): WorkerConfiguration['local'] {
  if (isGateway) {
    for (const name of ['SERVER_ID', 'LOCAL_SERVER']) {
      if (reader.has(name))
        reader.issue(name, 'must not be there with GATEWAY, which has no server of its own');
    }
    return undefined;
  }
  const id = reader.required(
    'SERVER_ID',
    'the ID of the API server behind LOCAL_SERVER, as in the snapshot',
    text,
  );
  const given = reader.required(
    'LOCAL_SERVER',
    'https://name:port of the API server that takes what is local',
    httpsOrigin,
  );
  // Written as URL parsers write it: `https://name:443` is `https://name`.
  const origin = given && new URL(given).origin;
  if (id === undefined || origin === undefined) return undefined;
  return { kind: 'local', id, origin, serverName: new URL(origin).hostname, trust: { kind: 'peer-ca' } };
}

async function readSnapshot(reader: EnvironmentReader): Promise<SnapshotConfiguration | undefined> {
  const keys = await readSnapshotKeys(reader);
  const object = reader.read('SNAPSHOT_OBJECT', binding<DurableObjectNamespace>('idFromName', 'get'));
  const objectName = reader.read('SNAPSHOT_OBJECT_NAME', text) ?? 'snapshot';
  const addressPolicy = readAddressPolicy(reader);
  const initial = reader.read('SNAPSHOT', text);
  const version = reader.read('PREFERRED_VERSION', preferredVersion) ?? defaultPreferredVersion;
  if (keys === undefined || addressPolicy === undefined) return undefined;
  return { keys, addressPolicy, object, objectName, initial, preferredVersion: version };
}

async function readSnapshotKeys(reader: EnvironmentReader): Promise<PinnedKeySet | undefined> {
  const what = 'the public JWKS that snapshots may be signed with';
  const given = reader.required('SNAPSHOT_KEYS', what, jsonText);
  if (given === undefined) return undefined;
  const parsed = await parseSnapshotKeys(given);
  if (parsed.ok) return parsed.keys;
  return reader.issue('SNAPSHOT_KEYS', `is unusable: ${describeIssues(parsed.issues)}`);
}

function readAddressPolicy(reader: EnvironmentReader) {
  const allowedCIDRs = reader.read('PEER_CIDRS', v.pipe(json, v.array(v.string(notTexts), notTexts)));
  const allowLoopback = reader.read('ALLOW_LOOPBACK_PEERS', flag);
  try {
    return createAddressPolicy({ allowedCIDRs, allowLoopback });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return reader.issue('PEER_CIDRS', `is unusable: ${error.message}`);
  }
}
