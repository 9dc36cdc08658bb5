import { DocumentReader } from '../../snapshot/format/document-reader.ts';
import { fieldPath, IssueList, quoted, type SnapshotIssue } from '../../snapshot/format/issues.ts';
import { isJsonObject } from '../../snapshot/format/json-text.ts';
import {
  type AuthenticationConfiguration,
  authenticationConfigurationSchema,
  type JwtAuthenticatorConfiguration,
  ownVersion,
} from './configuration-schema.ts';
import { type KeyLocation, readClaimMappings, readIssuer } from './read-issuer.ts';
import type { TokenPolicy } from './token-issuer.ts';

/** One issuer, checked. */
export interface ExternalIssuerConfig {
  readonly issuer: string;
  readonly keys: KeyLocation;
  readonly policy: TokenPolicy;
}

export type ParseConfigurationResult =
  | {
      readonly ok: true;
      readonly issuers: readonly ExternalIssuerConfig[];
      /** Fields that are set and have no effect here. */
      readonly warnings: readonly SnapshotIssue[];
    }
  /** Every error with its path. */
  | { readonly ok: false; readonly issues: readonly SnapshotIssue[] };

/**
 * Reads an AuthenticationConfiguration, the shape first, then what Kubernetes wants of its fields
 * (k8s.io/apiserver pkg/apis/apiserver/validation). Rules that need CEL are errors: left out, they would let in
 * whom the operator means to keep out.
 *
 * @param document a value as `JSON.parse` makes it
 * @param disallowedIssuers those of service accounts, which have rules of their own
 *
 * @example
 * ```ts
 * const result = parseAuthenticationConfiguration({
 *   apiVersion: 'apiserver.config.k8s.io/v1beta1',
 *   kind: 'AuthenticationConfiguration',
 *   jwt: [
 *     {
 *       issuer: { url: 'https://issuer.example', audiences: ['kubernetes'] },
 *       claimMappings: { username: { claim: 'sub', prefix: 'oidc:' } },
 *     },
 *   ],
 * });
 * console.log(result.ok && result.issuers.map(({ issuer }) => issuer)); // [ 'https://issuer.example' ]
 * ```
 */
export function parseAuthenticationConfiguration(
  document: unknown,
  disallowedIssuers: readonly string[] = [],
): ParseConfigurationResult {
  const issues = new IssueList();
  // Not quoted, as the schema would: it may be a key given by mistake.
  if (!isJsonObject(document)) return { ok: false, issues: [{ path: '', message: 'must be an object' }] };
  const configuration = new DocumentReader(issues).read(authenticationConfigurationSchema, document, '');
  if (configuration === undefined) return { ok: false, issues: issues.toArray() };
  const mayNameKeys = configuration.apiVersion === ownVersion;
  const authenticators = configuration.jwt ?? [];
  const issuers = authenticators.flatMap((each, index) =>
    readAuthenticator(each, fieldPath('jwt', index), mayNameKeys, issues),
  );
  refuseRepeated(authenticators, disallowedIssuers, issues);
  if (!issues.isEmpty) return { ok: false, issues: issues.toArray() };
  return { ok: true, issuers, warnings: warningsOf(configuration) };
}

function readAuthenticator(
  authenticator: JwtAuthenticatorConfiguration,
  path: string,
  mayNameKeys: boolean,
  issues: IssueList,
): ExternalIssuerConfig[] {
  const { url, audiences, keys } = readIssuer(authenticator.issuer, `${path}.issuer`, mayNameKeys, issues);
  const requiredClaims = readRequiredClaims(authenticator, `${path}.claimValidationRules`, issues);
  const mappings = readClaimMappings(authenticator.claimMappings, `${path}.claimMappings`, issues);
  for (const index of (authenticator.userValidationRules ?? []).keys()) {
    issues.add(
      `${path}.userValidationRules[${index}]`,
      'is not supported: it needs CEL, which is not interpreted here',
    );
  }
  return mappings === undefined
    ? []
    : [{ issuer: url, keys, policy: { audiences, requiredClaims, mappings } }];
}

function readRequiredClaims(
  { claimValidationRules: rules = [] }: JwtAuthenticatorConfiguration,
  path: string,
  issues: IssueList,
): ReadonlyMap<string, string> {
  const required = new Map<string, string>();
  for (const [index, { claim, requiredValue = '', expression, message }] of rules.entries()) {
    const rulePath = fieldPath(path, index);
    if (expression !== undefined && expression !== '') {
      issues.add(`${rulePath}.expression`, 'is not supported: it needs CEL, which is not interpreted here');
    } else if (claim === undefined || claim === '') {
      issues.add(`${rulePath}.claim`, 'is required');
    } else {
      if (message !== undefined && message !== '')
        issues.add(`${rulePath}.message`, 'must not be there beside claim');
      if (required.has(claim)) issues.add(`${rulePath}.claim`, `must be unique: ${quoted(claim)}`);
      required.set(claim, requiredValue);
    }
  }
  return required;
}

function refuseRepeated(
  authenticators: readonly JwtAuthenticatorConfiguration[],
  disallowedIssuers: readonly string[],
  issues: IssueList,
): void {
  const urls = new Set<string>();
  const discoveryUrls = new Set<string>();
  for (const [index, { issuer }] of authenticators.entries()) {
    const path = `${fieldPath('jwt', index)}.issuer`;
    if (urls.has(issuer.url)) issues.add(`${path}.url`, `must be unique: ${quoted(issuer.url)}`);
    urls.add(issuer.url);
    if (disallowedIssuers.includes(issuer.url)) {
      issues.add(`${path}.url`, 'must not be an issuer of service accounts (--service-account-issuer)');
    }
    const { discoveryURL } = issuer;
    if (discoveryURL === undefined) continue;
    if (discoveryUrls.has(discoveryURL)) {
      issues.add(`${path}.discoveryURL`, `must be unique: ${quoted(discoveryURL)}`);
    }
    discoveryUrls.add(discoveryURL);
  }
}

function warningsOf({ anonymous }: AuthenticationConfiguration): readonly SnapshotIssue[] {
  if (anonymous === undefined) return [];
  const message = 'has no effect here: callers without credentials pass through, and the API servers decide';
  return [{ path: 'anonymous', message }];
}
