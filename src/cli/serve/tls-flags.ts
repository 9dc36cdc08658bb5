import { isIP } from 'node:net';
import * as v from 'valibot';
import type { NamedCertificatePair, TlsParameters } from '../../node/configuration/serve-config.ts';
import { namedCertificatePairs } from '../flags/flag-types.ts';
import type { FlagReport, FlagValues } from '../flags/flag-values.ts';
import type { CertificateFiles } from './certificate-files.ts';

/** Names of Go and IANA to those of OpenSSL. HTTP/2 forbids all other suites of TLS 1.2 (RFC 9113 Appendix A). */
const suites: ReadonlyMap<string, string> = new Map(
  ['ECDSA', 'RSA'].flatMap((key): [string, string][] => [
    [`TLS_ECDHE_${key}_WITH_AES_128_GCM_SHA256`, `ECDHE-${key}-AES128-GCM-SHA256`],
    [`TLS_ECDHE_${key}_WITH_AES_256_GCM_SHA384`, `ECDHE-${key}-AES256-GCM-SHA384`],
    [`TLS_ECDHE_${key}_WITH_CHACHA20_POLY1305_SHA256`, `ECDHE-${key}-CHACHA20-POLY1305`],
    // Go's earlier name, which kube-apiserver takes, too.
    [`TLS_ECDHE_${key}_WITH_CHACHA20_POLY1305`, `ECDHE-${key}-CHACHA20-POLY1305`],
  ]),
);
/** Always offered, as by Go: they cannot be chosen. */
const suitesOfTls13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

const versions = { VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' } as const;

/** Reads what clients have to offer; `undefined` after a fault. */
export function readTlsFlags(values: FlagValues, report: FlagReport): TlsParameters | undefined {
  const version = values.value('tls-min-version');
  const names = values.list('tls-cipher-suites');
  const unknown = names.filter((name) => !suites.has(name) && !suitesOfTls13.includes(name));
  for (const name of unknown) {
    report.fault(
      'tls-cipher-suites',
      `--tls-cipher-suites: "${name}" is not among those that HTTP/2 allows: ${[...suites.keys(), ...suitesOfTls13].join(', ')}`,
    );
  }
  if (version === undefined || unknown.length > 0) return undefined;
  const chosen = names.flatMap((name) => suites.get(name) ?? []);
  return {
    minVersion: versions[version],
    ciphers: names.length === 0 ? undefined : [...suitesOfTls13, ...new Set(chosen)].join(':'),
  };
}

/** Reads the serving pairs that have names. */
export function readNamedServingPairs(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
): readonly NamedCertificatePair[] {
  const flag = 'tls-sni-cert-key';
  return values.list(flag).flatMap((entry) => {
    const result = v.safeParse(namedCertificatePairs.given, entry);
    if (!result.success) {
      report.fault(flag, `--${flag} ${result.issues[0].message}, not "${entry}"`);
      return [];
    }
    const { certFile, keyFile, names } = result.output;
    for (const address of names.filter((name) => isIP(name) !== 0)) {
      report.warn(
        flag,
        `--${flag}: ${address} is never asked for, since clients send no address in TLS: clients that call an address get --tls-cert-file`,
      );
    }
    const pair = files.pair(flag, certFile, flag, keyFile);
    return pair === undefined ? [] : [{ ...pair, names }];
  });
}
