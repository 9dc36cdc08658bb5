import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import * as v from 'valibot';
import type {
  AdvertisedAddress,
  CertificatePair,
  NamedCertificatePair,
  ServeConfig,
  TlsParameters,
} from '../../node/configuration/serve-config.ts';
import {
  type HostNetwork,
  isGlobalUnicast,
  isLoopback,
  resolveAdvertisedAddress,
} from '../../node/serving/default-interface.ts';
import type { AddressPolicyOptions } from '../../snapshot/addresses/address-policy.ts';
import { isGivenByOperator, parseCidr, parseHostPort } from '../../snapshot/addresses/addresses.ts';
import { namedCertificatePairs } from '../flags/flag-types.ts';
import type { ServeFlagValues } from '../flags/serve-flags.ts';
import type { CertificateFiles } from './certificate-files.ts';

interface AddressFlags {
  readonly bindAddress: string;
  readonly securePort: number;
  readonly disableHttp2Serving: boolean;
  readonly advertisedAddress: AdvertisedAddress | undefined;
}

/** Reads where the router listens and where peers should call it. `undefined` when a flag is invalid. */
export function readAddressFlags(flags: ServeFlagValues, network: HostNetwork): AddressFlags | undefined {
  const listening = flags.values({
    bindAddress: 'bind-address',
    securePort: 'secure-port',
    disableHttp2Serving: 'disable-http2-serving',
  });
  const advertiseAddress = flags.value('advertise-address');
  const peerAdvertiseIp = flags.value('peer-advertise-ip');
  const peerAdvertisePort = flags.value('peer-advertise-port');
  for (const name of ['peer-advertise-ip', 'advertise-address'] as const) {
    if (!flags.isGiven(name) || !flags.value('gateway') === true) continue;
    flags.warn(name, `--${name} has no use with --gateway: no peer calls a gateway in place of a server`);
  }
  if (peerAdvertiseIp !== undefined && !isGlobalUnicast(peerAdvertiseIp) && !isLoopback(peerAdvertiseIp)) {
    flags.issue(
      'peer-advertise-ip',
      `--peer-advertise-ip ${peerAdvertiseIp} is no address that a peer can call`,
    );
  }
  if (listening === undefined) return undefined;
  const advertisedAddress = resolveAdvertisedAddress(
    { peerAdvertiseIp, peerAdvertisePort, advertiseAddress, ...listening },
    network,
  );
  if (advertisedAddress === undefined) {
    flags.warn(
      'advertise-address',
      'no address to advertise to peers: the host has none that others could use; set --advertise-address',
    );
  }
  return { ...listening, advertisedAddress };
}

/**
 * Peers that call this router in place of its API server look for that one's name in the certificate; without it the
 * address would cut the server off.
 */
export function warnOfUnusableAddress(
  { advertisedAddress }: Pick<AddressFlags, 'advertisedAddress'>,
  { certificate }: CertificatePair,
  flags: ServeFlagValues,
): void {
  if (advertisedAddress === undefined || !isGivenByOperator({ by: advertisedAddress.source })) return;
  const leaf = new X509Certificate(certificate.pem);
  if (leaf.checkHost(apiServerName, { subject: 'never' }) !== undefined) return;
  flags.warn(
    'tls-cert-file',
    `--tls-cert-file does not name ${apiServerName}: peers call the router at --${advertisedAddress.source} and refuse that certificate`,
  );
}

/** By which peers know a kube-apiserver, whatever its address (KEP-4020). */
const apiServerName = 'kubernetes.default.svc';

/** Reads which addresses of a snapshot may be called. `undefined` when a flag is invalid. */
export function readPeerAddressPolicy(flags: ServeFlagValues): AddressPolicyOptions | undefined {
  const allowLoopbackPeers = flags.value('allow-loopback-peers');
  const cidrs = flags.list('allowed-peer-cidrs');
  for (const text of cidrs) {
    if (text.trim() === '' || parseCidr(text) !== undefined) continue;
    flags.issue('allowed-peer-cidrs', `--allowed-peer-cidrs: "${text}" is no CIDR block such as 10.0.0.0/8`);
  }
  return allowLoopbackPeers === undefined
    ? undefined
    : { allowLoopbackPeers, allowedCidrs: cidrs.length === 0 ? undefined : cidrs };
}

/** Reads the address of the router's own endpoints; `undefined` without one and after an error. */
export function readAdminFlags(flags: ServeFlagValues): ServeConfig['admin'] {
  const name = 'admin-bind-address';
  const text = flags.text(name);
  if (text === undefined) return undefined;
  // Port 0, any free one, is no address that could be dialled, and so none to the parser.
  const anyPort = /^(.+:)0$/.exec(text);
  const parsed = parseHostPort(anyPort === null ? text : `${anyPort[1]}1`);
  if (!parsed.ok || parsed.value.ip === undefined) {
    return flags.issue(
      name,
      `--${name} must be an IP address and a port, such as 127.0.0.1:9443 or [::1]:9443, not "${text}"`,
    );
  }
  const { host } = parsed.value;
  if (!isLoopback(host)) {
    flags.warn(
      name,
      `--${name}: ${host} is no loopback address: all who reach it read metrics and flags, so keep it behind a network policy`,
    );
  }
  return { host, port: anyPort === null ? parsed.value.port : 0 };
}

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

/** Whether HTTP/2 allows a cipher suite, by its name of Go or IANA. */
export function isAllowedSuite(name: string): boolean {
  return suites.has(name) || suitesOfTls13.includes(name);
}

/** Reads what clients have to offer; `undefined` after an error. */
export function readTlsFlags(flags: ServeFlagValues): TlsParameters | undefined {
  const version = flags.value('tls-min-version');
  const names = flags.list('tls-cipher-suites');
  const unknown = names.filter((name) => !isAllowedSuite(name));
  for (const name of unknown) {
    flags.issue(
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
  flags: ServeFlagValues,
  files: CertificateFiles,
): readonly NamedCertificatePair[] {
  const flag = 'tls-sni-cert-key';
  return flags.list(flag).flatMap((entry) => {
    const result = v.safeParse(namedCertificatePairs.given, entry);
    if (!result.success) {
      flags.issue(flag, `--${flag} ${result.issues[0].message}, not "${entry}"`);
      return [];
    }
    const { certFile, keyFile, names } = result.output;
    for (const address of names.filter((name) => isIP(name) !== 0)) {
      flags.warn(
        flag,
        `--${flag}: ${address} is never asked for, since clients send no address in TLS: clients that call an address get --tls-cert-file`,
      );
    }
    const pair = files.pair(flag, certFile, flag, keyFile);
    return pair === undefined ? [] : [{ ...pair, names }];
  });
}
