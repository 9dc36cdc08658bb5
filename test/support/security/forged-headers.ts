import assert from 'node:assert/strict';
import { allHeaders, headerLines, type RawHeaders } from '../../../src/apimachinery/raw-headers.ts';
import type { ReceivedRequest } from '../api-servers/api-server-double.ts';
import type { Client } from './certificates.ts';

/** Everything by which a client could claim to be someone, or to have been rerouted, in every spelling. */
export const forgedHeaders: RawHeaders = [
  ...['X-Remote-User', 'root', 'x-remote-user', 'root2', 'X-REMOTE-USER', 'root3', 'X_Remote_User', 'root'],
  ...['x-remote_user', 'root', 'X.Remote.User', 'root'],
  ...['X-Remote-Group', 'system:masters', 'X-Remote-Group', 'root-group', 'x_remote_group', 'system:masters'],
  ...['X-Remote-Uid', 'root-uid', 'x-remote-UID', 'root-uid', 'X_Remote_Uid', 'root-uid'],
  ...['X-Remote-Extra-Scopes', 'root-scope', 'x_remote_extra_scopes', 'root-scope'],
  ...['X-Remote-Extra-', 'root-empty', 'X-Remote-Extra-%00', 'root-nul'],
  // Configured beside Kubernetes' own (see `configuredNames`).
  ...['X-Custom-User', 'root', 'x_custom_user', 'root', 'X-Custom-Uid', 'root-uid'],
  ...['X-Custom-Group', 'root-group', 'X-Custom-Extra-a', 'root-extra'],
  ...['mixed-version-proxy-identity', 'root-assertion', 'Mixed_Version_Proxy_Identity', 'root-assertion'],
  ...['x-kubernetes-peer-proxied', 'true', 'X_Kubernetes_Peer_Proxied', 'true'],
];

/** The same as HTTP/2 carries it: names in lower case. */
export const forgedHttp2Headers: RawHeaders = forgedHeaders.map((line, index) =>
  index % 2 === 0 ? line.toLowerCase() : line,
);

/** Flags that make the custom names of `forgedHeaders` identity headers. */
export const configuredNames = {
  'requestheader-username-headers': ['X-Remote-User,X-Custom-User'],
  'requestheader-uid-headers': ['X-Remote-Uid,X-Custom-Uid'],
  'requestheader-group-headers': ['X-Remote-Group,X-Custom-Group'],
  'requestheader-extra-headers-prefix': ['X-Remote-Extra-,X-Custom-Extra-'],
} as const;

/** Nominates for removal what the router, or a proxy in front of it, adds. */
export const nominations =
  'X-Remote-User, X-Remote-Group, x-remote-uid, x-remote-extra-scopes, Authorization, Impersonate-User, X-Forwarded-For, Via, x-kubernetes-peer-proxied, Content-Length, Host';

/** Headers that `kubectl --as` sends, line by line as client-go does; the API server authorizes them. */
export const impersonation: RawHeaders = [
  ...['Impersonate-User', 'bob', 'Impersonate-Uid', 'bob-uid', 'Impersonate-Group', 'dev'],
  ...['Impersonate-Group', 'a, b', 'Impersonate-Group', 'dev', 'Impersonate-Extra-Scopes', 'view'],
  ...['Impersonate-Extra-Scopes', 'edit', 'Impersonate-Extra-Example.com%2fteam', 'x'],
];

/** A caller and what must arrive of him. */
export interface Identity {
  readonly client: Client;
  /** Sent along by the client: what a front proxy asserts, or credentials that only an API server can check. */
  readonly headers: RawHeaders;
  /** The identity lines that arrive, in order, names in lower case. */
  readonly arrives: RawHeaders;
  readonly presentsFrontProxyCertificate: boolean;
  /** Values that arrive as `Authorization`. */
  readonly authorization: readonly string[];
}

const looksLikeIdentity = /^(?:x[^a-z0-9](?:remote|custom)[^a-z0-9]|mixed.version.proxy)/i;

/** The destination got exactly the established identity, over the right kind of connection, and nothing forged. */
export function assertExactIdentity(
  { headers, clientCertificate }: ReceivedRequest,
  { arrives, presentsFrontProxyCertificate, authorization }: Identity,
): void {
  const identity: string[] = [];
  for (const [name, value] of headerLines(headers)) {
    if (looksLikeIdentity.test(name)) identity.push(name.toLowerCase(), value);
  }
  assert.deepEqual(identity, arrives);
  assert.equal(clientCertificate, presentsFrontProxyCertificate ? 'front-proxy-client' : undefined);
  assert.deepEqual(allHeaders(headers, 'authorization'), authorization);
  assert.ok(!headers.some((line) => line.includes('root')), headers.join());
}

/** The mark of a rerouted request, as the destination got it. */
export function reroutedMarks({ headers }: ReceivedRequest): string[] {
  const marks: string[] = [];
  for (const [name, value] of headerLines(headers)) {
    if (/^x.kubernetes.peer.proxied$/i.test(name)) marks.push(value);
  }
  return marks;
}
