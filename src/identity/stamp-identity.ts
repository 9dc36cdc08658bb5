import { type RawHeaders, toByteString } from '../apimachinery/raw-headers.ts';
import {
  cleanRequestHeaders,
  defaultIdentityHeaderNames,
  type IdentityHeaderNames,
  peerAssertionHeader,
  type Rewriting,
} from '../request/headers.ts';
import type { Caller, UserInfo } from '../request/user-info.ts';

export class IdentityTextError extends Error {
  override readonly name = 'IdentityTextError';
}

// RFC 9110 section 5.5: a field value holds no control character but the tab. Non-ASCII text goes as UTF-8 bytes.
const withoutControlCharacters = /^[\t\x20-\x7e\u0080-\uffff]*$/;
const surroundedByWhitespace = /^[\t ]|[\t ]$/;

/**
 * Refuses what would arrive as something else; cutting characters out instead could turn one user into another.
 * @throws {IdentityTextError}
 */
function identityHeaderValue(field: string, text: string): string {
  checkIdentityText(field, text);
  return toByteString(text);
}

export function checkIdentityIsExpressible(user: UserInfo): void {
  checkIdentityText('user name', user.name);
  checkIdentityText('user uid', user.uid);
  for (const group of user.groups) checkIdentityText('group', group);
  for (const [key, values] of user.extra) {
    // Control characters and spaces in a key are percent-coded; only text without any UTF-8 is lost.
    if (!key.isWellFormed()) throw illFormed('extra key');
    for (const value of values) checkIdentityText('extra value', value);
  }
}

function checkIdentityText(field: string, text: string): void {
  if (!withoutControlCharacters.test(text)) {
    throw new IdentityTextError(
      `the ${field} holds a control character, which no header line can carry: correct it at its source`,
    );
  }
  // RFC 9110 section 5.5: whitespace around a field value is no part of it.
  if (surroundedByWhitespace.test(text)) {
    throw new IdentityTextError(
      `the ${field} begins or ends with whitespace, which a header line does not keep: correct it at its source`,
    );
  }
  if (!text.isWellFormed()) throw illFormed(field);
}

function illFormed(field: string): IdentityTextError {
  return new IdentityTextError(`the ${field} is not well-formed Unicode text: correct it at its source`);
}

/**
 * The one place where a request's header lines are made for its way out: local, peer, second try, upgrade.
 *
 * For an authenticated caller the result holds exactly the caller's X-Remote headers, as client-go writes them
 * (transport/round_trippers.go), or `assertion` in their place, and no credentials of the client any more: a destination must
 * not be able to use a token elsewhere (kubernetes/kubernetes#81146). For a caller that was not established here the
 * credentials stay as they are, and nothing is asserted. Either way no identity header that came with the request leaves with
 * it: a missing user is the very branch in which others forgot to clear them.
 * @param headers as the client sent them
 * @throws {IdentityTextError} when a value cannot be carried by a header line unchanged.
 *
 * @example
 * ```ts
 * const jane = { name: 'jane', uid: '', groups: ['dev'], extra: new Map() };
 * const lines = stampIdentity(['X-Remote-User', 'root', 'Accept', 'application/json'], {
 *   kind: 'authenticated',
 *   user: jane,
 *   authenticator: 'x509',
 *   viaVerifiedPeer: false,
 * });
 * console.log(lines.includes('jane'), lines.includes('root')); // true false
 * ```
 */
export function stampIdentity(
  headers: RawHeaders,
  caller: Caller,
  names: IdentityHeaderNames = defaultIdentityHeaderNames,
  { assertion, auditId, remoteAddress }: Stamp = {},
): string[] {
  const isCallerNamed = caller.kind === 'authenticated';
  const stamped = cleanRequestHeaders(headers, names, { isCallerNamed, auditId, remoteAddress });
  if (!isCallerNamed) return stamped;
  if (assertion === undefined) for (const text of identityLines(caller.user)) stamped.push(text);
  else stamped.push(peerAssertionHeader, assertion);
  return stamped;
}

interface Stamp extends Omit<Rewriting, 'isCallerNamed'> {
  /** Signed for this caller, request and destination. Default: X-Remote headers. */
  readonly assertion?: string | undefined;
}

/** The lines of users who come again, with each request of their connection. */
const knownLines = new WeakMap<UserInfo, readonly string[]>();

function identityLines(user: UserInfo): readonly string[] {
  const known = knownLines.get(user);
  if (known !== undefined) return known;
  const lines = ['X-Remote-User', identityHeaderValue('user name', user.name)];
  if (user.uid !== '') lines.push('X-Remote-Uid', identityHeaderValue('user uid', user.uid));
  // One line each, duplicates and empty ones too: a group may hold commas, so lines are never joined.
  for (const group of user.groups) lines.push('X-Remote-Group', identityHeaderValue('group', group));
  for (const [key, values] of user.extra) {
    const name = `X-Remote-Extra-${escapeExtraKey(key)}`;
    for (const value of values) lines.push(name, identityHeaderValue('extra value', value));
  }
  // A user object that can still change may be somebody else when it comes again.
  if (Object.isFrozen(user)) knownLines.set(user, lines);
  return lines;
}

/** RFC 7230 section 3.2.6 `tchar`, without the `%` that marks an escape. */
const plainKeyByte = /[!#$&'*+\-.^_`|~0-9a-z]/;
const plainKey = /^[!#$&'*+\-.^_`|~0-9a-z]*$/;

/** All other bytes, and `%`, as `%XX`. ASCII letters go in lower case, as the receiver reads them. */
function escapeExtraKey(key: string): string {
  if (plainKey.test(key)) return key;
  if (!key.isWellFormed()) {
    throw new IdentityTextError('an extra key is not well-formed Unicode text');
  }
  let escaped = '';
  for (const byte of new TextEncoder().encode(key)) {
    const character = String.fromCharCode(byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);
    escaped += plainKeyByte.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return escaped;
}
