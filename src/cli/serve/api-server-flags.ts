import {
  type AssertionKeySet,
  foreignIssuer,
  isIssuerName,
  parseAssertionKeys,
} from '../../identity/assertion/assertion-keys.ts';
import type { IdentityMode } from '../../identity/outgoing/identity-token.ts';
import { checkIssuerUrl } from '../../identity/outgoing/oidc-issuer.ts';
import { oidcTokenAlgorithm } from '../../identity/outgoing/sign-oidc-token.ts';
import type {
  DestinationIdentityConfig,
  PemFile,
  ServeConfig,
} from '../../node/configuration/serve-config.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/host-port.ts';
import { describeKeysIssue } from '../../snapshot/signing/keys.ts';
import { loadSigningKey } from '../../snapshot/signing/signing-key.ts';
import { unknownVersionInteroperabilityProxy } from '../flags/feature-gates.ts';
import type { FlagReport, FlagValues } from '../flags/flag-values.ts';
import { authenticatingFlags, type ServeFlagName } from '../flags/serve-flags.ts';
import type { CertificateFile, CertificateFiles } from './certificate-files.ts';

/** Without the parsed certificates: what the configuration keeps of a file. */
export function pemOf(file: CertificateFile): PemFile {
  return { path: file.path, pem: file.pem };
}

/** Reads the bundle that peers' serving certificates are checked against. */
export function readPeerCa(values: FlagValues, files: CertificateFiles): CertificateFile | undefined {
  const path = values.required(
    'peer-ca-file',
    "peers' serving certificates are checked against it, and nothing is ever sent to an unchecked peer",
  );
  return files.certificates('peer-ca-file', path);
}

/** Reads where the local API server is and how it proves itself. */
export function readLocalServer(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
  peerCa: CertificateFile | undefined,
  featureGateEnabled: boolean,
): ServeConfig['local'] | undefined {
  const origin = readOrigin(
    values.required('local-server', 'where the local API server listens, as https://host:port'),
    report,
  );
  const serverName = values.text('local-server-name');
  const own = files.certificates('local-server-ca-file', values.text('local-server-ca-file'));
  if (!featureGateEnabled && !values.isGiven('local-server-ca-file')) {
    report.issue(
      'local-server-ca-file',
      "--local-server-ca-file is required with the feature gate off: the local API server's certificate is checked against it",
    );
  }
  const ca = own ?? peerCa;
  if (origin === undefined || serverName === undefined || ca === undefined) return undefined;
  return { origin, serverName, ca: pemOf(ca) };
}

function readOrigin(text: string | undefined, report: FlagReport): string | undefined {
  if (text === undefined) return undefined;
  // An origin and nothing else: a path or a query would silently be dropped from every request.
  const parsed = parseHttpsOrigin(text.replace(/\/$/, ''));
  if (parsed.ok) return new URL(text).origin;
  return report.issue('local-server', `--local-server "${text}" ${parsed.message}`);
}

/**
 * Reads the front-proxy pair. It is a must where somebody is told over a connection made with it who calls: peers
 * and extension servers with the gate on, the local server wherever callers are authenticated here. A gateway can do
 * without it: callers' tokens pass through, and callers by certificate are refused.
 */
export function readProxyClientPair(
  values: FlagValues,
  files: CertificateFiles,
  report: FlagReport,
  featureGateEnabled: boolean,
  identity: IdentityModes,
  isGateway: boolean,
): ServeConfig['proxyClient'] {
  const certificate = values.text('proxy-client-cert-file');
  const key = values.text('proxy-client-key-file');
  const authenticates = authenticatingFlags.some((name) => values.isGiven(name));
  const eitherGiven = values.isGiven('proxy-client-cert-file') || values.isGiven('proxy-client-key-file');
  const toExtensions = values.text('extension-routing') === 'extension';
  if (isGateway && !eitherGiven && !toExtensions && identity.peer === 'front-proxy') {
    warnOfTokensOnly(values, report);
    return undefined;
  }
  const needed =
    (identity.local === 'front-proxy' && (featureGateEnabled || authenticates)) ||
    (featureGateEnabled && (identity.peer === 'front-proxy' || toExtensions));
  if (needed || eitherGiven) {
    // The second half is kube-apiserver's (pkg/controlplane/apiserver/peer.go).
    for (const [flag, name] of [
      ['proxy-client-cert-file', 'proxy-cert-file'],
      ['proxy-client-key-file', 'proxy-key-file'],
    ] as const) {
      if (values.isGiven(flag)) continue;
      report.issue(flag, `--${flag} is required: error building peer proxy handler, ${name} not specified`);
    }
  }
  if (certificate === undefined || key === undefined) return undefined;
  return files.pair('proxy-client-cert-file', certificate, 'proxy-client-key-file', key);
}

/** An operator who forgot the pair should learn it at the start, not from callers' 401s. */
function warnOfTokensOnly(values: FlagValues, report: FlagReport): void {
  report.warn(
    'proxy-client-cert-file',
    '--proxy-client-cert-file and --proxy-client-key-file are not set: callers reach API servers by their bearer tokens only, and a caller with a client certificate gets 401',
  );
  for (const flag of authenticatingFlags) {
    // A certificate is looked at: its holder gets 401.
    if (flag === 'client-ca-file' || !values.isGiven(flag)) continue;
    report.warn(
      flag,
      `--${flag} authenticates no caller at a gateway without --proxy-client-cert-file: API servers verify tokens themselves, and what a front proxy says cannot be passed on`,
    );
  }
}

type SigningKeyFile = NonNullable<DestinationIdentityConfig['signingKey']>;
type AssertionKeysFile = NonNullable<DestinationIdentityConfig['assertionKeys']>;

/** `undefined` for what could not be read. */
export interface IdentityModes {
  readonly local: IdentityMode | undefined;
  readonly peer: IdentityMode | undefined;
}

/** Reads how destinations are told who calls. */
export function readIdentityModes(
  values: FlagValues,
  report: FlagReport,
  featureGateEnabled: boolean,
): IdentityModes {
  if (!featureGateEnabled && values.isGiven('peer-identity')) {
    report.issue(
      'peer-identity',
      `--peer-identity requires ${unknownVersionInteroperabilityProxy} feature to be turned on`,
    );
  }
  return {
    local: values.value('local-identity'),
    peer: values.value('peer-identity'),
  };
}

/**
 * Reads what the identity of callers is asserted with, and which other routers are believed about it.
 * @param serverId the default issuer of assertions.
 */
export async function readDestinationIdentityFlags(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
  { local, peer }: IdentityModes,
  serverId: string | undefined,
): Promise<DestinationIdentityConfig | undefined> {
  const modes = [local, peer];
  const signingKey = await readSigningKey(values, report, files, modes);
  const assertionIssuer = readAssertionIssuer(values, report, modes) ?? serverId;
  const oidc = readOidcFlags(values, report, modes);
  const assertionKeys = await readAssertionKeys(values, report, files);
  if (local === undefined || peer === undefined || assertionIssuer === undefined) return undefined;

  if (modes.includes('oidc-token') && signingKey !== undefined) rejectOtherAlgorithm(signingKey, report);
  if (modes.includes('assertion')) {
    if (assertionIssuer === oidc?.issuerUrl) {
      report.issue(
        'assertion-issuer',
        '--assertion-issuer must differ from --oidc-issuer-url, or an API server could take an assertion for a token',
      );
    }
    if (signingKey !== undefined && assertionKeys !== undefined) {
      rejectForeignIssuer(signingKey, assertionKeys.pinned, assertionIssuer, report);
    }
  }
  return { local, peer, signingKey, assertionIssuer, assertionKeys, oidc };
}

type Modes = readonly (IdentityMode | undefined)[];

async function readSigningKey(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
  modes: Modes,
): Promise<SigningKeyFile | undefined> {
  const flag = 'assertion-signing-key';
  const mode = modes.find((each) => each === 'assertion' || each === 'oidc-token');
  if (mode === undefined) return rejectUnused(values, report, flag, '"assertion" or "oidc-token"');
  const path = values.required(flag, `identity in the form "${mode}" is signed with it`);
  const text = path === undefined ? undefined : files.text(flag, path);
  if (path === undefined || text === undefined) return undefined;
  try {
    return { path, loaded: await loadSigningKey(text) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return report.issue(flag, `--${flag}: ${path}: ${error.message}`);
  }
}

function readAssertionIssuer(values: FlagValues, report: FlagReport, modes: Modes): string | undefined {
  const flag = 'assertion-issuer';
  if (!modes.includes('assertion')) return rejectUnused(values, report, flag, '"assertion"');
  const issuer = values.text(flag);
  if (issuer === undefined || isIssuerName(issuer)) return issuer;
  return report.issue(flag, `--${flag} must be printable ASCII characters without spaces, at most 512`);
}

function readOidcFlags(
  values: FlagValues,
  report: FlagReport,
  modes: Modes,
): DestinationIdentityConfig['oidc'] {
  if (!modes.includes('oidc-token')) {
    rejectUnused(values, report, 'oidc-issuer-url', '"oidc-token"');
    rejectUnused(values, report, 'oidc-audience', '"oidc-token"');
    return undefined;
  }
  const issuerUrl = values.required(
    'oidc-issuer-url',
    'API servers know the tokens by it and fetch the keys there',
  );
  const audience = values.required('oidc-audience', 'API servers take only tokens that are meant for them');
  const issue = issuerUrl === undefined ? undefined : checkIssuerUrl(issuerUrl);
  if (issue !== undefined) {
    return report.issue('oidc-issuer-url', `--oidc-issuer-url ${issue}: "${issuerUrl}"`);
  }
  return issuerUrl === undefined || audience === undefined ? undefined : { issuerUrl, audience };
}

async function readAssertionKeys(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
): Promise<AssertionKeysFile | undefined> {
  const flag = 'assertion-keys';
  const path = values.text(flag);
  const text = path === undefined ? undefined : files.text(flag, path);
  if (path === undefined || text === undefined) return undefined;
  const result = await parseAssertionKeys(text);
  if (result.ok) return { path, text, pinned: result.keys };
  for (const issue of result.issues) report.issue(flag, `--${flag}: ${describeKeysIssue(path, issue)}`);
  return undefined;
}

/** A flag that does nothing would leave its author believing that it does. */
function rejectUnused(values: FlagValues, report: FlagReport, flag: ServeFlagName, modes: string): undefined {
  if (!values.isGiven(flag)) return undefined;
  return report.issue(flag, `--${flag} needs --peer-identity or --local-identity to be ${modes}`);
}

function rejectOtherAlgorithm({ path, loaded }: SigningKeyFile, report: FlagReport): void {
  const { alg } = loaded.key;
  if (alg === oidcTokenAlgorithm) return;
  report.issue(
    'assertion-signing-key',
    `--assertion-signing-key: ${path} holds an ${alg} key, but kube-apiserver takes no ${alg} tokens: make one with keygen --algorithm ${oidcTokenAlgorithm}`,
  );
}

function rejectForeignIssuer(
  { loaded }: SigningKeyFile,
  pinned: AssertionKeySet,
  assertionIssuer: string,
  report: FlagReport,
): void {
  const issue = foreignIssuer(loaded.key.kid, assertionIssuer, pinned);
  if (issue === undefined) return;
  report.issue('assertion-keys', `--assertion-keys ${issue}: correct the file or set --assertion-issuer`);
}
