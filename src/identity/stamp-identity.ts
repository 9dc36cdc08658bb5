import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import { rememberingNames } from '../apimachinery/remembered-by-name.ts';
import {
  defaultIdentityHeaderNames,
  type IdentityHeaderNames,
  identityHeaderMatcher,
  peerAssertionHeader,
} from '../request/headers.ts';
import type { Caller, UserInfo } from '../request/user-info.ts';
import { websocketProtocolHeader, withoutWebsocketBearer } from '../request/websocket-bearer.ts';
import { IdentityTextError, identityHeaderValue } from './identity-text.ts';

/**
 * The one place where an established identity is written onto a request, for every way out: local, peer,
 * extension, second try, upgrade. The lines are a fresh list. `headers` have been through `cleanRequestHeaders`.
 *
 * For an authenticated caller the result holds exactly the caller's X-Remote headers, as client-go writes them
 * (transport/round_trippers.go), or `assertion` in their place, and no credentials of the client any more: the
 * identity speaks for the caller now, and a destination must not be able to use a token elsewhere
 * (kubernetes/kubernetes#81146). For a caller that was not established here the credentials stay as they are,
 * and nothing is asserted.
 *
 * Either way no identity header that came with the request leaves with it, even if an earlier step failed: a missing
 * user is the very branch in which others forgot to clear them.
 * @param assertion signed for this caller, request and destination; default: X-Remote headers.
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
  assertion?: string,
): string[] {
  const kindOf = kindsFor(names);
  const authenticated = caller.kind === 'authenticated';
  const stamped: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    const value = headers[index + 1] as string;
    const kind = kindOf(name);
    if (kind === 'identity') continue;
    const kept = authenticated ? withoutCredentials(kind, value) : value;
    if (kept !== undefined) stamped.push(name, kept);
  }
  if (!authenticated) return stamped;
  if (assertion === undefined) for (const text of identityLines(caller.user)) stamped.push(text);
  else stamped.push(peerAssertionHeader, assertion);
  return stamped;
}

/** What a line is to the stamp. */
type LineKind = 'identity' | 'authorization' | 'websocket-protocol' | 'other';

const knownKinds = new WeakMap<IdentityHeaderNames, (name: string) => LineKind>();

function kindsFor(names: IdentityHeaderNames): (name: string) => LineKind {
  const known = knownKinds.get(names);
  if (known !== undefined) return known;
  const isIdentityHeader = identityHeaderMatcher(names);
  const kindOf = rememberingNames((name): LineKind => {
    const lowerCaseName = name.toLowerCase();
    if (isIdentityHeader(lowerCaseName)) return 'identity';
    if (lowerCaseName === 'authorization') return 'authorization';
    return lowerCaseName === websocketProtocolHeader ? 'websocket-protocol' : 'other';
  });
  knownKinds.set(names, kindOf);
  return kindOf;
}

function withoutCredentials(kind: LineKind, value: string): string | undefined {
  if (kind === 'authorization') return undefined;
  return kind === 'websocket-protocol' ? withoutWebsocketBearer(value) : value;
}

/** Of users who come again, with each request of their connection. */
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
  // What can still change may be somebody else when it comes again.
  if (Object.isFrozen(user)) knownLines.set(user, lines);
  return lines;
}

/** RFC 7230 section 3.2.6 `tchar`, without the `%` that marks an escape. */
const plainKeyByte = /[!#$&'*+\-.^_`|~0-9a-z]/;
const plainKey = /^[!#$&'*+\-.^_`|~0-9a-z]*$/;

/**
 * The part of an X-Remote-Extra header name that stands for `key`: every UTF-8 byte that is no token
 * character, and `%`, as `%XX`. ASCII letters go in lower case, as the receiver reads them; other scripts keep
 * their case, since their bytes are escaped.
 */
function escapeExtraKey(key: string): string {
  if (plainKey.test(key)) return key;
  if (!key.isWellFormed()) {
    throw new IdentityTextError('IllFormedText', 'an extra key is not well-formed Unicode text');
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
