import type { PreferredVersionOptions } from '../../routing/decision.ts';
import { defaultPreferredVersion, isPreferredVersion } from '../../routing/preferred-version.ts';
import { describeIssues } from '../../runtime/validation.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { type PinnedKeySet, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import type { DurableObjectNamespace, Fetcher } from '../platform/bindings.ts';
import type { SnapshotConfiguration, WorkerConfiguration } from './configuration.ts';
import { EnvironmentReader } from './environment-reader.ts';

const isText = (item: unknown): item is string => typeof item === 'string' && item !== '';
const isNumber = (item: unknown): item is number => typeof item === 'number';

/**
 * Checks the whole environment of a Worker (`WorkerEnvironment`).
 * @throws {WorkerConfigurationError} with every error, each under its variable's name.
 */
export async function readConfiguration(environment: object): Promise<WorkerConfiguration> {
  const reader = new EnvironmentReader(environment);
  const isGateway = reader.boolean('GATEWAY') ?? false;
  const local = readLocal(reader, isGateway);
  const frontProxy = reader.binding<Fetcher>('PEER_MTLS', ['fetch']);
  const destinations = reader.binding<Fetcher>('DESTINATIONS', ['fetch']);
  const assertions = reader.has('ASSERTION_SIGNING_KEY')
    ? await (await import('./read-assertions.ts')).readAssertions(reader)
    : undefined;
  const callers = {
    clientCertificates: reader.choice('CLIENT_CERTIFICATES', ['none', 'cf']) === 'cf',
    tokenIssuer: tokenVariables.some((name) => reader.has(name))
      ? (await import('./read-token-issuer.ts')).readTokenIssuer(reader)
      : undefined,
  };
  const snapshot = await readSnapshot(reader);
  reader.throwIssues();
  if (snapshot === undefined) throw new TypeError('The snapshot has no settings, and no error.');
  return { local, frontProxy, destinations, assertions, callers, snapshot };
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
  const id = reader.requiredText(
    'SERVER_ID',
    'the ID of the API server behind LOCAL_SERVER, as in the snapshot',
  );
  const origin = reader.httpsOrigin(
    'LOCAL_SERVER',
    'https://name:port of the API server that takes what is local',
  );
  if (id === undefined || origin === undefined) return undefined;
  return { kind: 'local', id, origin, serverName: new URL(origin).hostname, trust: { kind: 'peer-ca' } };
}

async function readSnapshot(reader: EnvironmentReader): Promise<SnapshotConfiguration | undefined> {
  const keys = await readSnapshotKeys(reader);
  const object = reader.binding<DurableObjectNamespace>('SNAPSHOT_OBJECT', ['idFromName', 'get']);
  const addressPolicy = readAddressPolicy(reader);
  const initial = reader.text('SNAPSHOT');
  const preferredVersion = readPreferredVersion(reader);
  if (keys === undefined || addressPolicy === undefined) return undefined;
  return { keys, addressPolicy, object, initial, preferredVersion };
}

function readPreferredVersion(reader: EnvironmentReader): PreferredVersionOptions {
  const version = reader.text('PREFERRED_VERSION') ?? defaultPreferredVersion.version;
  if (!isPreferredVersion(version)) {
    reader.issue(
      'PREFERRED_VERSION',
      'must be majority, newest, oldest, local, or a minor version such as 1.36',
    );
    return defaultPreferredVersion;
  }
  return {
    version,
    scope: reader.choice('PREFERRED_VERSION_SCOPE', ['differing', 'all']) ?? defaultPreferredVersion.scope,
    required: reader.choice('PREFERRED_VERSION_REQUIRED', ['true', 'false']) === 'true',
  };
}

async function readSnapshotKeys(reader: EnvironmentReader): Promise<PinnedKeySet | undefined> {
  const text = reader.jsonText('SNAPSHOT_KEYS');
  if (text === undefined) {
    if (!reader.has('SNAPSHOT_KEYS')) {
      reader.issue('SNAPSHOT_KEYS', 'is required: the public JWKS that snapshots may be signed with');
    }
    return undefined;
  }
  const parsed = await parseSnapshotKeys(text);
  if (parsed.ok) return parsed.keys;
  reader.issue('SNAPSHOT_KEYS', `is unusable: ${describeIssues(parsed.issues)}`);
  return undefined;
}

function readAddressPolicy(reader: EnvironmentReader) {
  const allowedCidrs = reader.list('PEER_CIDRS', isText, 'texts');
  const allowedPorts = reader.list('PEER_PORTS', isNumber, 'numbers');
  const allowLoopbackPeers = reader.boolean('ALLOW_LOOPBACK_PEERS');
  try {
    return createAddressPolicy({ allowedCidrs, allowedPorts, allowLoopbackPeers });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    reader.issue('PEER_CIDRS and PEER_PORTS', `are unusable: ${error.message}`);
    return undefined;
  }
}
