import { decodeJwt } from 'jose';
import { allHeaders, firstHeader, headerLines, type RawHeaders } from '../../src/apimachinery/raw-headers.ts';
import { PeerAssertionAuthenticator } from '../../src/identity/assertion/verify-assertion.ts';
import { peerAssertionHeader } from '../../src/request/headers.ts';
import { pinned } from '../support/assertions.ts';
import { frontProxyName, routerSpeaker } from './credentials.ts';
import type { Peer, PeerRequest } from './peers.ts';

/** Identity that a server was told of the caller, and would believe. */
export interface ToldIdentity {
  /** By what: X-Remote lines over a connection with the front-proxy certificate, or a signed assertion. */
  readonly by: 'front-proxy' | 'assertion';
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
  /** Keys as the server reads them: decoded, in lower case. */
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const routerKeys = await pinned(routerSpeaker);

/** The assertion of a request, where it carries exactly one. */
export function peerAssertionOf(headers: RawHeaders): string | undefined {
  const [assertion, ...others] = allHeaders(headers, peerAssertionHeader);
  return others.length === 0 ? assertion : undefined;
}

/** The user in an assertion that may be anybody's. */
export function assertedUser(
  assertion: string,
): { readonly name?: string; readonly groups?: readonly string[] } | undefined {
  try {
    return decodeJwt<{ user?: { name: string; groups: string[] } }>(assertion).user;
  } catch {
    return undefined;
  }
}

/** The groups that a request names, by whatever way. */
export function toldGroups(headers: RawHeaders): readonly string[] {
  const assertion = peerAssertionOf(headers);
  return assertion === undefined
    ? allHeaders(headers, 'x-remote-group')
    : (assertedUser(assertion)?.groups ?? []);
}

/**
 * The identity that the server `peer` would take for the caller of `request`: read as its front-proxy authentication
 * reads it, or verified as a router in front of it verifies it. `undefined` when it was told of nobody.
 * @throws when something was told that must not be believed.
 */
export async function toldIdentity(peer: Peer, request: PeerRequest): Promise<ToldIdentity | undefined> {
  const { headers, clientCertificate, method, target } = request;
  const lines = identityLines(headers);
  const assertion = peerAssertionOf(headers);
  if (assertion !== undefined) {
    if (lines.length > 0) throw new Error(`X-Remote lines beside an assertion: ${lines.join()}`);
    const verifier = new PeerAssertionAuthenticator({ keys: () => routerKeys, audience: peer.id });
    const rerouted = firstHeader(headers, 'x-kubernetes-peer-proxied') === 'true';
    const { user } = await verifier.verify(assertion, { method, target, rerouted });
    return {
      by: 'assertion',
      user: user.name,
      uid: user.uid,
      groups: user.groups,
      extra: Object.fromEntries(user.extra),
    };
  }
  if (lines.length === 0) {
    // Upstream believes whoever holds it: it must not be presented for callers whom the router did not establish.
    if (clientCertificate !== undefined) throw new Error('the front-proxy certificate vouches for nobody');
    return undefined;
  }
  if (clientCertificate !== frontProxyName) throw new Error(`nobody vouches for ${lines.join()}`);
  return fromLines(headers);
}

/** Everything that any server could take for an identity header, in any spelling. */
export function identityLines(headers: RawHeaders): string[] {
  const found: string[] = [];
  for (const [name, value] of headerLines(headers)) {
    if (/^x[^a-z0-9]remote[^a-z0-9]/i.test(name)) found.push(name, value);
  }
  return found;
}

function fromLines(headers: RawHeaders): ToldIdentity {
  const extra: Record<string, string[]> = {};
  for (const [name, value] of headerLines(headers)) {
    const key = /^x-remote-extra-(.*)$/i.exec(name)?.[1];
    if (key === undefined) continue;
    const decoded = decodeURIComponent(key.toLowerCase());
    extra[decoded] = [...(extra[decoded] ?? []), value];
  }
  return {
    by: 'front-proxy',
    user: allHeaders(headers, 'x-remote-user').join(' and '),
    uid: allHeaders(headers, 'x-remote-uid').join(' and '),
    groups: allHeaders(headers, 'x-remote-group'),
    extra,
  };
}
