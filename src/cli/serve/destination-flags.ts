import type { PemFile, ServeConfig } from '../../node/configuration/serve-config.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/host-port.ts';
import type { FlagReport, FlagValues } from '../flags/flag-values.ts';
import type { CertificateFile, CertificateFiles } from './certificate-files.ts';
import type { IdentityModes } from './destination-identity-flags.ts';

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
    report.fault(
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
  return report.fault('local-server', `--local-server "${text}" ${parsed.message}`);
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
  const authenticates =
    values.isGiven('client-ca-file') ||
    values.isGiven('requestheader-client-ca-file') ||
    values.isGiven('assertion-keys');
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
      report.fault(flag, `--${flag} is required: error building peer proxy handler, ${name} not specified`);
    }
  }
  if (certificate === undefined || key === undefined) return undefined;
  return files.pair('proxy-client-cert-file', certificate, 'proxy-client-key-file', key);
}

/** Whoever forgot the pair has to read it at the start, not in the 401s of callers. */
function warnOfTokensOnly(values: FlagValues, report: FlagReport): void {
  report.warn(
    'proxy-client-cert-file',
    '--proxy-client-cert-file and --proxy-client-key-file are not set: callers reach API servers by their bearer tokens only, and a caller with a client certificate gets 401',
  );
  for (const flag of ['requestheader-client-ca-file', 'authentication-config'] as const) {
    if (!values.isGiven(flag)) continue;
    report.warn(
      flag,
      `--${flag} authenticates no caller at a gateway without --proxy-client-cert-file: API servers verify tokens themselves, and what a front proxy says cannot be passed on`,
    );
  }
}
