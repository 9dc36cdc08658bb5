import { sharedAuthority } from '../../node/callers/client-authorities.ts';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { type HostNetwork, isLoopback } from '../../node/serving/default-interface.ts';
import { readFeatureGate, rejectFlagsThatNeedTheGate } from '../flags/feature-gates.ts';
import { type FlagIssue, FlagReport, FlagValues } from '../flags/flag-values.ts';
import { authenticatingFlags, flagsInUse, type RawServeOptions } from '../flags/serve-flags.ts';
import { packageVersion } from '../terminal/version.ts';
import {
  pemOf,
  readDestinationIdentityFlags,
  readIdentityModes,
  readLocalServer,
  readPeerCa,
  readProxyClientPair,
} from './api-server-flags.ts';
import { readIdentityHeaderNames, readJwtFlags, readRequestHeaderFlags } from './authentication-flags.ts';
import { type CertificateFile, CertificateFiles, type ReadTextFile } from './certificate-files.ts';
import { identityModesOf, readDeploymentForm } from './deployment-form-flags.ts';
import type { FoundSettings } from './found-settings.ts';
import { readHealthFlags } from './health-flags.ts';
import {
  readAddressFlags,
  readAdminFlags,
  readNamedServingPairs,
  readPeerAddressPolicy,
  readTlsFlags,
  warnOfUnusableAddress,
} from './serving-flags.ts';
import { readEmbeddedSyncFlags, readSnapshotFlags } from './snapshot-flags.ts';
import { readRequestRecordsFlags, readTrafficFlags } from './traffic-flags.ts';

/** Under which name a gateway's assertions are signed unless it is given another. */
const gatewayIssuer = 'gateway';

/** What the checks need to know of the world. */
export interface ServeEnvironment {
  readonly readFile: ReadTextFile;
  readonly network: HostNetwork;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Which of the options were found, not given. Default: none. */
  readonly found?: FoundSettings['settings'] | undefined;
}

export type ServeOptionsResult =
  | { readonly ok: true; readonly config: ServeConfig; readonly warnings: readonly FlagIssue[] }
  | { readonly ok: false; readonly issues: readonly FlagIssue[]; readonly warnings: readonly FlagIssue[] };

/** Checks everything that `serve` was given, reads the files it names, and reports every error at once. */
export async function validateServeOptions(
  raw: RawServeOptions,
  environment: ServeEnvironment,
): Promise<ServeOptionsResult> {
  const report = new FlagReport();
  const values = new FlagValues(raw, report);
  const files = new CertificateFiles(environment.readFile, environment.now, report);

  const featureGateEnabled = readFeatureGate(values, report);
  if (!featureGateEnabled) rejectFlagsThatNeedTheGate(values, report);

  const form = readDeploymentForm(values, report, featureGateEnabled);
  const { serverId, localServerDownPolicy } = form;
  const health = readHealthFlags(values, report, featureGateEnabled);
  const addresses = readAddressFlags(values, report, environment.network);
  const tls = readTlsFlags(values, report);
  const admin = readAdminFlags(values, report);
  const serving = readServingPair(values, files);
  const namedServing = readNamedServingPairs(values, report, files);
  if (!form.isGateway && addresses !== undefined && serving !== undefined) {
    warnOfUnusableAddress(addresses, serving, report);
  }
  const clientCa = files.certificates('client-ca-file', values.text('client-ca-file'));
  const requestHeaderCa = files.certificates(
    'requestheader-client-ca-file',
    values.text('requestheader-client-ca-file'),
  );
  rejectSharedAuthority(clientCa, requestHeaderCa, report);
  const requestHeader = readRequestHeaderFlags(values, report, requestHeaderCa);
  const identityHeaderNames = readIdentityHeaderNames(values, report);
  const jwt = await readJwtFlags(values, report, files);
  const peerCa = featureGateEnabled ? readPeerCa(values, files) : undefined;
  const local = form.isGateway
    ? undefined
    : readLocalServer(values, report, files, peerCa, featureGateEnabled);
  if (local !== undefined && addresses !== undefined) rejectOwnPort(local, addresses, report);
  const identityModes = identityModesOf(form, readIdentityModes(values, report, featureGateEnabled));
  const destinationIdentity = await readDestinationIdentityFlags(
    values,
    report,
    files,
    identityModes,
    form.isGateway ? gatewayIssuer : serverId,
  );
  const proxyClient = readProxyClientPair(
    values,
    files,
    report,
    featureGateEnabled,
    identityModes,
    form.isGateway,
  );
  checkAuthentication(values, report);
  const snapshot = await readSnapshotFlags(values, report, files, featureGateEnabled);
  const embeddedSync = await readEmbeddedSyncFlags(values, report, files, featureGateEnabled);
  const extensionRouting = values.value('extension-routing');
  const preferredVersion = values.values({
    version: 'preferred-version',
    scope: 'preferred-version-scope',
    required: 'preferred-version-required',
  });
  const peerAddresses = readPeerAddressPolicy(values, report);
  const allowedGroups = values.list('allowed-groups', { mayBeBlank: true });
  const allowedUsers = values.list('allowed-users', { mayBeBlank: true });
  const traffic = readTrafficFlags(values, report);
  const observability = values.values({ metrics: 'enable-metrics' });
  const records = readRequestRecordsFlags({ values, report, files });
  const fileCheckInterval = values.value('file-check-interval');
  const logging = values.values({ format: 'logging-format', verbosity: 'v' });

  const { warnings } = report;
  const issues = report.issues.map((issue) => withSource(issue, environment.found));
  const complete =
    (form.isGateway || (serverId !== undefined && local !== undefined)) &&
    localServerDownPolicy !== undefined &&
    health !== undefined &&
    addresses !== undefined &&
    tls !== undefined &&
    serving !== undefined &&
    destinationIdentity !== undefined &&
    snapshot !== undefined &&
    extensionRouting !== undefined &&
    preferredVersion !== undefined &&
    peerAddresses !== undefined &&
    traffic !== undefined &&
    observability !== undefined &&
    fileCheckInterval !== undefined &&
    logging !== undefined;
  if (issues.length > 0 || !complete) return { ok: false, issues, warnings };
  const config: ServeConfig = {
    serverId,
    featureGateEnabled,
    local,
    localServerDownPolicy,
    health: health === 'off' ? undefined : health,
    ...addresses,
    tls,
    admin,
    serving,
    namedServing,
    peerCa: peerCa === undefined ? undefined : pemOf(peerCa),
    proxyClient,
    clientCa: clientCa === undefined ? undefined : pemOf(clientCa),
    requestHeader,
    jwt,
    identityHeaderNames,
    destinationIdentity,
    allowedGroups,
    allowedUsers,
    snapshot,
    embeddedSync,
    extensionRouting,
    preferredVersion,
    peerAddresses,
    ...traffic,
    observability,
    records,
    fileCheckInterval,
    logging,
    commandLine: {
      version: packageVersion(),
      flags: flagsInUse(raw),
      found: (environment.found ?? []).map(({ flag, value, source }) => ({ flag, value, source })),
    },
  };
  return { ok: true, config, warnings };
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

function readServingPair(values: FlagValues, files: CertificateFiles): ServeConfig['serving'] | undefined {
  const certificate = values.required('tls-cert-file', 'the certificate that clients see');
  const key = values.required('tls-private-key-file', 'the private key for --tls-cert-file');
  return files.pair('tls-cert-file', certificate, 'tls-private-key-file', key);
}

/** Two processes cannot listen there, and the router would be its own local server. */
function rejectOwnPort(
  { origin }: Pick<NonNullable<ServeConfig['local']>, 'origin'>,
  { bindAddress, securePort, reusePort }: Pick<ServeConfig, 'bindAddress' | 'securePort' | 'reusePort'>,
  report: FlagReport,
): void {
  const { hostname, port } = new URL(origin);
  const isEverywhere = bindAddress === '0.0.0.0' || bindAddress === '::';
  const isHere = hostname === bindAddress || (isEverywhere && isLoopback(hostname));
  if (reusePort || !isHere || Number(port || 443) !== securePort) return;
  report.issue(
    'local-server',
    `--local-server ${origin} is where the router itself is to listen (--secure-port=${securePort}): move kube-apiserver to another port, such as 6444, or give the router another`,
  );
}

/** One authority for both would let every ordinary client pass for a front proxy, or the other way round. */
function rejectSharedAuthority(
  clientCa: CertificateFile | undefined,
  requestHeaderCa: CertificateFile | undefined,
  report: FlagReport,
): void {
  const authorities = {
    clientCa: clientCa?.certificates ?? [],
    requestHeaderCa: requestHeaderCa?.certificates ?? [],
  };
  if (sharedAuthority(authorities) === undefined) return;
  report.issue(
    'requestheader-client-ca-file',
    '--requestheader-client-ca-file and --client-ca-file hold the same CA key: give front proxies a CA of their own, or any client certificate could speak for any user',
  );
}

/** Callers can only be known where something establishes who they are; to name some without it is a mistake. */
function checkAuthentication(values: FlagValues, report: FlagReport): void {
  if (authenticatingFlags.some((name) => values.isGiven(name))) return;
  for (const name of ['allowed-users', 'allowed-groups'] as const) {
    if (!values.isGiven(name)) continue;
    report.issue(
      name,
      `--${name} names callers, but nothing here establishes who a caller is: set --client-ca-file to know them by their certificates`,
    );
  }
  report.warn(
    'client-ca-file',
    `none of ${inWords.format(authenticatingFlags.map((name) => `--${name}`))} is set: no caller is authenticated here, and the router's own paths are closed to everyone`,
  );
}

/** Such as: one, two and three. */
const inWords = new Intl.ListFormat('en-GB', { type: 'conjunction' });
