import { allHeaders, firstHeader, headerLines, type RawHeaders } from '../apimachinery/raw-headers.ts';
import {
  checkIdentityHeaderNames,
  defaultIdentityHeaderNames,
  type IdentityHeaderNames,
  unescapeExtraKey,
} from '../request/headers.ts';
import type { InboundRequest } from '../request/inbound.ts';
import type { Caller, UserInfo } from '../request/user-info.ts';
import { AuthenticationError, type Authenticator, ClientCertificateError } from './authenticator.ts';

export interface RequestHeaderOptions {
  /**
   * Common names of the front proxies whose word counts, compared exactly. Empty: any certificate of the
   * request-header authority, as `--requestheader-allowed-names` has it.
   */
  readonly allowedNames: readonly string[];
  /** Default: the names Kubernetes uses. */
  readonly headerNames?: IdentityHeaderNames;
}

/**
 * k8s.io/apiserver pkg/authentication/request/headerrequest: a front proxy, known by a client certificate of an authority of
 * its own, says in headers who the caller is. They are read only once certificate and common name have been accepted.
 */
export class RequestHeaderAuthenticator implements Authenticator {
  readonly name = 'request-header';
  readonly #allowedNames: ReadonlySet<string>;
  readonly #headerNames: IdentityHeaderNames;

  /** @throws {TypeError} when a header name is blank or no token. */
  constructor({ allowedNames, headerNames = defaultIdentityHeaderNames }: RequestHeaderOptions) {
    checkIdentityHeaderNames(headerNames);
    this.#allowedNames = new Set(allowedNames);
    this.#headerNames = headerNames;
  }

  /**
   * True if the connection belongs to a front proxy whose word counts, also where the proxy names no user: the worth of
   * the reroute mark depends on it (`hasVerifiedRerouteMark`).
   */
  isVerifiedPeer(inbound: InboundRequest): boolean {
    const certificate = inbound.connection.clientCertificate;
    return certificate?.authority === 'requestheader-client-ca' && this.#isAllowed(certificate.commonName);
  }

  /** @throws {AuthenticationError} for a common name that is not allowed, or an assertion that is not UTF-8. */
  authenticate(inbound: InboundRequest): Caller | undefined {
    const certificate = inbound.connection.clientCertificate;
    if (certificate?.authority !== 'requestheader-client-ca') return undefined;
    if (!this.#isAllowed(certificate.commonName)) {
      // Upstream's wording, which operators search for.
      throw new ClientCertificateError(
        `x509: subject with cn=${certificate.commonName} is not in the allowed list`,
      );
    }
    const user = readIdentityHeaders(inbound.headers, this.#headerNames);
    if (user === undefined) return undefined;
    return { kind: 'authenticated', user, authenticator: this.name, viaVerifiedPeer: true };
  }

  #isAllowed(commonName: string): boolean {
    return this.#allowedNames.size === 0 || this.#allowedNames.has(commonName);
  }
}

function readIdentityHeaders(headers: RawHeaders, names: IdentityHeaderNames): UserInfo | undefined {
  const name = firstNonEmpty(headers, names.username);
  if (name === '') return undefined;
  const groups: string[] = [];
  for (const header of names.group) {
    for (const value of allHeaders(headers, header)) {
      // Never split at commas: a comma is part of the group's name.
      if (value !== '') groups.push(identityText('group', value));
    }
  }
  return {
    name: identityText('user name', name),
    uid: identityText('user uid', firstNonEmpty(headers, names.uid)),
    groups,
    extra: readExtra(headers, names.extraPrefix),
  };
}

/** The first value of the first header that has one. Only the first line of a header counts, as in Go's Header.Get. */
function firstNonEmpty(headers: RawHeaders, names: readonly string[]): string {
  for (const name of names) {
    const value = firstHeader(headers, name);
    if (value !== undefined && value !== '') return value;
  }
  return '';
}

function readExtra(headers: RawHeaders, prefixes: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const extra = new Map<string, string[]>();
  for (const prefix of prefixes) {
    const lowerCasePrefix = prefix.toLowerCase();
    for (const [name, value] of headerLines(headers)) {
      const lowerCaseName = name.toLowerCase();
      if (!lowerCaseName.startsWith(lowerCasePrefix)) continue;
      const key = unescapeExtraKey(lowerCaseName.slice(prefix.length));
      const text = identityText('extra value', value);
      const values = extra.get(key);
      if (values === undefined) extra.set(key, [text]);
      else values.push(text);
    }
  }
  return extra;
}

// `ignoreBOM` keeps a leading U+FEFF: dropping it would make two users out of one name. `fatal` for the same
// reason: every malformed name would become the same replacement characters.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @throws {AuthenticationError} when it is not UTF-8: it could not be forwarded as the name it is. */
function identityText(field: string, value: string): string {
  let plain = true;
  const bytes = new Uint8Array(value.length);
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code > 0xff) throw notUtf8(field);
    if (code > 0x7f) plain = false;
    bytes[index] = code;
  }
  if (plain) return value;
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw notUtf8(field, cause);
  }
}

function notUtf8(field: string, cause?: unknown): AuthenticationError {
  return new AuthenticationError(`the asserted ${field} is not UTF-8 text`, { cause });
}
