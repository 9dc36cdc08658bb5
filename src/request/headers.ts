import { allHeaders, firstHeader, type RawHeaders } from '../apimachinery/raw-headers.ts';
import { rememberingNames } from '../apimachinery/remembered-by-name.ts';
import type { InboundRequest } from './inbound.ts';
import type { Caller } from './user-info.ts';
import { websocketProtocolHeader, withoutWebsocketBearer } from './websocket-bearer.ts';

/** Kubernetes' own mark on a request that a peer has rerouted already (KEP-4020). Its value is `true`. */
export const rerouteMarkHeader = 'x-kubernetes-peer-proxied';

/**
 * Meant for one connection only (RFC 9110 section 7.6.1; HTTP2-Settings: RFC 7540 section 3.2.1; Expect: the server in front
 * has responded to it). Most of them end an HTTP/2 connection (RFC 9113 section 8.2.2).
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
 * End-to-end fields that a `Connection` option does not remove (RFC 9110 section 7.6.1): else a client could, through a proxy
 * that passes `Connection` on, strip what that proxy added: its credentials, the impersonated user (GHSA-pvxj-25m6-7vqr), the
 * recorded client address, or the framing and coding of the body.
 */
const notNominable =
  /^(?:authorization|cookie|forwarded|host|via)$|^(?:content|impersonate|sec-websocket|x-forwarded)-/;

export interface Rewriting {
  /** The router names the caller: the caller's own credentials stay behind. */
  readonly isCallerNamed?: boolean | undefined;
  /** The request's audit ID, in place of any other. `undefined`: it has none yet, and the line travels as it came. */
  readonly auditId?: string | undefined;
  /** The client's address, for X-Forwarded-For: behind those that are there, as Go's ReverseProxy has it. */
  readonly remoteAddress?: string | undefined;
}

/** The fate of a line by its name. `connection` and `transfer-encoding` stay, too, and bear on other lines. */
type LineFate =
  | 'travels'
  | 'stays'
  | 'connection'
  | 'transfer-encoding'
  /** Stays where the caller is named; so do the tokens among the subprotocols of a WebSocket. */
  | 'credentials'
  | 'websocket-protocol'
  | 'audit-id'
  | 'forwarded-for';
type FateOfName = (name: string) => LineFate;

const rewritten: ReadonlyMap<string, LineFate> = new Map([
  ['authorization', 'credentials'],
  [websocketProtocolHeader, 'websocket-protocol'],
  ['audit-id', 'audit-id'],
  ['x-forwarded-for', 'forwarded-for'],
]);

const requestFates = new WeakMap<IdentityHeaderNames, FateOfName>();

function requestFatesFor(names: IdentityHeaderNames): FateOfName {
  const isIdentityHeader = identityHeaderMatcher(names);
  const fateOf = rememberingNames((name) => {
    const lowerCaseName = name.toLowerCase();
    const fate = fateOnConnection(lowerCaseName);
    if (fate !== 'travels') return fate;
    const isOurs =
      lowerCaseName === 'host' ||
      isIdentityHeader(lowerCaseName) ||
      hyphenated(lowerCaseName) === rerouteMarkHeader;
    return isOurs ? 'stays' : (rewritten.get(lowerCaseName) ?? 'travels');
  });
  requestFates.set(names, fateOf);
  return fateOf;
}

/**
 * Header lines of a request that may travel on, as a fresh list, in order, each as it came, but for what `rewriting` says.
 *
 * Gone are: what was meant for this connection only, what its `Connection` lines nominate, Host and HTTP/2 pseudo headers,
 * every identity header in any spelling, and the reroute mark. What the router adds comes afterwards, so no client can
 * nominate it away.
 * @param names the configured identity headers, removed besides Kubernetes' own.
 */
export function cleanRequestHeaders(
  headers: RawHeaders,
  names: IdentityHeaderNames = defaultIdentityHeaderNames,
  rewriting: Rewriting = {},
): string[] {
  return cleanLines(headers, requestFates.get(names) ?? requestFatesFor(names), rewriting);
}

const fateOfResponse = rememberingNames((name) => fateOnConnection(name.toLowerCase()));

function fateOnConnection(lowerCaseName: string): LineFate {
  if (lowerCaseName === 'connection' || lowerCaseName === 'transfer-encoding') return lowerCaseName;
  // Pseudo-header fields are the framing's own (RFC 9113 section 8.3).
  return hopByHop.has(lowerCaseName) || lowerCaseName.startsWith(':') ? 'stays' : 'travels';
}

/** All but those meant for the connection to the destination (RFC 9113 section 8.2.2). */
export function cleanResponseHeaders(headers: RawHeaders): string[] {
  return cleanLines(headers, fateOfResponse);
}

function cleanLines(
  headers: RawHeaders,
  fateOf: FateOfName,
  { isCallerNamed = false, auditId, remoteAddress }: Rewriting = {},
): string[] {
  const kept: string[] = [];
  let earlierAddresses = '';
  let hasConnection = false;
  let hasTransferEncoding = false;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    const value = headers[index + 1] as string;
    switch (fateOf(name)) {
      case 'travels':
        kept.push(name, value);
        break;
      case 'connection':
        hasConnection = true;
        break;
      case 'transfer-encoding':
        hasTransferEncoding = true;
        break;
      case 'credentials':
        if (!isCallerNamed) kept.push(name, value);
        break;
      case 'websocket-protocol': {
        const left = isCallerNamed ? withoutWebsocketBearer(value) : value;
        if (left !== undefined) kept.push(name, left);
        break;
      }
      case 'audit-id':
        if (auditId === undefined) kept.push(name, value);
        break;
      case 'forwarded-for':
        if (remoteAddress === undefined) kept.push(name, value);
        else earlierAddresses += `${value}, `;
        break;
      case 'stays':
        break;
    }
  }
  let lines = kept;
  // Most messages have neither.
  if (hasConnection || hasTransferEncoding) {
    const unwanted = connectionOptions(headers);
    // RFC 9112 section 6.1: Transfer-Encoding overrides Content-Length, which an intermediary must not forward
    // then; two parsers in a row could otherwise find two ends of one body.
    if (hasTransferEncoding) unwanted.add('content-length');
    lines = kept.filter((_, index) => !unwanted.has((kept[index - (index % 2)] as string).toLowerCase()));
  }
  if (auditId !== undefined) lines.push(auditIdHeader, auditId);
  if (remoteAddress !== undefined) lines.push('X-Forwarded-For', earlierAddresses + remoteAddress);
  return lines;
}

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
 * True if the reroute mark is there, which proves nothing. The first value is exactly `true`, as upstream compares it
 * (pkg/util/peerproxy/peerproxy_handler.go).
 */
export function carriesRerouteMark(headers: RawHeaders): boolean {
  return firstHeader(headers, rerouteMarkHeader) === 'true';
}

/**
 * True if a peer has rerouted this request already, so that it must not travel on. The mark counts from verified peers
 * alone: anyone else could force local handling with it.
 * @param senderIsVerifiedPeer for a caller that passes through: upstream's peers send upgrades without a user.
 */
export function hasVerifiedRerouteMark(
  headers: RawHeaders,
  caller: Caller,
  senderIsVerifiedPeer = false,
): boolean {
  const trusted = senderIsVerifiedPeer || (caller.kind === 'authenticated' && caller.viaVerifiedPeer);
  return trusted && carriesRerouteMark(headers);
}

/** In order of preference, matched in any case: kube-apiserver's `--requestheader-*` flags. */
export interface IdentityHeaderNames {
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
}

/** The names Kubernetes writes (client-go transport/round_trippers.go). */
export const defaultIdentityHeaderNames: IdentityHeaderNames = Object.freeze({
  username: ['X-Remote-User'],
  uid: ['X-Remote-Uid'],
  group: ['X-Remote-Group'],
  extraPrefix: ['X-Remote-Extra-'],
});

/** Carries the signed peer assertion where there is no client certificate to vouch for X-Remote headers. */
export const peerAssertionHeader = 'mixed-version-proxy-identity';

/** RFC 9110 section 5.6.2: a header name or a method. */
export const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** @throws {TypeError} when a name is blank, since a blank prefix would make every header an identity header, or no token. */
export function checkIdentityHeaderNames(names: IdentityHeaderNames): void {
  for (const name of [...names.username, ...names.uid, ...names.group, ...names.extraPrefix]) {
    if (!token.test(name)) {
      throw new TypeError(`${JSON.stringify(name)} is no header name: use letters, digits and hyphens`);
    }
  }
}

/**
 * The matcher of headers, named in lower case, that any server upstream could read as an identity: by Kubernetes'
 * names, which the destination may read whatever is configured, the configured ones and that of the peer assertion.
 *
 * Every character that is neither letter nor digit counts as a hyphen, since servers that map header names to variables read
 * `X_Remote_User` and `X-Remote-User` as one (CVE-2025-64484).
 */
export function identityHeaderMatcher(names: IdentityHeaderNames): (lowerCaseName: string) => boolean {
  const exact = new Set<string>([peerAssertionHeader]);
  const prefixes = new Set<string>();
  for (const source of [defaultIdentityHeaderNames, names]) {
    for (const name of [...source.username, ...source.uid, ...source.group]) exact.add(hyphenated(name));
    for (const prefix of source.extraPrefix) prefixes.add(hyphenated(prefix));
  }
  const prefixList = [...prefixes];
  return (lowerCaseName) => {
    const name = hyphenated(lowerCaseName);
    return exact.has(name) || prefixList.some((prefix) => name.startsWith(prefix));
  };
}

const alreadyHyphenated = /^[a-z0-9-]*$/;

function hyphenated(name: string): string {
  return alreadyHyphenated.test(name) ? name : name.toLowerCase().replace(/[^a-z0-9]/g, '-');
}

/** The key that the rest of an extra header's name stands for. Upstream keeps one as it stands that cannot be decoded. */
export function unescapeExtraKey(escaped: string): string {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return escaped;
  }
}

/** RFC 9110 section 7.6.3. It also ends loops: the reroute mark counts from verified peers only. */
export const viaHeader = 'Via';

/** A name for one router instance that no other has and that tells nothing about it (section 7.6.3). */
export function newPseudonym(): string {
  return `mixed-version-proxy-${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
}

/** A client that forges the name is only refused: routing never depends on it. */
export function hasPassedThrough(headers: RawHeaders, pseudonym: string): boolean {
  // Searched first: a long line of others costs nothing then.
  return allHeaders(headers, viaHeader).some(
    (value) => value.includes(pseudonym) && value.split(/[\s,]+/).includes(pseudonym),
  );
}

/** Kubernetes' own header, in requests and in responses (k8s.io/apiserver pkg/apis/audit, HeaderAuditID). */
export const auditIdHeader = 'Audit-ID';

/** Where upstream cuts an ID in its logs (k8s.io/apiserver pkg/audit/context.go, GetAuditIDTruncated). */
const acceptableId = /^[\w.:-]{1,64}$/;

/**
 * The ID of this request in log lines, and on upstream servers. Created on first use, so that a request that is not logged
 * costs nothing.
 *
 * As in kube-apiserver an ID counts from anyone (pkg/endpoints/filters/audit_init.go). It proves nothing. One that is long, or
 * could look like something else in a log, is replaced.
 */
export function auditIdOf(inbound: Pick<InboundRequest, 'headers' | 'auditId'>): string {
  if (inbound.auditId === undefined) {
    const given = firstHeader(inbound.headers, auditIdHeader);
    inbound.auditId = given !== undefined && acceptableId.test(given) ? given : crypto.randomUUID();
  }
  return inbound.auditId;
}

export function withAuditIdForClient(headers: string[], { auditId }: InboundRequest): string[] {
  if (auditId === undefined || firstHeader(headers, auditIdHeader) !== undefined) return headers;
  headers.push(auditIdHeader, auditId);
  return headers;
}

/** As every response of kube-apiserver has one. Changes `response`. */
export function withAuditId(response: Response, inbound: InboundRequest): Response {
  const { headers } = response;
  if (headers.has(auditIdHeader)) return response;
  const auditId = auditIdOf(inbound);
  try {
    headers.set(auditIdHeader, auditId);
  } catch (error) {
    // The headers of what a library's own handler has fetched elsewhere cannot be changed (Fetch section 5.1, guard
    // "immutable").
    if (!(error instanceof TypeError)) throw error;
  }
  return response;
}
