import type { FlagGroup } from './flag.ts';
import { file, list } from './flag-types.ts';

/** How callers are known. */
export const authenticationFlagGroup = {
  heading: 'Authentication flags:',
  flags: [
    {
      name: 'client-ca-file',
      key: 'authentication.clientCAFile',
      value: file,
      authenticates: true,
      description: 'Clients with a certificate of this CA bundle are known by its CN (user) and O (groups).',
    },
    {
      name: 'requestheader-client-ca-file',
      key: 'authentication.requestHeader.clientCAFile',
      value: file,
      authenticates: true,
      description: 'CA bundle of front proxies and peers, whose X-Remote headers are believed.',
    },
    {
      name: 'requestheader-allowed-names',
      key: 'authentication.requestHeader.allowedNames',
      value: list('CN'),
      needs: [{ oneOf: ['requestheader-client-ca-file'] }],
      description:
        'Common names of front proxies. Blank allows any. Required with --requestheader-client-ca-file.',
    },
    {
      name: 'requestheader-username-headers',
      key: 'authentication.requestHeader.usernameHeaders',
      value: list('header'),
      default: 'X-Remote-User',
      description: 'Headers to look for the user name in.',
    },
    {
      name: 'requestheader-uid-headers',
      key: 'authentication.requestHeader.uidHeaders',
      value: list('header'),
      default: 'X-Remote-Uid',
      description: 'Headers to look for the UID in.',
    },
    {
      name: 'requestheader-group-headers',
      key: 'authentication.requestHeader.groupHeaders',
      value: list('header'),
      default: 'X-Remote-Group',
      description: 'Headers to look for groups in.',
    },
    {
      name: 'requestheader-extra-headers-prefix',
      key: 'authentication.requestHeader.extraHeaderPrefixes',
      value: list('prefix'),
      default: 'X-Remote-Extra-',
      description: 'Prefixes of headers with extra user information.',
    },
    {
      name: 'assertion-keys',
      key: 'authentication.assertionKeysFile',
      value: file,
      authenticates: true,
      description:
        'Public keys (JWK Set) of edge routers whose signed assertions are believed; each key names its router in "issuer". Default: no one\'s.',
    },
  ],
} as const satisfies FlagGroup;
