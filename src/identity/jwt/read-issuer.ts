import { fieldPath, type IssueList, quoted } from '../../snapshot/format/issues.ts';
import type { IssuerConfiguration } from './configuration-schema.ts';
import { wellKnownUrl } from './load-keys.ts';

/** Where the keys of an issuer are. */
export type KeyLocation =
  | {
      readonly kind: 'discovery' | 'url';
      readonly url: string;
      readonly certificateAuthority: string | undefined;
    }
  | { readonly kind: 'file'; readonly path: string };

export interface ReadIssuer {
  readonly url: string;
  readonly audiences: readonly string[];
  readonly keys: KeyLocation;
}

/** Reads `jwt[].issuer` (k8s.io/apiserver pkg/apis/apiserver/validation, validateIssuer); faults go to `issues`. */
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
