import { isDns1123Subdomain } from '../../snapshot/addresses/names.ts';
import { fieldPath, type IssueList, quoted } from '../../snapshot/format/issues.ts';
import type { ClaimMappings, ClaimReference, PrefixedClaimReference } from './claim-mappings.ts';
import type {
  ClaimMappingsConfiguration,
  ClaimOrExpression,
  IssuerConfiguration,
  PrefixedClaimOrExpression,
} from './configuration-schema.ts';
import { wellKnownUrl } from './load-keys.ts';

/** Where the keys of an issuer are. */
export type KeyLocation =
  | {
      readonly kind: 'discovery' | 'url';
      readonly url: string;
      readonly certificateAuthority: string | undefined;
    }
  | { readonly kind: 'file'; readonly path: string };

interface ReadIssuer {
  readonly url: string;
  readonly audiences: readonly string[];
  readonly keys: KeyLocation;
}

/** Reads `jwt[].issuer` (k8s.io/apiserver pkg/apis/apiserver/validation, validateIssuer); errors go to `issues`. */
export function readIssuer(
  issuer: IssuerConfiguration,
  path: string,
  mayNameKeys: boolean,
  issues: IssueList,
): ReadIssuer {
  checkUrl(issuer.url, `${path}.url`, issues);
  checkAudiences(issuer, path, issues);
  if (issuer.egressSelectorType !== undefined) {
    issues.add(`${path}.egressSelectorType`, 'is not supported: this router has no egress selector');
  }
  const { certificateAuthority } = issuer;
  if (certificateAuthority !== undefined && !certificateAuthority.includes('-----BEGIN CERTIFICATE-----')) {
    issues.add(`${path}.certificateAuthority`, 'must hold PEM certificates, not the name of a file');
  }
  return {
    url: issuer.url,
    audiences: issuer.audiences,
    keys: keyLocation(issuer, path, mayNameKeys, issues),
  };
}

function keyLocation(
  issuer: IssuerConfiguration,
  path: string,
  mayNameKeys: boolean,
  issues: IssueList,
): KeyLocation {
  const { url, discoveryURL, jwksURL, jwksFile, certificateAuthority } = issuer;
  const named = Object.entries({ discoveryURL, jwksURL, jwksFile }).filter(
    ([, value]) => value !== undefined,
  );
  if (named.length > 1) {
    issues.add(
      path,
      `must say in one way where the keys are, not by ${named.map(([name]) => name).join(' and ')}`,
    );
  }
  for (const [name] of named) {
    if (name === 'discoveryURL' || mayNameKeys) continue;
    issues.add(
      fieldPath(path, name),
      'is no field of apiserver.config.k8s.io: with it, the apiVersion must be mixed-version-proxy/v1alpha1',
    );
  }
  if (jwksFile !== undefined) {
    if (jwksFile === '') issues.add(`${path}.jwksFile`, 'must name a file');
    if (certificateAuthority !== undefined) {
      issues.add(`${path}.certificateAuthority`, 'must not be there with jwksFile: nothing is fetched');
    }
    return { kind: 'file', path: jwksFile };
  }
  if (jwksURL !== undefined) {
    checkUrl(jwksURL, `${path}.jwksURL`, issues);
    return { kind: 'url', url: jwksURL, certificateAuthority };
  }
  if (discoveryURL !== undefined) {
    checkUrl(discoveryURL, `${path}.discoveryURL`, issues);
    if (withoutTrailingSlashes(discoveryURL) === withoutTrailingSlashes(url)) {
      issues.add(`${path}.discoveryURL`, 'must be different from url');
    }
  }
  return { kind: 'discovery', url: discoveryURL ?? wellKnownUrl(url), certificateAuthority };
}

/** The URL is not quoted: there may be a password in it. */
function checkUrl(text: string, path: string, issues: IssueList): void {
  const url = URL.parse(text);
  if (url === null) {
    issues.add(path, text === '' ? 'is required' : 'must be a URL');
    return;
  }
  if (url.protocol !== 'https:') issues.add(path, 'must be an https URL');
  if (url.username !== '' || url.password !== '') issues.add(path, 'must not contain a username or password');
  if (text.includes('?')) issues.add(path, 'must not contain a query');
  if (text.includes('#')) issues.add(path, 'must not contain a fragment');
}

function checkAudiences(
  { audiences, audienceMatchPolicy }: IssuerConfiguration,
  path: string,
  issues: IssueList,
): void {
  if (audiences.length === 0) issues.add(`${path}.audiences`, 'must hold at least one audience');
  for (const [index, audience] of audiences.entries()) {
    const audiencePath = `${path}.audiences[${index}]`;
    if (audience === '') issues.add(audiencePath, 'must not be empty');
    if (audiences.indexOf(audience) < index) issues.add(audiencePath, `must be unique: ${quoted(audience)}`);
  }
  const policyPath = `${path}.audienceMatchPolicy`;
  if (audiences.length > 1 && audienceMatchPolicy !== 'MatchAny') {
    issues.add(policyPath, 'must be MatchAny where there are several audiences');
  } else if (audienceMatchPolicy !== undefined && !['', 'MatchAny'].includes(audienceMatchPolicy)) {
    issues.add(policyPath, 'must be MatchAny, or left out where there is one audience');
  }
}

function withoutTrailingSlashes(text: string): string {
  return text.replace(/\/+$/, '');
}

/** RFC 3986 path characters, as k8s.io/apimachinery pkg/util/validation, IsDomainPrefixedPath. */
const httpPath = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

/**
 * Reads `jwt[].claimMappings` (k8s.io/apiserver pkg/apis/apiserver/validation, validateClaimMappings); errors go to
 * `issues`. `undefined` when there is no username, without which nothing can be mapped.
 */
export function readClaimMappings(
  mappings: ClaimMappingsConfiguration,
  path: string,
  issues: IssueList,
): ClaimMappings | undefined {
  const usernamePath = `${path}.username`;
  const username = readPrefixed(mappings.username, usernamePath, issues);
  if (!isSet(mappings.username.claim) && !isSet(mappings.username.expression)) {
    issues.add(usernamePath, 'must have a claim or an expression');
  }
  // Upstream wants email_verified in another expression then; of those, none that could hold it is supported here.
  if (mappings.username.expression?.trim() === 'claims.email') {
    issues.add(
      `${usernamePath}.expression`,
      'must be written as claim: email, which also checks email_verified',
    );
  }
  const groups = mappings.groups && readPrefixed(mappings.groups, `${path}.groups`, issues);
  const uid = mappings.uid && readReference(mappings.uid, `${path}.uid`, 'required', issues);
  const extra = readExtra(mappings.extra ?? [], `${path}.extra`, issues);
  return username && { username: { ...username, required: true }, groups, uid, extra };
}

function readPrefixed(
  source: PrefixedClaimOrExpression,
  path: string,
  issues: IssueList,
): PrefixedClaimReference | undefined {
  if (isSet(source.claim) && !isSet(source.expression) && source.prefix === undefined) {
    // No default, as upstream: one that is forgotten would let an issuer name anyone.
    issues.add(`${path}.prefix`, 'is required beside claim; set it to "" for no prefix');
  }
  if (isSet(source.expression) && !isSet(source.claim) && source.prefix !== undefined) {
    issues.add(`${path}.prefix`, 'must not be there beside expression');
  }
  const reference = readReference(source, path, 'optional', issues);
  return reference && { ...reference, prefix: source.prefix ?? '' };
}

/** @param presence whether a token must have what `claim` names; what an expression names it must have always */
function readReference(
  { claim, expression }: ClaimOrExpression,
  path: string,
  presence: 'required' | 'optional',
  issues: IssueList,
): ClaimReference | undefined {
  if (isSet(claim) && isSet(expression)) {
    issues.add(path, 'must have a claim or an expression, not both');
    return undefined;
  }
  if (isSet(expression)) return readExpression(expression, `${path}.expression`, issues);
  return isSet(claim) ? { path: [claim], required: presence === 'required' } : undefined;
}

/** Of CEL, the one form that needs no interpreter: `claims.name`, also nested. */
function readExpression(expression: string, path: string, issues: IssueList): ClaimReference | undefined {
  const match = /^claims((?:\.[A-Za-z_]\w*)+)$/.exec(expression.trim());
  if (match?.[1] !== undefined) return { path: match[1].slice(1).split('.'), required: true };
  issues.add(
    path,
    `must be of the form claims.<name>: other CEL expressions are not supported here, such as ${quoted(expression)}`,
  );
  return undefined;
}

function readExtra(
  extra: NonNullable<ClaimMappingsConfiguration['extra']>,
  path: string,
  issues: IssueList,
): ClaimMappings['extra'] {
  const keys = new Set<string>();
  return extra.flatMap(({ key, valueExpression }, index) => {
    const itemPath = fieldPath(path, index);
    checkExtraKey(key, `${itemPath}.key`, issues);
    if (keys.has(key)) issues.add(`${itemPath}.key`, `must be unique: ${quoted(key)}`);
    keys.add(key);
    const value = readExpression(valueExpression, `${itemPath}.valueExpression`, issues);
    return value === undefined ? [] : [{ key, value }];
  });
}

function checkExtraKey(key: string, path: string, issues: IssueList): void {
  const slash = key.indexOf('/');
  const domain = key.slice(0, Math.max(slash, 0));
  if (!isDns1123Subdomain(domain) || !httpPath.test(key.slice(slash + 1))) {
    issues.add(path, `must be a domain-prefixed path such as example.org/name, not ${quoted(key)}`);
  }
  if (key !== key.toLowerCase()) issues.add(path, 'must be in lower case');
  if (/(^|\.)(kubernetes|k8s)\.io$/.test(domain)) {
    issues.add(
      path,
      'must not be in k8s.io, kubernetes.io or their subdomains, which are reserved for Kubernetes',
    );
  }
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}
