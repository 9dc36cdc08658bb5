import {
  type AssertionKeySet,
  foreignIssuer,
  isIssuerName,
  parseAssertionKeys,
} from '../../identity/assertion/assertion-keys.ts';
import type { IdentityMode } from '../../identity/outgoing/identity-token.ts';
import type {
  DestinationIdentityConfig,
  PemFile,
  ServeConfig,
} from '../../node/configuration/serve-config.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/host-port.ts';
import { describeKeysIssue } from '../../snapshot/signing/keys.ts';
import { loadSigningKey } from '../../snapshot/signing/signing-key.ts';
import { authenticatingFlags, type ServeFlagValues } from '../flags/serve-flags.ts';
import type { CertificateFiles } from './certificate-files.ts';

/** Reads the bundle that peers' serving certificates are checked against. */
export function readPeerCa(flags: ServeFlagValues, files: CertificateFiles): PemFile | undefined {
  const path = flags.required(
    'peer-ca-file',
    "peers' serving certificates are checked against it, and nothing is ever sent to an unchecked peer",
  );
  return files.certificates('peer-ca-file', path)?.file;
}

/** Reads where the local API server is and how it proves itself. */
export function readLocalServer(
  flags: ServeFlagValues,
  files: CertificateFiles,
  peerCa: PemFile | undefined,
  featureGateEnabled: boolean,
): ServeConfig['local'] | undefined {
  const origin = readOrigin(
    flags.required('local-server', 'where the local API server listens, as https://host:port'),
    flags,
  );
  const serverName = flags.text('local-server-name');
  const own = files.certificates('local-server-ca-file', flags.text('local-server-ca-file'));
  if (!featureGateEnabled && !flags.isGiven('local-server-ca-file')) {
    flags.issue(
      'local-server-ca-file',
      "--local-server-ca-file is required with the feature gate off: the local API server's certificate is checked against it",
    );
  }
  const ca = own?.file ?? peerCa;
  return origin === undefined || serverName === undefined || ca === undefined
    ? undefined
    : { origin, serverName, ca };
}

function readOrigin(text: string | undefined, flags: ServeFlagValues): string | undefined {
  if (text === undefined) return undefined;
  // An origin and nothing else: a path or a query would silently be dropped from every request.
  const parsed = parseHttpsOrigin(text.replace(/\/$/, ''));
  if (parsed.ok) return new URL(text).origin;
  return flags.issue('local-server', `--local-server "${text}" ${parsed.message}`);
}

/**
 * Reads the front-proxy pair. It is a must where somebody is told over a connection made with it who calls: peers
 * with the gate on, the local server wherever callers are authenticated here. A gateway can do
 * without it: callers' tokens pass through, and callers by certificate are refused.
 */
export function readProxyClientPair(
  flags: ServeFlagValues,
  files: CertificateFiles,
  featureGateEnabled: boolean,
  identity: IdentityModes,
  isGateway: boolean,
): ServeConfig['proxyClient'] {
  const certificate = flags.text('proxy-client-cert-file');
  const key = flags.text('proxy-client-key-file');
  const authenticates = authenticatingFlags.some((name) => flags.isGiven(name));
  const eitherGiven = flags.isGiven('proxy-client-cert-file') || flags.isGiven('proxy-client-key-file');
  if (isGateway && !eitherGiven && identity.peer === 'front-proxy') {
    warnOfTokensOnly(flags);
    return undefined;
  }
  const needed =
    (identity.local === 'front-proxy' && (featureGateEnabled || authenticates)) ||
    (featureGateEnabled && identity.peer === 'front-proxy');
  if (needed || eitherGiven) {
    flags.required('proxy-client-cert-file', 'the certificate that proves this router to API servers');
    flags.required('proxy-client-key-file', 'the private key for --proxy-client-cert-file');
  }
  if (certificate === undefined || key === undefined) return undefined;
  return files.pair('proxy-client-cert-file', certificate, 'proxy-client-key-file', key);
}

/** An operator who forgot the pair should learn it at the start, not from callers' 401s. */
function warnOfTokensOnly(flags: ServeFlagValues): void {
  flags.warn(
    'proxy-client-cert-file',
    '--proxy-client-cert-file and --proxy-client-key-file are not set: callers reach API servers by their bearer tokens only, and a caller with a client certificate gets 401',
  );
  for (const flag of authenticatingFlags) {
    // A certificate is looked at: its holder gets 401.
    if (flag === 'client-ca-file' || !flags.isGiven(flag)) continue;
    flags.warn(
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

/**
 * Reads what the identity of callers is asserted with, and which other routers are believed about it.
 * @param serverId the default issuer of assertions.
 */
export async function readDestinationIdentityFlags(
  flags: ServeFlagValues,
  { local, peer }: IdentityModes,
  serverId: string | undefined,
): Promise<DestinationIdentityConfig | undefined> {
  const modes = [local, peer];
  const signingKey = await readSigningKey(flags, modes);
  const assertionIssuer = readAssertionIssuer(flags, modes) ?? serverId;
  const assertionKeys = await readAssertionKeys(flags);
  if (local === undefined || peer === undefined || assertionIssuer === undefined) return undefined;

  if (signingKey !== undefined && assertionKeys !== undefined) {
    rejectForeignIssuer(signingKey, assertionKeys.pinned, assertionIssuer, flags);
  }
  return { local, peer, signingKey, assertionIssuer, assertionKeys };
}

type Modes = readonly (IdentityMode | undefined)[];

async function readSigningKey(flags: ServeFlagValues, modes: Modes): Promise<SigningKeyFile | undefined> {
  const flag = 'assertion-signing-key';
  if (!modes.includes('assertion')) return undefined;
  const file = flags.requiredFile(flag, 'assertions are signed with it');
  if (file === undefined) return undefined;
  const { path, text } = file;
  try {
    return { path, loaded: await loadSigningKey(text) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return flags.issue(flag, `--${flag}: ${path}: ${error.message}`);
  }
}

function readAssertionIssuer(flags: ServeFlagValues, modes: Modes): string | undefined {
  const flag = 'assertion-issuer';
  if (!modes.includes('assertion')) return undefined;
  const issuer = flags.text(flag);
  if (issuer === undefined || isIssuerName(issuer)) return issuer;
  return flags.issue(flag, `--${flag} must be printable ASCII characters without spaces, at most 512`);
}

async function readAssertionKeys(flags: ServeFlagValues): Promise<AssertionKeysFile | undefined> {
  const flag = 'assertion-keys';
  const file = flags.file(flag);
  if (file === undefined) return undefined;
  const result = await parseAssertionKeys(file.text);
  if (result.ok) return { ...file, pinned: result.keys };
  for (const issue of result.issues) flags.issue(flag, `--${flag}: ${describeKeysIssue(file.path, issue)}`);
  return undefined;
}

function rejectForeignIssuer(
  { loaded }: SigningKeyFile,
  pinned: AssertionKeySet,
  assertionIssuer: string,
  flags: ServeFlagValues,
): void {
  const issue = foreignIssuer(loaded.key.kid, assertionIssuer, pinned);
  if (issue === undefined) return;
  flags.issue('assertion-keys', `--assertion-keys ${issue}: correct the file or set --assertion-issuer`);
}
