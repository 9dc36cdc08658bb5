import { type IdentityMode, identityModes } from '../../identity/outgoing/identity-token.ts';
import type { FlagGroup, FlagNeed } from './flag.ts';
import { choice, file, list, text } from './flag-types.ts';

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
  ],
} as const satisfies FlagGroup;

function identityOf(...modes: readonly IdentityMode[]): FlagNeed {
  return { oneOf: ['peer-identity', 'local-identity'], toBe: modes };
}

/** How destinations are told who calls, and which other routers are believed about it. */
export const destinationIdentityFlagGroup = {
  heading: 'Peer identity flags:',
  flags: [
    {
      name: 'peer-identity',
      key: 'peers.identity',
      value: choice(...identityModes),
      default: 'front-proxy',
      needsFeatureGate: true,
      description:
        'How peers learn who calls: by X-Remote headers over mTLS, or by a signed assertion (peers that are routers).',
    },
    {
      name: 'local-identity',
      key: 'localServer.identity',
      value: choice(...identityModes),
      default: 'front-proxy',
      isOfLocalServer: true,
      description: 'The same for the local server.',
    },
    {
      name: 'assertion-signing-key',
      key: 'assertions.signingKeyFile',
      value: file,
      needs: [identityOf('assertion')],
      description: 'Private key (JWK, as keygen makes it) that assertions are signed with.',
    },
    {
      name: 'assertion-issuer',
      key: 'assertions.issuer',
      value: text('ID'),
      needs: [identityOf('assertion')],
      description:
        "Name under which this router's assertions are signed. Defaults to --server-id, or 'gateway' with --gateway.",
    },
    {
      name: 'assertion-keys',
      key: 'assertions.keysFile',
      value: file,
      authenticates: true,
      description:
        'Public keys (JWK Set) of other routers whose signed assertions are believed; each key names its router in "issuer". Default: no one\'s.',
    },
  ],
} as const satisfies FlagGroup;
