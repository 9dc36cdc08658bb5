import type { RawHeaders } from '../../../src/apimachinery/raw-headers.ts';
import { credentialIdOf } from './certificates.ts';
import { forgedHeaders, forgedHttp2Headers, type Identity } from './forged-headers.ts';
import { bearerToken } from './secrets.ts';

const alice = [
  'x-remote-user',
  'alice',
  'x-remote-group',
  'dev',
  'x-remote-group',
  'system:authenticated',
] as const;

/** Who may call, and what must arrive of him whatever he sends besides. */
export const identities: Readonly<Record<string, Identity>> = {
  'a user with a client certificate': {
    client: 'alice',
    headers: forgedHeaders,
    arrives: [...alice, ...credentialIdOf('alice')],
    presentsFrontProxyCertificate: true,
    authorization: [],
  },
  'a user with a client certificate and a token, which does not travel': {
    client: 'alice',
    headers: [...forgedHeaders, 'Authorization', `Bearer ${bearerToken}`],
    arrives: [...alice, ...credentialIdOf('alice')],
    presentsFrontProxyCertificate: true,
    authorization: [],
  },
  'a caller whose token only an API server can check': {
    client: 'nobody',
    headers: [...forgedHeaders, 'Authorization', `Bearer ${bearerToken}`],
    arrives: [],
    presentsFrontProxyCertificate: false,
    authorization: [`Bearer ${bearerToken}`],
  },
  'an anonymous caller': {
    client: 'nobody',
    headers: forgedHeaders,
    arrives: [],
    presentsFrontProxyCertificate: false,
    authorization: [],
  },
  'a front proxy that speaks for a user': {
    client: 'frontProxy',
    headers: [
      ...[
        'X-Remote-User',
        'carol',
        'X-Remote-Uid',
        'carol-uid',
        'X-Remote-Group',
        'a, b',
        'X-Remote-Group',
        'c',
      ],
      ...[
        'X-Remote-Extra-Scopes',
        'view',
        'x_remote_user',
        'root',
        'X_Remote_Group',
        'root',
        'x_custom_uid',
        'root',
      ],
    ],
    arrives: [
      ...[
        'x-remote-user',
        'carol',
        'x-remote-uid',
        'carol-uid',
        'x-remote-group',
        'a, b',
        'x-remote-group',
        'c',
      ],
      ...['x-remote-group', 'system:authenticated', 'x-remote-extra-scopes', 'view'],
    ],
    presentsFrontProxyCertificate: true,
    authorization: [],
  },
};

/** Header lines as a client sends them over this protocol. */
export function asCarried(protocol: string, headers: RawHeaders): RawHeaders {
  if (protocol === 'http/1.1') return headers;
  return headers === forgedHeaders
    ? forgedHttp2Headers
    : headers.map((line, index) => (index % 2 === 0 ? line.toLowerCase() : line));
}
