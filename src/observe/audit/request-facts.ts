import { allHeaders, firstHeader, headerLines, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../../apimachinery/request-info.ts';
import { unescapeExtraKey } from '../../request/identity-header-names.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { parseIPv4, parseIPv6 } from '../../snapshot/addresses/ip-address.ts';
import type { AuditObjectReference, AuditUser } from './audit-event.ts';

/** Longer ones are cut (k8s.io/apiserver pkg/audit/request.go). */
const longestUserAgent = 1024;
const cutMark = '...TRUNCATED';

/** The `User-Agent` as an audit event has it. Pure. */
export function auditedUserAgent(headers: RawHeaders): string | undefined {
  const userAgent = firstHeader(headers, 'user-agent');
  if (userAgent === undefined || userAgent === '') return undefined;
  const text = fromByteString(userAgent);
  return text.length > longestUserAgent ? text.slice(0, longestUserAgent) + cutMark : text;
}

/**
 * Where a request comes from: the addresses of X-Forwarded-For, X-Real-Ip, then that of the connection, which alone
 * cannot be made up (k8s.io/apimachinery pkg/util/net/http.go, SourceIPs). Pure.
 */
export function sourceAddresses({ headers, connection }: InboundRequest): readonly string[] {
  const addresses: string[] = [];
  for (const entry of (firstHeader(headers, 'x-forwarded-for') ?? '').split(',')) {
    const address = entry.trim();
    if (isAddress(address)) addresses.push(address);
  }
  const realIp = firstHeader(headers, 'x-real-ip') ?? '';
  if (isAddress(realIp) && !addresses.includes(realIp)) addresses.push(realIp);
  // Of a socket that takes both families.
  const remote = connection.remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, '');
  if (remote !== undefined && remote !== addresses.at(-1)) addresses.push(remote);
  return addresses;
}

function isAddress(text: string): boolean {
  return parseIPv4(text) !== undefined || parseIPv6(text) !== undefined;
}

export function auditedUser(user: UserInfo | undefined): AuditUser {
  if (user === undefined) return {};
  return {
    username: user.name,
    ...(user.uid === '' ? {} : { uid: user.uid }),
    ...(user.groups.length === 0 ? {} : { groups: user.groups }),
    ...(user.extra.size === 0 ? {} : { extra: Object.fromEntries(user.extra) }),
  };
}

/** Whom the `Impersonate-` headers name (k8s.io/apiserver pkg/endpoints/filters/impersonation); not judged here. Pure. */
export function impersonatedUser(headers: RawHeaders): AuditUser | undefined {
  // Hardly any request has one.
  if (!headers.some((text) => /^impersonate-/i.test(text))) return undefined;
  const username = firstHeader(headers, 'impersonate-user') ?? '';
  const uid = firstHeader(headers, 'impersonate-uid') ?? '';
  const groups = allHeaders(headers, 'impersonate-group').map(fromByteString);
  const extra = new Map<string, string[]>();
  for (const [header, value] of headerLines(headers)) {
    const key = /^impersonate-extra-(.+)$/.exec(header.toLowerCase())?.[1];
    if (key === undefined) continue;
    const name = unescapeExtraKey(key);
    extra.set(name, [...(extra.get(name) ?? []), fromByteString(value)]);
  }
  if (username === '' && uid === '' && groups.length === 0 && extra.size === 0) return undefined;
  return {
    ...(username === '' ? {} : { username: fromByteString(username) }),
    ...(uid === '' ? {} : { uid: fromByteString(uid) }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

/** `undefined` for a request that names no resource. Pure. */
export function objectReference(requestInfo: RequestInfo): AuditObjectReference | undefined {
  if (!requestInfo.isResourceRequest) return undefined;
  const { resource, namespace, name, apiGroup, apiVersion, subresource } = requestInfo;
  const fields = { resource, namespace, name, apiGroup, apiVersion, subresource };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

/** metav1.MicroTime. @param milliseconds since the epoch, with fractions. Pure. */
export function microTime(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  const microseconds = Math.floor((milliseconds - whole) * 1000);
  return `${new Date(whole).toISOString().slice(0, -1)}${String(microseconds).padStart(3, '0')}Z`;
}

// Not `fatal`: an audit log records invalid bytes with replacement characters, and refuses nothing.
const utf8 = new TextDecoder('utf-8');

function fromByteString(value: string): string {
  if (/^[\x20-\x7e]*$/.test(value)) return value;
  return utf8.decode(Uint8Array.from(value, (character) => character.charCodeAt(0)));
}
