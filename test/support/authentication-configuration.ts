import { parseAuthenticationConfiguration } from '../../src/identity/jwt/parse-jwt-configuration.ts';

export type Part = Readonly<Record<string, unknown>>;

/** An issuer with which nothing is wrong. */
export const goodIssuer: Part = { url: 'https://issuer.example', audiences: ['kubernetes'] };
const goodMappings: Part = { username: { claim: 'sub', prefix: '' } };

export function authenticator(changes: Part = {}): Part {
  return { issuer: goodIssuer, claimMappings: goodMappings, ...changes };
}

export function configuration(...jwt: readonly unknown[]): Part {
  return { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration', jwt };
}

/** Every fault that is found, as `path message`. */
export function issuesOf(document: unknown, disallowed?: readonly string[]): string[] {
  const result = parseAuthenticationConfiguration(document, disallowed);
  return result.ok ? [] : result.issues.map(({ path, message }) => `${path} ${message}`);
}

export function withIssuer(changes: Part): Part {
  return configuration(authenticator({ issuer: { ...goodIssuer, ...changes } }));
}

export function withMappings(changes: Part): Part {
  return configuration(authenticator({ claimMappings: { ...goodMappings, ...changes } }));
}
