import { parseAssertionKeys } from '../../identity/assertion/assertion-keys.ts';
import type { PemFile, ServeConfig } from '../../node/configuration/serve-config.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/addresses.ts';
import { describeKeysIssue } from '../../snapshot/signing/keys.ts';
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
  isGateway: boolean,
): ServeConfig['proxyClient'] {
  const certificate = flags.text('proxy-client-cert-file');
  const key = flags.text('proxy-client-key-file');
  const authenticates = authenticatingFlags.some((name) => flags.isGiven(name));
  const eitherGiven = flags.isGiven('proxy-client-cert-file') || flags.isGiven('proxy-client-key-file');
  if (isGateway && !eitherGiven) {
    warnOfTokensOnly(flags);
    return undefined;
  }
  if (featureGateEnabled || authenticates || eitherGiven) {
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

/** Reads which edge routers are believed about who calls. */
export async function readAssertionKeys(flags: ServeFlagValues): Promise<ServeConfig['assertionKeys']> {
  const flag = 'assertion-keys';
  const file = flags.file(flag);
  if (file === undefined) return undefined;
  const result = await parseAssertionKeys(file.text);
  if (result.ok) return { ...file, pinned: result.keys };
  for (const issue of result.issues) flags.issue(flag, `--${flag}: ${describeKeysIssue(file.path, issue)}`);
  return undefined;
}
