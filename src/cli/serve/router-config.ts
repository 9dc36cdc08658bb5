import { X509Certificate } from 'node:crypto';
import { parseAssertionKeys } from '../../identity/assertion/assertion-keys.ts';
import { sharedAuthority } from '../../node/callers/client-certificate.ts';
import type { RouterFlag, routerSettings } from '../../node/configuration/router-settings.ts';
import type {
  AdvertisedAddress,
  CertificatePair,
  ClusterAccessOptions,
  PemFile,
  ServeConfig,
} from '../../node/configuration/serve-config.ts';
import {
  type HostNetwork,
  isGlobalUnicast,
  isLoopback,
  resolveAdvertisedAddress,
} from '../../node/serving/default-interface.ts';
import type { IdentityHeaderNames } from '../../request/headers.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { isGivenByOperator } from '../../snapshot/addresses/addresses.ts';
import {
  describeKeysIssue,
  type ParseKeysResult,
  type PinnedKey,
  parseSnapshotKeys,
} from '../../snapshot/signing/keys.ts';
import { CertificateFiles } from '../settings/certificate-files.ts';
import type { SettingIssue, Settings } from '../settings/read-settings.ts';
import { packageVersion } from '../terminal/package-version.ts';
import { isOwnPort, repeatInstallation } from './found-settings.ts';

type ServeSettings = Settings<typeof routerSettings>;
type ServeFiles = CertificateFiles<typeof routerSettings>;

interface ServeEnvironment {
  readonly network: HostNetwork;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export type ServeOptionsResult =
  | { readonly ok: true; readonly config: ServeConfig; readonly warnings: readonly SettingIssue[] }
  | {
      readonly ok: false;
      readonly issues: readonly SettingIssue[];
      readonly warnings: readonly SettingIssue[];
    };

export async function routerConfig(
  settings: ServeSettings,
  environment: ServeEnvironment,
): Promise<ServeOptionsResult> {
  const { values, issues, warnings } = settings;
  const { gateway, authentication, snapshot } = values;
  const files = new CertificateFiles(settings, environment.now);
  const featureGateEnabled = readFeatureGate(settings);
  if (!featureGateEnabled) rejectFlagsThatNeedTheGate(settings);
  settings.check();
  // The gateway form has to be asked for: a forgotten --server-id must not make one.
  if (gateway) rejectFlagsOfLocalServer(settings);
  else if (!readsCluster(settings))
    settings.require('server-id', 'the ID of the local API server, as the snapshot has it');
  const advertisedAddress = readAdvertisedAddress(settings, environment.network);
  refuseAdminAddressForOthers(settings);
  const serving = readServingPair(settings, files);
  const namedServing = readNamedServingPairs(settings, files);
  if (!gateway && serving !== undefined) warnOfUnusableAddress(advertisedAddress, serving, settings);
  const callers = readCallers(settings, files);
  const peerCa = featureGateEnabled ? readPeerCa(settings, files) : undefined;
  const local = gateway ? undefined : readLocalServer(settings, files, peerCa, featureGateEnabled);
  const { assertionKeysFile } = authentication;
  const assertionKeys = await readKeys(settings, 'assertion-keys', assertionKeysFile, parseAssertionKeys);
  const proxyClient = readProxyClientPair(settings, files, featureGateEnabled);
  warnOfNoAuthentication(settings);
  const embeddedSync = featureGateEnabled ? await readEmbeddedSync(settings) : undefined;
  const snapshotKeys = await readKeys(settings, 'snapshot-keys', snapshot.keysFile, parseSnapshotKeys);

  // Without a local server a router is a gateway, which nobody may become by mistake.
  const isWhole = gateway || local !== undefined;
  if (issues.length > 0 || serving === undefined || !isWhole) return { ok: false, issues, warnings };
  const { health, tls, timeouts } = derivedFrom(values, featureGateEnabled);
  const config: ServeConfig = {
    settings: values,
    serverId: gateway ? undefined : values.localServer.id,
    featureGateEnabled,
    local,
    health,
    advertisedAddress,
    serving,
    namedServing,
    tls,
    peerCa,
    proxyClient,
    ...callers,
    assertionKeys,
    snapshotKeys,
    embeddedSync,
    timeouts,
    credentialFiles: settings.credentialFiles,
    version: packageVersion(),
    found: foundBy(settings),
  };
  return { ok: true, config, warnings };
}

function derivedFrom(
  { health, serving, timeouts }: ServeConfig['settings'],
  featureGateEnabled: boolean,
): Pick<ServeConfig, 'health' | 'tls' | 'timeouts'> {
  const isProbing = featureGateEnabled && health.checkInterval > 0;
  return {
    health: isProbing ? { interval: health.checkInterval, ...probing } : undefined,
    tls: { minVersion: serving.tlsMinVersion === 'VersionTLS12' ? 'TLSv1.2' : 'TLSv1.3' },
    timeouts: {
      // The rest is for the second server.
      responseHeader: Math.min(45_000, timeouts.request * 0.75),
      tlsHandshake: 10_000,
    },
  };
}

function foundBy(settings: ServeSettings): ServeConfig['found'] {
  return settings
    .inUse()
    .flatMap(({ flag, shown: value, source }) =>
      source?.kind === 'found' ? [{ flag, value, source: source.text }] : [],
    );
}

function readServingPair(settings: ServeSettings, files: ServeFiles): CertificatePair | undefined {
  settings.require('tls-cert-file', 'the certificate that clients see');
  settings.require('tls-private-key-file', 'the private key for --tls-cert-file');
  const { certFile, keyFile } = settings.values.serving;
  return files.pair('tls-cert-file', certFile, 'tls-private-key-file', keyFile);
}

function readCallers(
  settings: ServeSettings,
  files: ServeFiles,
): Pick<ServeConfig, 'clientCa' | 'requestHeader' | 'identityHeaderNames'> {
  const { clientCAFile, requestHeader } = settings.values.authentication;
  const clientCa = files.certificates('client-ca-file', clientCAFile);
  const requestHeaderCa = files.certificates('requestheader-client-ca-file', requestHeader.clientCAFile);
  const authorities = {
    clientCa: clientCa?.certificates ?? [],
    requestHeaderCa: requestHeaderCa?.certificates ?? [],
  };
  // One authority for both would let every ordinary client pass for a front proxy, or the other way round.
  if (sharedAuthority(authorities) !== undefined) {
    settings.issue(
      'requestheader-client-ca-file',
      '--requestheader-client-ca-file and --client-ca-file hold the same CA key: give front proxies a CA of their own, or any client certificate could speak for any user',
    );
  }
  return {
    clientCa: clientCa?.file,
    requestHeader: readRequestHeader(settings, requestHeaderCa?.file),
    identityHeaderNames: readIdentityHeaderNames(settings),
  };
}

function readPeerCa(settings: ServeSettings, files: ServeFiles): PemFile | undefined {
  settings.require(
    'peer-ca-file',
    "peers' serving certificates are checked against it, and nothing is ever sent to an unchecked peer",
  );
  return files.certificates('peer-ca-file', settings.values.peers.caFile)?.file;
}

/**
 * A probe that takes five seconds is one that a load balancer would have given up, too. Two good answers bring a server
 * back, three bad ones take it out, as in HAProxy.
 */
const probing = { timeout: 5_000, rise: 2, fall: 3 };

const unknownVersionInteroperabilityProxy = 'UnknownVersionInteroperabilityProxy';

function readFeatureGate(settings: ServeSettings): boolean {
  for (const gate of Object.keys(settings.values.featureGates)) {
    if (gate === unknownVersionInteroperabilityProxy) continue;
    settings.issue(
      'feature-gates',
      `--feature-gates: unrecognized feature gate: ${gate} (there is ${unknownVersionInteroperabilityProxy})`,
    );
  }
  return settings.values.featureGates[unknownVersionInteroperabilityProxy] ?? true;
}

/** These flags mean nothing with the gate off, and upstream refuses to start with them then. */
function rejectFlagsThatNeedTheGate(settings: ServeSettings): void {
  for (const flag of settings.flagsThat('needsFeatureGate')) {
    if (!settings.isUsed(flag)) continue;
    settings.issue(flag, `--${flag} requires ${unknownVersionInteroperabilityProxy} feature to be turned on`);
  }
}

function rejectFlagsOfLocalServer(settings: ServeSettings): void {
  const reject = (flag: RouterFlag, why: string) => {
    if (settings.isGiven(flag)) settings.issue(flag, `--${flag} and --gateway exclude each other: ${why}`);
  };
  for (const flag of settings.flagsThat('isOfLocalServer'))
    reject(flag, 'no API server is local to a gateway');
  reject('assertion-keys', 'an assertion is addressed to an API server ID, which a gateway does not have');
}

function readAdvertisedAddress(settings: ServeSettings, network: HostNetwork): AdvertisedAddress | undefined {
  const { gateway, advertise } = settings.values;
  for (const flag of ['peer-advertise-ip', 'advertise-address'] as const) {
    if (!settings.isGiven(flag) || !gateway) continue;
    settings.warn(flag, `--${flag} has no use with --gateway: no peer calls a gateway in place of a server`);
  }
  const { peerIP } = advertise;
  if (peerIP !== undefined && !isGlobalUnicast(peerIP) && !isLoopback(peerIP)) {
    settings.issue('peer-advertise-ip', `--peer-advertise-ip ${peerIP} is no address that a peer can call`);
  }
  const advertised = resolveAdvertisedAddress(settings.values, network);
  if (advertised === undefined) {
    settings.warn(
      'advertise-address',
      'no address to advertise to peers: the host has none that others could use; set --advertise-address',
    );
  }
  return advertised;
}

/** By which peers know a kube-apiserver, whatever its address (KEP-4020). */
const apiServerName = 'kubernetes.default.svc';

/**
 * Peers that call this router in place of its API server look for that one's name in the certificate; without it the
 * address would cut the server off.
 */
function warnOfUnusableAddress(
  advertised: AdvertisedAddress | undefined,
  { certificate }: CertificatePair,
  settings: ServeSettings,
): void {
  if (advertised === undefined || !isGivenByOperator({ by: advertised.source })) return;
  const leaf = new X509Certificate(certificate.pem);
  if (leaf.checkHost(apiServerName, { subject: 'never' }) !== undefined) return;
  settings.warn(
    'tls-cert-file',
    `--tls-cert-file does not name ${apiServerName}: peers call the router at --${advertised.source} and refuse that certificate`,
  );
}

function refuseAdminAddressForOthers(settings: ServeSettings): void {
  const host = settings.values.admin.bindAddress?.host;
  if (host === undefined || isLoopback(host)) return;
  settings.issue(
    'admin-bind-address',
    `--admin-bind-address ${host} must be a loopback address, because nobody is authenticated there: other hosts have health and metrics on the serving port`,
  );
}

function readNamedServingPairs(settings: ServeSettings, files: ServeFiles): ServeConfig['namedServing'] {
  const flag = 'tls-sni-cert-key';
  return (settings.values.serving.sniCertKeys ?? []).flatMap(({ certFile, keyFile, names = [] }) => {
    const pair = files.pair(flag, certFile, flag, keyFile);
    return pair === undefined ? [] : [{ ...pair, names }];
  });
}

function readRequestHeader(
  settings: ServeSettings,
  clientCa: PemFile | undefined,
): ServeConfig['requestHeader'] {
  const flag = 'requestheader-allowed-names';
  if (!settings.isGiven('requestheader-client-ca-file')) return undefined;
  if (!settings.isGiven(flag)) {
    // Upstream takes a forgotten flag for "any"; here "any" has to be written.
    return settings.issue(
      flag,
      `--${flag} is required with --requestheader-client-ca-file: name the front proxies, or set it to blank to allow any Common Name`,
    );
  }
  const { allowedNames } = settings.values.authentication.requestHeader;
  // A faulty value has an error of its own.
  if (allowedNames === undefined) return undefined;
  if (allowedNames.length === 0) {
    settings.warn(
      flag,
      `--${flag} is blank: every holder of a certificate of --requestheader-client-ca-file may speak for any user`,
    );
  }
  return clientCa && { clientCa, allowedNames };
}

function readIdentityHeaderNames(settings: ServeSettings): IdentityHeaderNames {
  const { usernameHeaders, uidHeaders, groupHeaders, extraHeaderPrefixes } =
    settings.values.authentication.requestHeader;
  const check = (flag: RouterFlag, names: readonly string[], standard: string, what = 'header') => {
    if (names.some((name) => name.toLowerCase() === standard.toLowerCase())) return;
    const message = `--${flag} is set without specifying the standard ${standard} ${what} - API aggregation will not work`;
    // As upstream: a warning, for the UID an error (k8s.io/apiserver pkg/server/options/authentication.go).
    if (flag === 'requestheader-uid-headers') settings.issue(flag, message);
    else settings.warn(flag, message);
  };
  check('requestheader-username-headers', usernameHeaders, 'X-Remote-User');
  check('requestheader-uid-headers', uidHeaders, 'X-Remote-Uid');
  check('requestheader-group-headers', groupHeaders, 'X-Remote-Group');
  check('requestheader-extra-headers-prefix', extraHeaderPrefixes, 'X-Remote-Extra-', 'header prefix');
  return {
    username: usernameHeaders,
    uid: uidHeaders,
    group: groupHeaders,
    extraPrefix: extraHeaderPrefixes,
  };
}

function readLocalServer(
  settings: ServeSettings,
  files: ServeFiles,
  peerCa: PemFile | undefined,
  featureGateEnabled: boolean,
): ServeConfig['local'] {
  settings.require('local-server', 'where the local API server listens, as https://host:port');
  const { url: origin, serverName, caFile } = settings.values.localServer;
  const own = files.certificates('local-server-ca-file', caFile);
  if (!featureGateEnabled) {
    settings.require(
      'local-server-ca-file',
      "with the feature gate off the local API server's certificate is checked against it",
    );
  }
  const { serving } = settings.values;
  // Two processes cannot listen there, and the router would be its own local server.
  if (origin !== undefined && isOwnPort(origin, serving)) {
    const advice = settings.isFound('local-server') ? `. ${repeatInstallation}` : '';
    settings.issue(
      'local-server',
      `--local-server ${origin} is where the router itself is to listen (--secure-port=${serving.port}): move kube-apiserver to another port, such as 6444, or give the router another${advice}`,
    );
  }
  const ca = own?.file ?? peerCa;
  return origin === undefined || ca === undefined ? undefined : { origin, serverName, ca };
}

/**
 * Reads the front-proxy pair. It is a must where somebody is told over a connection made with it who calls: peers
 * with the gate on, the local server wherever callers are authenticated here. A gateway can do
 * without it: callers' tokens pass through, and callers by certificate are refused.
 */
function readProxyClientPair(
  settings: ServeSettings,
  files: ServeFiles,
  featureGateEnabled: boolean,
): ServeConfig['proxyClient'] {
  const { gateway, frontProxy } = settings.values;
  const authenticating = settings.flagsThat('authenticates').filter((flag) => settings.isGiven(flag));
  const isAnyGiven = settings.isGiven('proxy-client-cert-file') || settings.isGiven('proxy-client-key-file');
  if (gateway && !isAnyGiven) {
    warnOfTokensOnly(settings, authenticating);
    return undefined;
  }
  if (featureGateEnabled || authenticating.length > 0 || isAnyGiven) {
    settings.require('proxy-client-cert-file', 'the certificate that proves this router to API servers');
    settings.require('proxy-client-key-file', 'the private key for --proxy-client-cert-file');
  }
  const { certFile, keyFile } = frontProxy;
  if (certFile === undefined || keyFile === undefined) return undefined;
  return files.pair('proxy-client-cert-file', certFile, 'proxy-client-key-file', keyFile);
}

function warnOfTokensOnly(settings: ServeSettings, authenticating: readonly RouterFlag[]): void {
  settings.warn(
    'proxy-client-cert-file',
    '--proxy-client-cert-file and --proxy-client-key-file are not set: callers reach API servers by their bearer tokens only, and a caller with a client certificate gets 401',
  );
  for (const flag of authenticating) {
    // A certificate is looked at: its holder gets 401.
    if (flag === 'client-ca-file') continue;
    settings.warn(
      flag,
      `--${flag} authenticates no caller at a gateway without --proxy-client-cert-file: API servers verify tokens themselves, and what a front proxy says cannot be passed on`,
    );
  }
}

function warnOfNoAuthentication(settings: ServeSettings): void {
  const flags = settings.flagsThat('authenticates');
  if (flags.some((flag) => settings.isGiven(flag))) return;
  const inWords = new Intl.ListFormat('en-GB', { type: 'conjunction' });
  settings.warn(
    'client-ca-file',
    `none of ${inWords.format(flags.map((flag) => `--${flag}`))} is set: no caller is authenticated here, so callers are known by their bearer tokens alone`,
  );
}

async function readKeys<Key extends PinnedKey>(
  settings: ServeSettings,
  flag: 'assertion-keys' | 'snapshot-keys',
  path: string | undefined,
  parse: (text: string) => Promise<ParseKeysResult<Key>>,
) {
  const file = settings.file(flag, path);
  if (file === undefined) return undefined;
  const result = await parse(file.text);
  if (result.ok) return result.keys;
  for (const issue of result.issues)
    settings.issue(flag, `--${flag}: ${describeKeysIssue(file.path, issue)}`);
  return undefined;
}

/** Such a router is told by the cluster which server is the local one. */
function readsCluster(settings: ServeSettings): boolean {
  return settings.isGiven('kubeconfig') || settings.values.apiServers.inCluster === true;
}

/** Reads how the router reads the cluster itself; `undefined` where snapshots are pushed, and after an error. */
async function readEmbeddedSync(settings: ServeSettings): Promise<ClusterAccessOptions | undefined> {
  const { apiServers, gateway } = settings.values;
  const isKubeconfig = settings.isGiven('kubeconfig');
  const isOwn = readsCluster(settings);
  const hasKeys = settings.isGiven('snapshot-keys');
  if (!isOwn && !hasKeys) {
    settings.issue(
      'snapshot-keys',
      'set --kubeconfig or --in-cluster, and the router reads the cluster itself; or --snapshot-keys, with which it checks the snapshots of a sync job: without one of them it knows no server',
    );
  } else if (!settings.isGiven('snapshot-file')) {
    const what = isOwn
      ? 'nothing of a server that it cannot read then'
      : 'nothing until the next snapshot is pushed';
    settings.warn('snapshot-file', `--snapshot-file is not set: after a restart the router knows ${what}`);
  }
  if (!isOwn) return undefined;
  const flag = isKubeconfig ? 'kubeconfig' : 'in-cluster';
  if (isKubeconfig && apiServers.inCluster === true) {
    settings.issue('in-cluster', '--kubeconfig and --in-cluster name two clusters: keep one');
  }
  // Two that make snapshots would take turns in overtaking each other.
  if (hasKeys) {
    settings.issue(
      'snapshot-keys',
      `--snapshot-keys and --${flag} exclude each other: with --${flag} the router reads the cluster itself and takes no pushed snapshot. Remove --snapshot-keys, or --${flag} to go on with a sync job that pushes`,
    );
  }
  for (const advertising of ['peer-advertise-ip', 'advertise-address'] as const) {
    if (gateway || !settings.isGiven(advertising)) continue;
    settings.warn(
      advertising,
      `--${advertising} has no use with --${flag}: routers that read the cluster themselves call each other's API servers at the addresses that Leases and EndpointSlices have`,
    );
  }
  const kubeconfig = settings.file('kubeconfig', apiServers.kubeconfig);
  if (isKubeconfig && kubeconfig === undefined) return undefined;
  const { loadClusterAccess } = await import('../../node/credentials/cluster-access.ts');
  try {
    const access =
      kubeconfig === undefined
        ? ({ inCluster: true } as const)
        : { kubeconfig: kubeconfig.path, text: kubeconfig.text, context: apiServers.context };
    await loadClusterAccess(access);
    return access;
  } catch (error) {
    return settings.issue(flag, `--${flag}: ${errorMessage(error)}`);
  }
}
