import type { UserInfo } from '../../request/user-info.ts';
import { isJsonObject } from '../../snapshot/format/json-text.ts';
import { type Claims, claimAt, isTextList } from './claims.ts';
import { TokenError } from './token-error.ts';

/** Where a value stands among the claims. */
export interface ClaimReference {
  /** One name for `claim: name`; several for the expression `claims.one.two`. */
  readonly path: readonly string[];
  /** Whether a token without the claim is refused. */
  readonly required: boolean;
}

export interface PrefixedClaimReference extends ClaimReference {
  /** Put in front of each value; may be empty. */
  readonly prefix: string;
}

/** How claims become a user: `claimMappings` of Kubernetes' AuthenticationConfiguration. */
export interface ClaimMappings {
  readonly username: PrefixedClaimReference;
  readonly groups: PrefixedClaimReference | undefined;
  readonly uid: ClaimReference | undefined;
  readonly extra: readonly { readonly key: string; readonly value: ClaimReference }[];
}

/**
 * The user that verified claims describe (k8s.io/apiserver plugin/pkg/authenticator/token/oidc/oidc.go).
 * @throws {TokenError}
 */
export function mapClaims(claims: Claims, mappings: ClaimMappings): UserInfo {
  const user: UserInfo = {
    name: username(claims, mappings.username),
    uid: mappings.uid === undefined ? '' : requiredText(claims, mappings.uid),
    groups: mappings.groups === undefined ? [] : groups(claims, mappings.groups),
    extra: extra(claims, mappings.extra),
  };
  keepOutOfReservedNames(user);
  return user;
}

function username(claims: Claims, reference: PrefixedClaimReference): string {
  const value = requiredText(claims, reference);
  // An empty X-Remote-User is no user at all, or anonymous, depending on who reads it.
  if (value === '') throw invalid(reference, 'is empty');
  if (isClaim(reference, 'email') && Object.hasOwn(claims, 'email_verified')) {
    // OpenID Connect Core 1.0 section 5.1; an unverified address does not identify a user.
    if (claims['email_verified'] !== true) {
      throw new TokenError('EmailNotVerified', 'holds an e-mail address that is not verified');
    }
  }
  return reference.prefix + value;
}

/** Text, or a list of texts (kubernetes/kubernetes#33290). Empty names say nothing and are left out. */
function groups(claims: Claims, reference: PrefixedClaimReference): readonly string[] {
  const [name = ''] = reference.path;
  if (!Object.hasOwn(claims, name) && isDistributed(claims, name)) {
    throw new TokenError(
      'DistributedClaim',
      'keeps its groups at another endpoint, which is not asked from here',
    );
  }
  return textsAt(claims, reference).map((group) => reference.prefix + group);
}

function isDistributed(claims: Claims, name: string): boolean {
  const names = claimAt(claims, ['_claim_names']);
  return isJsonObject(names) && Object.hasOwn(names, name);
}

function extra(claims: Claims, mappings: ClaimMappings['extra']): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, readonly string[]>();
  for (const { key, value } of mappings) {
    const texts = textsAt(claims, value);
    if (texts.length > 0) values.set(key, texts);
  }
  return values;
}

function textsAt(claims: Claims, reference: ClaimReference): readonly string[] {
  const value = claimAt(claims, reference.path);
  if (value === undefined && reference.required) throw invalid(reference, 'is missing');
  if (value === undefined || value === null) return [];
  const texts = typeof value === 'string' ? [value] : value;
  if (!isTextList(texts)) throw invalid(reference, 'is neither text nor a list of texts');
  return texts.filter((text) => text !== '');
}

function requiredText(claims: Claims, reference: ClaimReference): string {
  const value = claimAt(claims, reference.path);
  if (value === undefined) throw invalid(reference, 'is missing');
  if (typeof value !== 'string') throw invalid(reference, 'is no text');
  return value;
}

/**
 * Names with `system:` in front are Kubernetes' own. Upstream leaves it to `userValidationRules` to keep an issuer
 * from handing them out. Those rules need CEL and cannot be written here, so such names are never asserted: the
 * token passes through, to API servers that do have the operator's rules.
 */
function keepOutOfReservedNames(user: UserInfo): void {
  const names = [user.name, ...user.groups];
  if (!names.some((name) => name.startsWith('system:'))) return;
  throw new TokenError('ReservedName', 'names a user or group that begins with "system:"');
}

function isClaim({ path }: ClaimReference, name: string): boolean {
  return path.length === 1 && path[0] === name;
}

function invalid({ path }: ClaimReference, what: string): TokenError {
  // The name is the operator's; the value, which anyone may have written, is not repeated.
  return new TokenError('InvalidClaim', `is of no use: its claim ${path.join('.')} ${what}`);
}
