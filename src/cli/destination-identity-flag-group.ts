import type { FlagGroup } from './serve-flags.ts';

/** How destinations are told who calls, and which other routers are believed about it. */
export const destinationIdentityFlagGroup = {
  heading: 'Peer identity flags:',
  flags: [
    {
      name: 'peer-identity',
      kind: 'value',
      placeholder: 'front-proxy|assertion|oidc-token',
      default: 'front-proxy',
      description:
        'How peers are told who calls: by X-Remote headers over mTLS, by a signed assertion (peers that are routers), or by an OIDC bearer token (peers that are API servers).',
    },
    {
      name: 'local-identity',
      kind: 'value',
      placeholder: 'front-proxy|assertion|oidc-token',
      default: 'front-proxy',
      description: 'The same for the local server.',
    },
    {
      name: 'assertion-signing-key',
      kind: 'value',
      placeholder: 'file',
      description:
        'Private key (JWK, as keygen makes it) that assertions and OIDC tokens are signed with. OIDC tokens take an ES256 key.',
    },
    {
      name: 'assertion-issuer',
      kind: 'value',
      placeholder: 'ID',
      description:
        "Name under which this router's assertions are signed. Defaults to --server-id, or 'gateway' with --gateway.",
    },
    {
      name: 'oidc-issuer-url',
      kind: 'value',
      placeholder: 'https://host/path',
      description:
        'Issuer of the OIDC tokens that this router makes, as the API servers are configured with it. Discovery document and keys are served below it.',
    },
    {
      name: 'oidc-audience',
      kind: 'value',
      placeholder: 'audience',
      description: 'Audience of the OIDC tokens that this router makes.',
    },
    {
      name: 'assertion-keys',
      kind: 'value',
      placeholder: 'file',
      description:
        'Public keys (JWK Set) of other routers whose signed assertions are believed; each key names its router in "issuer". Default: nobody\'s are.',
    },
  ],
} as const satisfies FlagGroup;
