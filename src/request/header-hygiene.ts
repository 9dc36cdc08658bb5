import { allHeaders, firstHeader, type RawHeaders } from '../apimachinery/raw-headers.ts';
import { rememberingNames } from '../apimachinery/remembered-by-name.ts';
import {
  defaultIdentityHeaderNames,
  hyphenated,
  type IdentityHeaderNames,
  identityHeaderMatcher,
} from './identity-header-names.ts';
import type { Caller } from './user-info.ts';

/** Kubernetes' own mark on a request that a peer has rerouted already (KEP-4020). Its value is `true`. */
export const rerouteMarkHeader = 'x-kubernetes-peer-proxied';

/**
 * Meant for one connection only (RFC 9110 section 7.6.1; HTTP2-Settings: RFC 7540 section 3.2.1; Expect: the
 * server in front has responded to it, RFC 9110 section 10.1.1). Most of them end an HTTP/2 connection
 * (RFC 9113 section 8.2.2).
 */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * End-to-end fields that a `Connection` option does not remove. RFC 9110 section 7.6.1 forbids naming a field
 * there that is intended for every recipient; obeying it anyway would let a client, through a proxy that
 * passes `Connection` on, strip what that proxy added: its credentials (the request turns anonymous), the
 * impersonated user (the request runs as the proxy itself; GHSA-pvxj-25m6-7vqr), the recorded client address,
 * or the framing and coding of the body. The option is ignored and the field kept, so that a sloppy client
 * still works.
 */
const notNominable =
  /^(?:authorization|cookie|forwarded|host|via)$|^(?:content|impersonate|sec-websocket|x-forwarded)-/;

/**
 * Header lines of a request that may travel on, as a fresh list, in order, each as it came.
 *
 * Gone are: what was meant for this connection only, what its `Connection` lines nominate, Host and HTTP/2
 * pseudo headers (the transport writes its own), every identity header in any spelling, and the reroute mark.
 * All that the router itself adds is added afterwards, so no client can nominate it away.
 * @param names the configured identity headers, removed besides Kubernetes' own.
 */
export function cleanRequestHeaders(
  headers: RawHeaders,
  names: IdentityHeaderNames = defaultIdentityHeaderNames,
): string[] {
  return withoutConnectionHeaders(headers, requestHygieneFor(names));
}

/** What becomes of a line by its name: `connection` and `transfer-encoding` stay, too, and bear on other lines. */
type LineFate = 'travels' | 'stays' | 'connection' | 'transfer-encoding';
type NameHygiene = (name: string) => LineFate;

const hygienes = new WeakMap<IdentityHeaderNames, NameHygiene>();

function requestHygieneFor(names: IdentityHeaderNames): NameHygiene {
  const known = hygienes.get(names);
  if (known !== undefined) return known;
  const isIdentityHeader = identityHeaderMatcher(names);
  const hygiene = rememberingNames((name) => {
    const lowerCaseName = name.toLowerCase();
    const fate = fateOnConnection(lowerCaseName);
    if (fate !== 'travels') return fate;
    const isOurs =
      lowerCaseName === 'host' ||
      isIdentityHeader(lowerCaseName) ||
      hyphenated(lowerCaseName) === rerouteMarkHeader;
    return isOurs ? 'stays' : 'travels';
  });
  hygienes.set(names, hygiene);
  return hygiene;
}

const responseHygiene = rememberingNames((name) => fateOnConnection(name.toLowerCase()));

function fateOnConnection(lowerCaseName: string): LineFate {
  if (lowerCaseName === 'connection' || lowerCaseName === 'transfer-encoding') return lowerCaseName;
  // Pseudo-header fields are the framing's own (RFC 9113 section 8.3).
  return hopByHop.has(lowerCaseName) || lowerCaseName.startsWith(':') ? 'stays' : 'travels';
}

/**
 * Header lines of a response that may travel on: all but those meant for the connection to the destination.
 * Such a line in an HTTP/2 response would be an error of ours (RFC 9113 section 8.2.2).
 */
export function cleanResponseHeaders(headers: RawHeaders): string[] {
  return withoutConnectionHeaders(headers, responseHygiene);
}

function withoutConnectionHeaders(headers: RawHeaders, fateOf: NameHygiene): string[] {
  const kept: string[] = [];
  let hasConnection = false;
  let hasTransferEncoding = false;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    const fate = fateOf(name);
    if (fate === 'travels') kept.push(name, headers[index + 1] as string);
    else if (fate === 'connection') hasConnection = true;
    else if (fate === 'transfer-encoding') hasTransferEncoding = true;
  }
  // Most messages have neither. Either may remove lines before it, so the check comes after the last line.
  if (!hasConnection && !hasTransferEncoding) return kept;
  const unwanted = connectionOptions(headers);
  // RFC 9112 section 6.1: Transfer-Encoding overrides Content-Length, which an intermediary must not forward
  // then; two parsers in a row could otherwise find two ends of one body.
  if (hasTransferEncoding) unwanted.add('content-length');
  return kept.filter((_, index) => !unwanted.has((kept[index - (index % 2)] as string).toLowerCase()));
}

/** The fields that `Connection` lines nominate for removal, in lower case. */
function connectionOptions(headers: RawHeaders): Set<string> {
  const options = new Set<string>();
  for (const value of allHeaders(headers, 'connection')) {
    for (const entry of value.split(',')) {
      const option = entry.trim().toLowerCase();
      if (option !== '' && !notNominable.test(option)) options.add(option);
    }
  }
  return options;
}

/**
 * Whether a request claims to have been rerouted, which proves nothing: the first value is exactly `true`, as upstream
 * compares it (pkg/util/peerproxy/peerproxy_handler.go).
 */
export function carriesRerouteMark(headers: RawHeaders): boolean {
  return firstHeader(headers, rerouteMarkHeader) === 'true';
}

/**
 * Whether a peer has rerouted this request already, so that it must not travel on. The mark counts from
 * verified peers alone: anyone else could force local handling with it.
 * @param senderIsVerifiedPeer for a caller that passes through: whether the connection itself belongs to a
 *   verified peer (`RequestHeaderAuthenticator.isVerifiedPeer`). Upstream's peers send upgrades without a user.
 */
export function hasVerifiedRerouteMark(
  headers: RawHeaders,
  caller: Caller,
  senderIsVerifiedPeer = false,
): boolean {
  const trusted = senderIsVerifiedPeer || (caller.kind === 'authenticated' && caller.viaVerifiedPeer);
  return trusted && carriesRerouteMark(headers);
}
