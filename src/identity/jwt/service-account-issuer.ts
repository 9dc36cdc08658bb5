import type { UserInfo } from '../../request/user-info.ts';
import { isDns1123Label, isDns1123Subdomain } from '../../snapshot/addresses/names.ts';
import { isJsonObject } from '../../snapshot/format/json-text.ts';
import {
  audiencesOf,
  type Claims,
  type ClockTolerance,
  checkAudience,
  checkTimes,
  claimAt,
} from './claims.ts';
import type { KeySource } from './key-source.ts';
import { TokenError } from './token-error.ts';
import type { TokenIssuer } from './token-issuer.ts';

/** go-jose's leeway, with which kube-apiserver checks these tokens (pkg/serviceaccount/claims.go). */
const tolerance: ClockTolerance = { expiry: 60, notBefore: 60, issuedAt: 60 };

/**
 * The cluster's own issuer of service account tokens.
 *
 * A kube-apiserver also looks whether the service account, and the pod, node or Secret a token is bound to, still
 * exist. That cannot be seen from here: a token that is verified here counts until it expires. That is why these
 * issuers are off unless an operator names them.
 * @param apiAudiences one of them has to be among the token's
 *
 * @example
 * ```ts
 * const { publicJwk } = await generateSigningKey('ES256');
 * const { keys } = await parseKeySet({ keys: [publicJwk] });
 * const cluster = 'https://kubernetes.default.svc';
 * const authenticator = new JwtAuthenticator({
 *   issuers: [serviceAccountIssuer(cluster, fixedKeys(keys), [cluster])],
 * });
 * ```
 */
export function serviceAccountIssuer(
  issuer: string,
  keys: KeySource,
  apiAudiences: readonly string[],
): TokenIssuer {
  const audiences = new Set(apiAudiences);
  return {
    issuer,
    keys,
    identify(claims, now) {
      refuseUnbound(claims);
      checkTimes(claims, now, tolerance);
      checkAudience(claims, audiences);
      return serviceAccountUser(claims);
    },
  };
}

/**
 * Tokens out of a Secret have neither expiry nor audience, and end only when the Secret is deleted: whether it has
 * been, only an API server knows.
 */
function refuseUnbound(claims: Claims): void {
  const bound =
    Object.hasOwn(claims, 'exp') && audiencesOf(claims).length > 0 && Object.hasOwn(claims, 'kubernetes.io');
  if (!bound) {
    throw new TokenError('UnboundToken', 'is a service account token that only its Secret can revoke');
  }
}

/** k8s.io/apiserver pkg/authentication/serviceaccount/util.go, ServiceAccountInfo.UserInfo. */
function serviceAccountUser(claims: Claims): UserInfo {
  const namespace = textAt(claims, ['kubernetes.io', 'namespace']);
  const name = textAt(claims, ['kubernetes.io', 'serviceaccount', 'name']);
  const uid = textAt(claims, ['kubernetes.io', 'serviceaccount', 'uid']);
  // A colon in a part would turn one service account into another. Upstream would find no such object.
  if (!isDns1123Label(namespace) || !isDns1123Subdomain(name) || uid === '') {
    throw new TokenError('InvalidClaim', 'does not name a service account');
  }
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    extra: serviceAccountExtra(claims),
  };
}

function serviceAccountExtra(claims: Claims): ReadonlyMap<string, readonly string[]> {
  const extra = new Map<string, readonly string[]>();
  const add = (key: string, value: string): void => {
    extra.set(`authentication.kubernetes.io/${key}`, [value]);
  };
  const podName = optionalTextAt(claims, 'pod', 'name');
  const podUid = optionalTextAt(claims, 'pod', 'uid');
  if (podName !== '' && podUid !== '') {
    add('pod-name', podName);
    add('pod-uid', podUid);
  }
  const id = claimAt(claims, ['jti']);
  if (typeof id === 'string' && id !== '') add('credential-id', `JTI=${id}`);
  const nodeName = optionalTextAt(claims, 'node', 'name');
  const nodeUid = optionalTextAt(claims, 'node', 'uid');
  if (nodeName !== '') add('node-name', nodeName);
  if (nodeName !== '' && nodeUid !== '') add('node-uid', nodeUid);
  return extra;
}

function textAt(claims: Claims, path: readonly string[]): string {
  const value = claimAt(claims, path);
  if (typeof value === 'string') return value;
  throw new TokenError('InvalidClaim', `is of no use: its claim ${path.join('.')} is no text`);
}

/** A member of an object that a token may be bound to; empty where the token is not. */
function optionalTextAt(claims: Claims, bound: 'pod' | 'node', member: 'name' | 'uid'): string {
  const reference = claimAt(claims, ['kubernetes.io', bound]);
  if (!isJsonObject(reference) || !Object.hasOwn(reference, member)) return '';
  return textAt(claims, ['kubernetes.io', bound, member]);
}
