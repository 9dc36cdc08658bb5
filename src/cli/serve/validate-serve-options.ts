import { sharedAuthority } from '../../node/callers/client-certificate.ts';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { HostNetwork } from '../../node/serving/default-interface.ts';
import type { FoundSetting } from '../../own-paths/status/status-sources.ts';
import { parseBoolean } from '../flags/flag-types.ts';
import { type FlagIssue, FlagValues, type ReadTextFile } from '../flags/flag-values.ts';
import {
  authenticatingFlags,
  flagsInUse,
  type RawServeOptions,
  type ServeFlagValues,
  serveFlags,
} from '../flags/serve-flags.ts';
import { packageVersion } from '../terminal/package-version.ts';
import { readAssertionKeys, readLocalServer, readPeerCa, readProxyClientPair } from './api-server-flags.ts';
import { readIdentityHeaderNames, readRequestHeaderFlags } from './authentication-flags.ts';
import { type CertificateFile, CertificateFiles } from './certificate-files.ts';
import { readDeploymentForm } from './deployment-form-flags.ts';
import { isOwnPort, type Listening, repeatInstallation } from './own-port.ts';
import {
  readAddressFlags,
  readAdminFlags,
  readNamedServingPairs,
  readPeerAddressPolicy,
  readTlsFlags,
  warnOfUnusableAddress,
} from './serving-flags.ts';
import { readEmbeddedSyncFlags, readSnapshotFlags } from './snapshot-flags.ts';
import { readHealthFlags, readTrafficFlags } from './traffic-flags.ts';

/** What the checks need to know of the world. */
interface ServeEnvironment {
  readonly readFile: ReadTextFile;
  readonly network: HostNetwork;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Which of the options were found, not given. Default: none. */
  readonly found?: readonly FoundSetting[] | undefined;
}

export type ServeOptionsResult =
  | { readonly ok: true; readonly config: ServeConfig; readonly warnings: readonly FlagIssue[] }
  | { readonly ok: false; readonly issues: readonly FlagIssue[]; readonly warnings: readonly FlagIssue[] };

/** Checks everything that `serve` was given, reads the files it names, and reports every error at once. */
export async function validateServeOptions(
  raw: RawServeOptions,
  environment: ServeEnvironment,
): Promise<ServeOptionsResult> {
  const flags: ServeFlagValues = new FlagValues(serveFlags, raw, environment.readFile);
  const files = new CertificateFiles(flags, environment.now);

  const featureGateEnabled = readFeatureGate(flags);
  if (!featureGateEnabled) rejectFlagsThatNeedTheGate(flags);
  flags.check();

  const { isGateway, serverId } = readDeploymentForm(flags);
  const health = readHealthFlags(flags, featureGateEnabled);
  const addresses = readAddressFlags(flags, environment.network);
  const tls = readTlsFlags(flags);
  const admin = readAdminFlags(flags);
  const serving = readServingPair(flags, files);
  const namedServing = readNamedServingPairs(flags, files);
  if (!isGateway && addresses !== undefined && serving !== undefined) {
    warnOfUnusableAddress(addresses, serving, flags);
  }
  const clientCa = files.certificates('client-ca-file', flags.text('client-ca-file'));
  const requestHeaderCa = files.certificates(
    'requestheader-client-ca-file',
    flags.text('requestheader-client-ca-file'),
  );
  rejectSharedAuthority(clientCa, requestHeaderCa, flags);
  const requestHeader = readRequestHeaderFlags(flags, requestHeaderCa?.file);
  const identityHeaderNames = readIdentityHeaderNames(flags);
  const peerCa = featureGateEnabled ? readPeerCa(flags, files) : undefined;
  const local = isGateway ? undefined : readLocalServer(flags, files, peerCa, featureGateEnabled);
  if (local !== undefined && addresses !== undefined) {
    rejectOwnPort(local, addresses, flags, environment.found);
  }
  const assertionKeys = await readAssertionKeys(flags);
  const proxyClient = readProxyClientPair(flags, files, featureGateEnabled, isGateway);
  checkAuthentication(flags);
  const snapshot = await readSnapshotFlags(flags, featureGateEnabled);
  const embeddedSync = await readEmbeddedSyncFlags(flags, featureGateEnabled);
  const preferredVersion = flags.values({
    version: 'preferred-version',
    scope: 'preferred-version-scope',
    required: 'preferred-version-required',
  });
  const peerAddresses = readPeerAddressPolicy(flags);
  const traffic = readTrafficFlags(flags);
  const logging = flags.values({ format: 'logging-format', verbosity: 'v' });

  const { warnings } = flags;
  const issues = flags.issues.map((issue) => withSource(issue, environment.found));
  const required = allOf({
    health,
    addresses,
    traffic,
    tls,
    serving,
    snapshot,
    preferredVersion,
    peerAddresses,
    logging,
    // Without them a router is a gateway, which nobody may become by mistake.
    ...(isGateway ? {} : { serverId, local }),
  });
  if (issues.length > 0 || required === undefined) return { ok: false, issues, warnings };
  const { health: checks, addresses: listening, traffic: bounds, ...others } = required;
  const config: ServeConfig = {
    serverId,
    local,
    ...others,
    ...listening,
    ...bounds,
    featureGateEnabled,
    health: checks === 'off' ? undefined : checks,
    admin,
    namedServing,
    peerCa,
    proxyClient,
    clientCa: clientCa?.file,
    requestHeader,
    identityHeaderNames,
    assertionKeys,
    embeddedSync,
    commandLine: {
      version: packageVersion(),
      flags: flagsInUse(raw),
      found: environment.found ?? [],
    },
  };
  return { ok: true, config, warnings };
}

/** The values, unless one of them is missing. */
function allOf<Values extends Readonly<Record<string, unknown>>>(
  values: Values,
): { readonly [Name in keyof Values]: Exclude<Values[Name], undefined> } | undefined {
  const isWhole = (each: Values): each is { [Name in keyof Values]: Exclude<Values[Name], undefined> } =>
    Object.values(each).every((value) => value !== undefined);
  return isWhole(values) ? values : undefined;
}

/** Adds the source to an error of a setting that was found instead of given. */
function withSource(issue: FlagIssue, found: ServeEnvironment['found'] = []): FlagIssue {
  const setting = found.find(({ flag }) => flag === issue.flag);
  if (setting === undefined) return issue;
  return {
    ...issue,
    message: `${issue.message} (found: ${setting.source}; give another with ${issue.flag})`,
  };
}

function readServingPair(
  flags: ServeFlagValues,
  files: CertificateFiles,
): ServeConfig['serving'] | undefined {
  const certificate = flags.required('tls-cert-file', 'the certificate that clients see');
  const key = flags.required('tls-private-key-file', 'the private key for --tls-cert-file');
  return files.pair('tls-cert-file', certificate, 'tls-private-key-file', key);
}

/** Two processes cannot listen there, and the router would be its own local server. */
function rejectOwnPort(
  { origin }: Pick<NonNullable<ServeConfig['local']>, 'origin'>,
  listening: Listening,
  flags: ServeFlagValues,
  found: ServeEnvironment['found'] = [],
): void {
  if (!isOwnPort(origin, listening)) return;
  const isFound = found.some(({ flag }) => flag === '--local-server');
  flags.issue(
    'local-server',
    `--local-server ${origin} is where the router itself is to listen (--secure-port=${listening.securePort}): move kube-apiserver to another port, such as 6444, or give the router another${isFound ? `. ${repeatInstallation}` : ''}`,
  );
}

/** One authority for both would let every ordinary client pass for a front proxy, or the other way round. */
function rejectSharedAuthority(
  clientCa: CertificateFile | undefined,
  requestHeaderCa: CertificateFile | undefined,
  flags: ServeFlagValues,
): void {
  const authorities = {
    clientCa: clientCa?.certificates ?? [],
    requestHeaderCa: requestHeaderCa?.certificates ?? [],
  };
  if (sharedAuthority(authorities) === undefined) return;
  flags.issue(
    'requestheader-client-ca-file',
    '--requestheader-client-ca-file and --client-ca-file hold the same CA key: give front proxies a CA of their own, or any client certificate could speak for any user',
  );
}

/** Somebody who forgot should learn it at the start, not from a 401 of the API server. */
function checkAuthentication(flags: ServeFlagValues): void {
  if (authenticatingFlags.some((name) => flags.isGiven(name))) return;
  flags.warn(
    'client-ca-file',
    `none of ${inWords.format(authenticatingFlags.map((name) => `--${name}`))} is set: no caller is authenticated here, so callers are known by their bearer tokens alone`,
  );
}

/** Such as: one, two and three. */
const inWords = new Intl.ListFormat('en-GB', { type: 'conjunction' });

const unknownVersionInteroperabilityProxy = 'UnknownVersionInteroperabilityProxy';

/** Reads `--feature-gates`; the one gate there is stays on unless it is turned off. */
function readFeatureGate(flags: ServeFlagValues): boolean {
  let enabled = true;
  for (const entry of flags.list('feature-gates')) {
    if (entry.trim() === '') continue;
    const [gate = '', setting] = entry.split('=', 2).map((part) => part.trim());
    if (gate !== unknownVersionInteroperabilityProxy) {
      flags.issue(
        'feature-gates',
        `--feature-gates: unrecognized feature gate: ${gate} (there is ${unknownVersionInteroperabilityProxy})`,
      );
      continue;
    }
    const value = setting === undefined ? undefined : parseBoolean(setting);
    if (value === undefined) {
      flags.issue(
        'feature-gates',
        `--feature-gates: ${gate} must be set to true or false, as in ${gate}=true`,
      );
    } else {
      enabled = value;
    }
  }
  return enabled;
}

/** These flags mean nothing with the gate off, and upstream refuses to start with them then. */
function rejectFlagsThatNeedTheGate(flags: ServeFlagValues): void {
  for (const { name, needsFeatureGate } of serveFlags) {
    if (needsFeatureGate !== true || !flags.isUsed(name)) continue;
    flags.issue(name, `--${name} requires ${unknownVersionInteroperabilityProxy} feature to be turned on`);
  }
}
