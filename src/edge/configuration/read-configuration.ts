import { isIssuerName } from '../../identity/assertion/assertion-keys.ts';
import type { PreferredVersionOptions } from '../../routing/decision.ts';
import { defaultPreferredVersion, isPreferredVersion } from '../../routing/preferred-version.ts';
import { describeIssues } from '../../runtime/validation.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { type PinnedKeySet, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import type { DurableObjectNamespace, Fetcher } from '../platform/bindings.ts';
import type { SnapshotConfiguration, TokenIssuer, WorkerConfiguration } from './configuration.ts';
import { EnvironmentReader } from './environment-reader.ts';

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
  const assertions = await readAssertions(reader);
  const callers = {
    clientCertificates: reader.choice('CLIENT_CERTIFICATES', ['none', 'cf']) === 'cf',
    tokenIssuer: readTokenIssuer(reader),
  };
  const snapshot = await readSnapshot(reader);
  reader.throwIssues();
  if (snapshot === undefined || local === undefined) {
    throw new TypeError('A part of the configuration is missing without an error.');
  }
  const { server } = local;
  return {
    local: server,
    frontProxy,
    destinations,
    assertions,
    callers,
    snapshot,
  };
}

/** Both settings or, where the operator says that it is a gateway, neither: a forgotten one is no gateway. */
function readLocal(
  reader: EnvironmentReader,
  isGateway: boolean,
): { readonly server: WorkerConfiguration['local'] } | undefined {
  if (isGateway) {
    for (const name of ['SERVER_ID', 'LOCAL_SERVER']) {
      if (reader.has(name))
        reader.issue(name, 'must not be there with GATEWAY, which has no server of its own');
    }
    return { server: undefined };
  }
  const serverId = reader.requiredText(
    'SERVER_ID',
    'the ID of the API server behind LOCAL_SERVER, as in the snapshot',
  );
  const origin = reader.httpsOrigin(
    'LOCAL_SERVER',
    'https://name:port of the API server that takes what is local',
  );
  if (serverId === undefined || origin === undefined) return undefined;
  const { hostname } = new URL(origin);
  return {
    server: { kind: 'local', id: serverId, origin, serverName: hostname, trust: { kind: 'peer-ca' } },
  };
}

const tokenVariables = [
  'TOKEN_ISSUER',
  'TOKEN_AUDIENCE',
  'TOKEN_JWKS_URL',
  'TOKEN_USERNAME_CLAIM',
  'TOKEN_GROUPS_CLAIM',
];

/** All that is needed, or nothing of it. */
function readTokenIssuer(reader: EnvironmentReader): TokenIssuer | undefined {
  if (!tokenVariables.some((name) => reader.has(name))) return undefined;
  const issuer = reader.requiredText('TOKEN_ISSUER', 'the iss of tokens');
  const audience = reader.requiredText('TOKEN_AUDIENCE', 'the aud of tokens that are meant for this router');
  const url = reader.requiredText('TOKEN_JWKS_URL', 'where the issuer publishes its keys');
  const keysUrl = url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
  if (url !== undefined && keysUrl?.protocol !== 'https:') {
    reader.issue('TOKEN_JWKS_URL', 'must be an https URL');
  }
  const usernameClaim = reader.text('TOKEN_USERNAME_CLAIM') ?? 'sub';
  const groupsClaim = reader.text('TOKEN_GROUPS_CLAIM');
  if (issuer === undefined || audience === undefined || keysUrl === undefined) return undefined;
  return { issuer, audience, keysUrl, usernameClaim, groupsClaim };
}

/** Reads what destinations are told with who calls, and signs with the key once. What signs is loaded where there is a key. */
async function readAssertions(reader: EnvironmentReader): Promise<WorkerConfiguration['assertions']> {
  if (!reader.has('ASSERTION_SIGNING_KEY')) return undefined;
  const issuer = reader.requiredText(
    'ASSERTION_ISSUER',
    'the name that destinations have pinned the key for',
  );
  if (issuer !== undefined && !isIssuerName(issuer)) {
    reader.issue('ASSERTION_ISSUER', 'must be printable ASCII characters without spaces');
  }
  const text = reader.jsonText('ASSERTION_SIGNING_KEY');
  if (text === undefined) return undefined;
  const { loadSigningKey } = await import('../../snapshot/signing/seal.ts');
  try {
    const key = await loadSigningKey(text);
    return issuer === undefined ? undefined : { key, issuer };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    reader.issue('ASSERTION_SIGNING_KEY', `is unusable: ${error.message}`);
    return undefined;
  }
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
  const allowedCidrs = reader.texts('PEER_CIDRS');
  const allowedPorts = reader.numbers('PEER_PORTS');
  const allowLoopbackPeers = reader.boolean('ALLOW_LOOPBACK_PEERS');
  try {
    return createAddressPolicy({ allowedCidrs, allowedPorts, allowLoopbackPeers });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    reader.issue('PEER_CIDRS and PEER_PORTS', `are unusable: ${error.message}`);
    return undefined;
  }
}
