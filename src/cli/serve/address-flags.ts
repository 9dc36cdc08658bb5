import { X509Certificate } from 'node:crypto';
import type { AdvertisedAddress, CertificatePair } from '../../node/configuration/serve-config.ts';
import {
  type HostNetwork,
  isGlobalUnicast,
  isLoopback,
  resolveAdvertisedAddress,
} from '../../node/serving/default-interface.ts';
import type { AddressPolicyOptions } from '../../snapshot/addresses/address-policy.ts';
import { isGivenByOperator } from '../../snapshot/addresses/advertised-address.ts';
import { parseCidr } from '../../snapshot/addresses/ip-address.ts';
import type { FlagReport, FlagValues } from '../flags/flag-values.ts';

export interface AddressFlags {
  readonly bindAddress: string;
  readonly securePort: number;
  readonly reusePort: boolean;
  readonly disableHttp2Serving: boolean;
  readonly proxyProtocolCidrs: readonly string[];
  readonly advertisedAddress: AdvertisedAddress | undefined;
}

/** Reads where the router listens and where peers should call it. `undefined` when a flag is at fault. */
export function readAddressFlags(
  values: FlagValues,
  report: FlagReport,
  network: HostNetwork,
): AddressFlags | undefined {
  const listening = values.values({
    bindAddress: 'bind-address',
    securePort: 'secure-port',
    reusePort: 'reuse-port',
    disableHttp2Serving: 'disable-http2-serving',
  });
  const advertiseAddress = values.value('advertise-address');
  const peerAdvertiseIp = values.value('peer-advertise-ip');
  const peerAdvertisePort = values.value('peer-advertise-port');
  rejectHalfSetAdvertiseFlags(values, report);
  for (const name of ['peer-advertise-ip', 'advertise-address'] as const) {
    if (!values.isGiven(name) || values.value('gateway') !== true) continue;
    report.warn(name, `--${name} has no use with --gateway: no peer calls a gateway in place of a server`);
  }
  if (peerAdvertiseIp !== undefined && !isGlobalUnicast(peerAdvertiseIp) && !isLoopback(peerAdvertiseIp)) {
    report.fault(
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
    report.warn(
      'advertise-address',
      'no address to advertise to peers: the host has none that others could use; set --advertise-address',
    );
  }
  return { ...listening, proxyProtocolCidrs: readProxyProtocolCidrs(values, report), advertisedAddress };
}

/** One without the other is ignored by kube-apiserver without a word, and peers then call the wrong address. */
function rejectHalfSetAdvertiseFlags(values: FlagValues, report: FlagReport): void {
  const ip = values.isGiven('peer-advertise-ip');
  const port = values.isGiven('peer-advertise-port');
  if (ip && !port) {
    report.fault('peer-advertise-ip', '--peer-advertise-ip needs --peer-advertise-port');
  } else if (port && !ip) {
    report.fault('peer-advertise-port', '--peer-advertise-port needs --peer-advertise-ip');
  }
}

/**
 * Peers that call this router in place of its API server look for that one's name in the certificate; without it the
 * address would cut the server off.
 */
export function warnOfUnusableAddress(
  { advertisedAddress }: Pick<AddressFlags, 'advertisedAddress'>,
  { certificate }: CertificatePair,
  report: FlagReport,
): void {
  if (advertisedAddress === undefined || !isGivenByOperator({ by: advertisedAddress.source })) return;
  const leaf = new X509Certificate(certificate.pem);
  if (leaf.checkHost(apiServerName, { subject: 'never' }) !== undefined) return;
  report.warn(
    'tls-cert-file',
    `--tls-cert-file does not name ${apiServerName}: peers call the router at --${advertisedAddress.source} and refuse that certificate`,
  );
}

/** Whoever is in one of these blocks says which address its clients have. */
function readProxyProtocolCidrs(values: FlagValues, report: FlagReport): readonly string[] {
  const name = 'proxy-protocol-cidrs';
  const cidrs = readCidrs(name, values, report);
  for (const text of cidrs.filter((each) => each.endsWith('/0'))) {
    report.warn(
      name,
      `--${name}: ${text} is everybody: any client then says itself which address it has; name the load balancers alone`,
    );
  }
  return cidrs;
}

function readCidrs(
  name: 'allowed-peer-cidrs' | 'proxy-protocol-cidrs',
  values: FlagValues,
  report: FlagReport,
): readonly string[] {
  const cidrs = values.list(name);
  for (const text of cidrs) {
    if (text.trim() === '' || parseCidr(text) !== undefined) continue;
    report.fault(name, `--${name}: "${text}" is no CIDR block such as 10.0.0.0/8`);
  }
  return cidrs;
}

/** By which peers know a kube-apiserver, whatever its address (KEP-4020). */
const apiServerName = 'kubernetes.default.svc';

/** Reads which addresses of a snapshot may be called. `undefined` when a flag is at fault. */
export function readPeerAddressPolicy(
  values: FlagValues,
  report: FlagReport,
): AddressPolicyOptions | undefined {
  const allowLoopbackPeers = values.value('allow-loopback-peers');
  const cidrs = readCidrs('allowed-peer-cidrs', values, report);
  return allowLoopbackPeers === undefined
    ? undefined
    : { allowLoopbackPeers, allowedCidrs: cidrs.length === 0 ? undefined : cidrs };
}
