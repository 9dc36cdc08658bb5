import type { ServeFlagName } from '../serve-flags.ts';

/**
 * When a setting counts that is changed in the configuration file of a running router: at once; at once unless it is
 * turned on or off by the change; or with the next start.
 */
export type TakesEffect = 'at-once' | 'at-once-while-on' | 'restart';

/**
 * Exhaustive: a flag that does not say when it takes effect does not compile. What is here as `at-once` is taken into
 * use by node/reload/apply-configuration.ts; what the sockets, the way to the local server and the router's own name
 * are made of is not worth the danger.
 */
export const settingsTakeEffect = {
  'feature-gates': 'restart',
  gateway: 'restart',
  'server-id': 'restart',
  'local-server': 'restart',
  'local-server-name': 'restart',
  'local-server-ca-file': 'at-once',
  'local-identity': 'restart',
  'local-server-down-policy': 'at-once',
  'peer-ca-file': 'at-once-while-on',
  'peer-identity': 'restart',
  'allowed-peer-cidrs': 'at-once',
  'allow-loopback-peers': 'at-once',
  'proxy-client-cert-file': 'at-once-while-on',
  'proxy-client-key-file': 'at-once-while-on',
  'extension-routing': 'at-once',
  'snapshot-file': 'restart',
  'snapshot-keys': 'at-once-while-on',
  'snapshot-stale-policy': 'at-once',
  'health-check-interval': 'at-once-while-on',
  'health-check-timeout': 'at-once',
  'health-check-rise': 'at-once',
  'health-check-fall': 'at-once',
  'slow-start-duration': 'at-once',
  'bind-address': 'restart',
  'secure-port': 'restart',
  'reuse-port': 'restart',
  'disable-http2-serving': 'restart',
  'tls-cert-file': 'at-once',
  'tls-private-key-file': 'at-once',
  'file-check-interval': 'at-once',
  'admin-bind-address': 'restart',
  'advertise-address': 'restart',
  'peer-advertise-ip': 'restart',
  'peer-advertise-port': 'restart',
  'request-timeout': 'at-once',
  'dial-timeout': 'at-once',
  'tls-handshake-timeout': 'restart',
  'response-header-timeout': 'at-once',
  'max-requests-inflight': 'at-once',
  'max-mutating-requests-inflight': 'at-once',
  'max-long-running-requests': 'at-once',
  'max-connections': 'at-once',
  'http2-max-streams-per-connection': 'restart',
  'goaway-chance': 'at-once',
  'shutdown-delay-duration': 'at-once',
  'shutdown-send-retry-after': 'at-once',
  'shutdown-watch-termination-grace-period': 'at-once',
  // Whether client certificates are asked for is fixed when the server is made.
  'client-ca-file': 'at-once-while-on',
  'requestheader-client-ca-file': 'at-once-while-on',
  'requestheader-allowed-names': 'at-once-while-on',
  'requestheader-username-headers': 'restart',
  'requestheader-uid-headers': 'restart',
  'requestheader-group-headers': 'restart',
  'requestheader-extra-headers-prefix': 'restart',
  'authentication-config': 'at-once',
  'service-account-issuer': 'at-once',
  'service-account-key-file': 'at-once',
  'api-audiences': 'at-once',
  'allowed-groups': 'at-once',
  'allowed-users': 'at-once',
  'assertion-signing-key': 'restart',
  'assertion-issuer': 'restart',
  'assertion-keys': 'at-once',
  'oidc-issuer-url': 'restart',
  'oidc-audience': 'restart',
  'enable-metrics': 'restart',
  'tracing-config-file': 'restart',
  'audit-policy-file': 'at-once-while-on',
  'audit-log-path': 'restart',
  'audit-log-maxsize': 'restart',
  'audit-log-maxage': 'restart',
  'audit-log-maxbackup': 'restart',
  'audit-log-batch-buffer-size': 'restart',
  v: 'at-once',
  'logging-format': 'at-once',
} as const satisfies Readonly<Record<ServeFlagName, TakesEffect>>;

const words: Readonly<Record<TakesEffect, string>> = {
  'at-once': 'at once',
  'at-once-while-on': 'at once; turned on or off: restart',
  restart: 'restart',
};

/** For the reference page. */
export function describeTakesEffect(name: ServeFlagName): string {
  return words[settingsTakeEffect[name]];
}
