import { adminFlagGroup } from './admin-flag-group.ts';
import { deploymentFormFlagGroup } from './deployment-form-flag-group.ts';
import type { Deprecation } from './deprecated-flags.ts';
import { destinationIdentityFlagGroup } from './destination-identity-flag-group.ts';
import { healthFlagGroup } from './health-flag-group.ts';
import { logFlagGroup } from './log-flag-group.ts';
import { observabilityFlagGroup } from './observability-flag-group.ts';
import { requestRecordsFlagGroup } from './request-records-flag-group.ts';
import { servingFlagGroup } from './serving-flag-group.ts';
import { trafficFlagGroup } from './traffic-flag-group.ts';

/** How often a flag counts and what it holds. `list`: commas and repetition both add entries, as in Kubernetes. */
export type FlagKind = 'value' | 'list' | 'boolean';

export interface FlagDefinition<Name extends string = string> {
  readonly name: Name;
  readonly short?: string;
  readonly kind: FlagKind;
  /** Shown in the help in the place of the value. */
  readonly placeholder: string;
  readonly description: string;
  readonly default?: string;
  /** Whoever uses it is warned; help, reference pages and schema say so. */
  readonly deprecated?: Deprecation;
}

export interface FlagGroup<Name extends string = string> {
  readonly heading: string;
  readonly flags: readonly FlagDefinition<Name>[];
}

/**
 * The flags of `serve`, in the groups of its help. Names are kube-apiserver's wherever the meaning is the same
 * (k8s.io/apiserver pkg/server/options, pkg/controlplane/apiserver/options).
 */
export const serveFlagGroups = [
  {
    heading: 'Mixed version proxy flags:',
    flags: [
      {
        name: 'feature-gates',
        kind: 'list',
        placeholder: 'Gate=true|false',
        default: 'UnknownVersionInteroperabilityProxy=true',
        description: 'With the gate off, every request goes to the local API server.',
      },
      {
        name: 'server-id',
        kind: 'value',
        placeholder: 'ID',
        description:
          'ID of the local API server: the name of its identity Lease in kube-system, as the snapshot has it. Required, unless --gateway is set.',
      },
      {
        name: 'local-server',
        kind: 'value',
        placeholder: 'https://host:port',
        description: 'Where the local API server listens. Required, unless --gateway is set.',
      },
      {
        name: 'local-server-name',
        kind: 'value',
        placeholder: 'name',
        default: 'kubernetes.default.svc',
        description: "Name that the local API server's serving certificate must carry.",
      },
      {
        name: 'local-server-ca-file',
        kind: 'value',
        placeholder: 'file',
        description:
          "CA bundle for the local API server's serving certificate. Defaults to --peer-ca-file; required with the gate off.",
      },
      {
        name: 'peer-ca-file',
        kind: 'value',
        placeholder: 'file',
        description:
          "CA bundle that peers' serving certificates are checked against. Required with the gate on.",
      },
      {
        name: 'proxy-client-cert-file',
        kind: 'value',
        placeholder: 'file',
        description: 'Front-proxy client certificate, which proves this router to API servers and peers.',
      },
      {
        name: 'proxy-client-key-file',
        kind: 'value',
        placeholder: 'file',
        description: 'Private key for --proxy-client-cert-file.',
      },
      {
        name: 'extension-routing',
        kind: 'value',
        placeholder: 'local|extension',
        default: 'local',
        description:
          'Where requests for aggregated APIs go: through the local aggregator, or straight to the extension API server.',
      },
      {
        name: 'allowed-peer-cidrs',
        kind: 'list',
        placeholder: 'CIDR',
        description:
          'Accept peers only at addresses in these blocks. Default: any but loopback, link-local and metadata addresses.',
      },
      {
        name: 'allow-loopback-peers',
        kind: 'boolean',
        placeholder: 'true|false',
        default: 'false',
        description: 'Accept peers at loopback addresses. For demos and tests on one machine.',
      },
    ],
  },
  {
    heading: 'Snapshot flags:',
    flags: [
      {
        name: 'snapshot-file',
        kind: 'value',
        placeholder: 'file',
        description: 'Where the last good snapshot is kept across restarts, and read from at start.',
      },
      {
        name: 'snapshot-keys',
        kind: 'value',
        placeholder: 'file',
        description: 'Public keys (JWK Set) that snapshots must be signed with. Required with the gate on.',
      },
      {
        name: 'snapshot-stale-policy',
        kind: 'value',
        placeholder: 'local|serve-stale|unavailable',
        default: 'serve-stale',
        description:
          'What to do with a snapshot past its lifetime: serve-stale goes on by it; local gives the local server all but what only peers served, which is 503; unavailable answers 503.',
      },
    ],
  },
  deploymentFormFlagGroup,
  healthFlagGroup,
  servingFlagGroup,
  adminFlagGroup,
  trafficFlagGroup,
  {
    heading: 'Authentication flags:',
    flags: [
      {
        name: 'client-ca-file',
        kind: 'value',
        placeholder: 'file',
        description:
          'Clients with a certificate of this CA bundle are known by its CN (user) and O (groups).',
      },
      {
        name: 'requestheader-client-ca-file',
        kind: 'value',
        placeholder: 'file',
        description: 'CA bundle of front proxies and peers, whose X-Remote headers are believed.',
      },
      {
        name: 'requestheader-allowed-names',
        kind: 'list',
        placeholder: 'CN',
        description:
          'Common names of front proxies. Blank allows any. Required with --requestheader-client-ca-file.',
      },
      {
        name: 'requestheader-username-headers',
        kind: 'list',
        placeholder: 'header',
        default: 'X-Remote-User',
        description: 'Headers to look for the user name in.',
      },
      {
        name: 'requestheader-uid-headers',
        kind: 'list',
        placeholder: 'header',
        default: 'X-Remote-Uid',
        description: 'Headers to look for the UID in.',
      },
      {
        name: 'requestheader-group-headers',
        kind: 'list',
        placeholder: 'header',
        default: 'X-Remote-Group',
        description: 'Headers to look for groups in.',
      },
      {
        name: 'requestheader-extra-headers-prefix',
        kind: 'list',
        placeholder: 'prefix',
        default: 'X-Remote-Extra-',
        description: 'Prefixes of headers with extra user information.',
      },
      {
        name: 'authentication-config',
        kind: 'value',
        placeholder: 'file',
        description:
          "Kubernetes' AuthenticationConfiguration (YAML or JSON): issuers whose JSON Web Tokens are verified here.",
      },
      {
        name: 'service-account-issuer',
        kind: 'list',
        placeholder: 'issuer',
        description:
          'Verify service account tokens of these issuers here. The router cannot see whether the service account, or the pod, node or Secret a token is bound to, was deleted: such a token counts here until it expires. Left out, the API servers verify them.',
      },
      {
        name: 'service-account-key-file',
        kind: 'list',
        placeholder: 'file',
        description:
          'Public keys of service account tokens: PEM, or a JWK Set. Required with --service-account-issuer.',
      },
      {
        name: 'api-audiences',
        kind: 'list',
        placeholder: 'audience',
        description:
          'Service account tokens must be for one of these audiences. Defaults to the values of --service-account-issuer.',
      },
      {
        name: 'allowed-groups',
        kind: 'list',
        placeholder: 'group',
        default: 'system:masters',
        description: "Groups that may use the router's own paths (/.mixed-version-proxy/).",
      },
      {
        name: 'allowed-users',
        kind: 'list',
        placeholder: 'user',
        description: "Users that may use the router's own paths, such as the sync job's.",
      },
    ],
  },
  destinationIdentityFlagGroup,
  observabilityFlagGroup,
  requestRecordsFlagGroup,
  logFlagGroup('decision'),
] as const satisfies readonly FlagGroup[];

export type ServeFlagName = (typeof serveFlagGroups)[number]['flags'][number]['name'];

/** What was given under each flag, as it was given, occurrence by occurrence. */
export type RawServeOptions = RawOptions<ServeFlagName>;

/** The same for a command with flags of these names. */
export type RawOptions<Name extends string> = Readonly<Partial<Record<Name, readonly string[]>>>;

const definitions = new Map<ServeFlagName, FlagDefinition<ServeFlagName>>(
  serveFlagGroups.flatMap((group) => group.flags.map((flag) => [flag.name, flag] as const)),
);

/** The value a flag has when it is not given. */
export function defaultOf(name: ServeFlagName): string | undefined {
  return definitions.get(name)?.default;
}
