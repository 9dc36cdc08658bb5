import type { FlagGroup } from './flag.ts';
import {
  boolean,
  choice,
  file,
  ipAddress,
  list,
  namedCertificatePairs,
  text,
  wholeNumber,
} from './flag-types.ts';

/** Where the router listens, its certificates, and how changed files are noticed. */
export const servingFlagGroup = {
  heading: 'Serving flags:',
  flags: [
    {
      name: 'bind-address',
      key: 'serving.bindAddress',
      value: ipAddress('IP'),
      default: '0.0.0.0',
      description: 'Address to listen on. An unspecified address (0.0.0.0 or ::) is all interfaces.',
    },
    {
      name: 'secure-port',
      key: 'serving.port',
      value: wholeNumber(0, 65_535, 'port'),
      default: '6443',
      description: 'Port to serve HTTPS on. 0 takes any free port.',
    },
    {
      name: 'disable-http2-serving',
      key: 'serving.disableHttp2',
      value: boolean,
      default: 'false',
      description:
        "Offer clients HTTP/1.1 only, as the same flag of kube-apiserver does. Use it to rule out a bug in the router's HTTP/2.",
    },
    {
      name: 'tls-min-version',
      key: 'serving.tlsMinVersion',
      value: choice('VersionTLS12', 'VersionTLS13'),
      default: 'VersionTLS12',
      description: 'Lowest version of TLS that clients may use.',
    },
    {
      name: 'tls-cipher-suites',
      key: 'serving.tlsCipherSuites',
      value: list('suite'),
      description:
        "Cipher suites for TLS 1.2, by their names in kube-apiserver; only those that HTTP/2 allows. Those of TLS 1.3 are always offered. Default: OpenSSL's choice.",
    },
    {
      name: 'tls-cert-file',
      key: 'serving.certFile',
      value: file,
      description: 'Serving certificate, followed by its intermediates. Required.',
    },
    {
      name: 'tls-private-key-file',
      key: 'serving.keyFile',
      value: file,
      description: 'Private key for --tls-cert-file. Required.',
    },
    {
      name: 'tls-sni-cert-key',
      key: 'serving.sniCertKeys',
      value: namedCertificatePairs,
      description:
        'Another serving certificate and its key, for clients who ask for one of the names (SNI). Without names, those of the certificate. A name wins over a wildcard, a name given here over one of a certificate, the earlier pair over the later one; for all other names --tls-cert-file is used. May be given several times.',
    },
    {
      name: 'advertise-address',
      key: 'advertise.address',
      value: ipAddress('IP'),
      description:
        "Address at which others reach this router. When it is given, the snapshot carries it with --secure-port, and peers call the router there instead of its API server. Default: --bind-address, or the host's default interface if that is unspecified; peers use a default only for a server without an address in the cluster.",
    },
    {
      name: 'peer-advertise-ip',
      key: 'advertise.peerIP',
      value: ipAddress('IP'),
      needsFeatureGate: true,
      // kube-apiserver ignores one without the other without a word, and peers then call the wrong address.
      needs: [{ oneOf: ['peer-advertise-port'] }],
      description: 'Address that peers should call instead; goes with --peer-advertise-port.',
    },
    {
      name: 'peer-advertise-port',
      key: 'advertise.peerPort',
      value: wholeNumber(1, 65_535, 'port'),
      needsFeatureGate: true,
      needs: [{ oneOf: ['peer-advertise-ip'] }],
      description: 'Port that peers should call instead; goes with --peer-advertise-ip.',
    },
  ],
} as const satisfies FlagGroup;

/** The router's own endpoints at an address of their own. */
export const adminFlagGroup = {
  heading: 'Admin address flags:',
  flags: [
    {
      name: 'admin-bind-address',
      key: 'admin.bindAddress',
      value: text('IP:port'),
      description:
        'Also serve /livez, /readyz, /healthz and /metrics here, without authentication, and nothing else: plain HTTP on a loopback address, HTTPS with the serving certificate on any other. Default: not served.',
    },
  ],
} as const satisfies FlagGroup;
