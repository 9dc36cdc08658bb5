import { isIssuerName } from '../../identity/assertion/assertion-keys.ts';
import type { PreferredVersionOptions } from '../../routing/decision.ts';
import { defaultPreferredVersion, isPreferredVersion } from '../../routing/preferred-version.ts';
import { type DocumentIssue, describeIssues, parseJsonText } from '../../runtime/validation.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/addresses.ts';
import { type PinnedKeySet, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import type { DurableObjectNamespace, Fetcher } from '../platform/bindings.ts';
import {
  type SnapshotConfiguration,
  type TokenIssuer,
  type WorkerConfiguration,
  WorkerConfigurationError,
} from './configuration.ts';

/** Far above a JWKS, the deepest variable. */
const maximumDepth = 32;

/**
 * Collects what is wrong with variables. A method returns `undefined` where a variable is left out, and where it is wrong: then
 * there is an error as well.
 */
class EnvironmentReader {
  readonly #environment: Readonly<Record<string, unknown>>;
  readonly #issues: DocumentIssue[] = [];

  constructor(environment: object) {
    this.#environment = { ...environment };
  }

  issue(name: string, message: string): void {
    this.#issues.push({ path: name, message });
  }

  throwIssues(): void {
    if (this.#issues.length > 0) throw new WorkerConfigurationError(this.#issues);
  }

  /** An empty text counts as left out: a variable cannot be unset in an environment of wrangler, only emptied. */
  has(name: string): boolean {
    const value = this.#environment[name];
    return value !== undefined && value !== null && value !== '';
  }

  text(name: string): string | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#environment[name];
    if (typeof value === 'string') return value;
    this.issue(name, 'must be text');
    return undefined;
  }

  requiredText(name: string, what: string): string | undefined {
    if (!this.has(name)) {
      this.issue(name, `is required: ${what}`);
      return undefined;
    }
    return this.text(name);
  }

  choice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const chosen = choices.find((choice) => choice === text);
    if (chosen === undefined) this.issue(name, `must be one of ${choices.join(', ')}`);
    return chosen;
  }

  /** `https://host:port`, and nothing after it. */
  httpsOrigin(name: string, what: string): string | undefined {
    const text = this.requiredText(name, what);
    if (text === undefined) return undefined;
    const parsed = parseHttpsOrigin(text);
    // Written as URL parsers write it: `https://name:443` is `https://name`.
    if (parsed.ok) return new URL(text).origin;
    this.issue(name, parsed.message);
    return undefined;
  }

  json(name: string): unknown {
    if (!this.has(name)) return undefined;
    const value = this.#environment[name];
    if (typeof value !== 'string') return value;
    const parsed = parseJsonText(value, maximumDepth);
    if (parsed.ok) return parsed.value;
    // The engine's own words quote some of the text, which may be a key.
    this.issue(name, `must be JSON, nested no deeper than ${maximumDepth} levels`);
    return undefined;
  }

  jsonText(name: string): string | undefined {
    const value = this.json(name);
    return value === undefined ? undefined : JSON.stringify(value);
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.json(name);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')) return value;
    this.issue(name, 'must be a JSON array of texts');
    return undefined;
  }

  numbers(name: string): readonly number[] | undefined {
    const value = this.json(name);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((item) => typeof item === 'number')) return value;
    this.issue(name, 'must be a JSON array of numbers');
    return undefined;
  }

  boolean(name: string): boolean | undefined {
    const value = this.json(name);
    if (value === undefined || typeof value === 'boolean') return value;
    this.issue(name, 'must be true or false');
    return undefined;
  }

  /** A binding, recognized by the methods that are used here. */
  binding<Binding extends object>(
    name: string,
    methods: readonly (keyof Binding & string)[],
  ): Binding | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#environment[name];
    // Bindings respond to any property as proxies of remote objects: only whether it can be called says anything.
    const isBinding =
      typeof value === 'object' &&
      value !== null &&
      methods.every((method) => typeof Reflect.get(value, method) === 'function');
    if (isBinding) return value as Binding;
    this.issue(name, `must be a binding with ${methods.join(' and ')}, not a variable`);
    return undefined;
  }
}

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

/** A forgotten setting is no gateway. */
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
  const { loadAssertionSigner } = await import('./assertion-signing.ts');
  try {
    const signer = await loadAssertionSigner(text, issuer ?? '');
    return issuer === undefined ? undefined : { signer, issuer };
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
