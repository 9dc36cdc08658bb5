import { CodedError } from '../runtime/coded-error.ts';

/**
 * The header names under which an identity is asserted, in order of preference. Matched in any case.
 * The fields are kube-apiserver's `--requestheader-*` flags.
 */
export interface IdentityHeaderNames {
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  /** What follows the prefix is the key. */
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

export type IdentityHeaderNamesErrorCode = 'EmptyHeaderName' | 'InvalidHeaderName';

/** Thrown for configured names that no header line can carry. */
class IdentityHeaderNamesError extends CodedError<IdentityHeaderNamesErrorCode> {
  override readonly name = 'IdentityHeaderNamesError';
}

/** RFC 9110 section 5.6.2: a header name or a method. */
export const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** @throws {IdentityHeaderNamesError} when a name is blank or no token. */
export function checkIdentityHeaderNames(names: IdentityHeaderNames): void {
  for (const name of [...names.username, ...names.uid, ...names.group, ...names.extraPrefix]) {
    // A blank extra prefix would turn every header into an identity header.
    if (name.trim() === '') {
      throw new IdentityHeaderNamesError('EmptyHeaderName', `empty header ${JSON.stringify(name)}`);
    }
    if (!token.test(name)) {
      throw new IdentityHeaderNamesError(
        'InvalidHeaderName',
        `${JSON.stringify(name)} is no header name: use letters, digits and hyphens`,
      );
    }
  }
}

/**
 * Tells whether a header, named in lower case, could be read as an identity by any server upstream: by Kubernetes'
 * standard names, the configured ones and that of the peer assertion.
 *
 * The standard names always count, also where others are configured: the destination may still read them.
 * Every character that is neither letter nor digit counts as a hyphen, since servers that map header names to
 * variables read `X_Remote_User` and `X-Remote-User` as one (CVE-2025-64484).
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

/** Lower case, with a hyphen for every character that is neither letter nor digit. */
export function hyphenated(name: string): string {
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
