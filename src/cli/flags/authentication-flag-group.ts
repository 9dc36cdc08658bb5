import type { FlagGroup } from './flag.ts';
import { file, files, list } from './flag-types.ts';

/** How callers are known. */
export const authenticationFlagGroup = {
  heading: 'Authentication flags:',
  flags: [
    {
      name: 'client-ca-file',
      key: 'authentication.clientCAFile',
      value: file,
      change: 'at-once-while-on',
      authenticates: true,
      description: 'Clients with a certificate of this CA bundle are known by its CN (user) and O (groups).',
    },
    {
      name: 'requestheader-client-ca-file',
      key: 'authentication.requestHeader.clientCAFile',
      value: file,
      change: 'at-once-while-on',
      authenticates: true,
      description: 'CA bundle of front proxies and peers, whose X-Remote headers are believed.',
    },
    {
      name: 'requestheader-allowed-names',
      key: 'authentication.requestHeader.allowedNames',
      value: list('CN'),
      change: 'at-once-while-on',
      needs: [{ oneOf: ['requestheader-client-ca-file'] }],
      description:
        'Common names of front proxies. Blank allows any. Required with --requestheader-client-ca-file.',
    },
    {
      name: 'requestheader-username-headers',
      key: 'authentication.requestHeader.usernameHeaders',
      value: list('header'),
      change: 'restart',
      default: 'X-Remote-User',
      description: 'Headers to look for the user name in.',
    },
    {
      name: 'requestheader-uid-headers',
      key: 'authentication.requestHeader.uidHeaders',
      value: list('header'),
      change: 'restart',
      default: 'X-Remote-Uid',
      description: 'Headers to look for the UID in.',
    },
    {
      name: 'requestheader-group-headers',
      key: 'authentication.requestHeader.groupHeaders',
      value: list('header'),
      change: 'restart',
      default: 'X-Remote-Group',
      description: 'Headers to look for groups in.',
    },
    {
      name: 'requestheader-extra-headers-prefix',
      key: 'authentication.requestHeader.extraHeaderPrefixes',
      value: list('prefix'),
      change: 'restart',
      default: 'X-Remote-Extra-',
      description: 'Prefixes of headers with extra user information.',
    },
    {
      name: 'authentication-config',
      key: 'authentication.configurationFile',
      value: file,
      change: 'at-once',
      authenticates: true,
      description:
        "Kubernetes' AuthenticationConfiguration (YAML or JSON): issuers whose JSON Web Tokens are verified here.",
    },
    {
      name: 'service-account-issuer',
      key: 'authentication.serviceAccounts.issuers',
      value: list('issuer'),
      change: 'at-once',
      authenticates: true,
      description:
        'Verify service account tokens of these issuers here. The router cannot see whether the service account, or the pod, node or Secret a token is bound to, was deleted: such a token counts here until it expires. Left out, the API servers verify them.',
    },
    {
      name: 'service-account-key-file',
      key: 'authentication.serviceAccounts.keyFiles',
      value: files,
      change: 'at-once',
      needs: [{ oneOf: ['service-account-issuer'] }],
      description:
        'Public keys of service account tokens: PEM, or a JWK Set. Required with --service-account-issuer.',
    },
    {
      name: 'api-audiences',
      key: 'authentication.serviceAccounts.audiences',
      value: list('audience'),
      change: 'at-once',
      needs: [{ oneOf: ['service-account-issuer'] }],
      description:
        'Service account tokens must be for one of these audiences. Defaults to the values of --service-account-issuer.',
    },
    {
      name: 'allowed-groups',
      key: 'ownPaths.allowedGroups',
      value: list('group'),
      change: 'at-once',
      default: 'system:masters',
      description: "Groups that may use the router's own paths (/.mixed-version-proxy/).",
    },
    {
      name: 'allowed-users',
      key: 'ownPaths.allowedUsers',
      value: list('user'),
      change: 'at-once',
      description: "Users that may use the router's own paths, such as the sync job's user.",
    },
  ],
} as const satisfies FlagGroup;
