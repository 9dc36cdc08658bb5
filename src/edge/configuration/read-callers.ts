import { parseAssertionKeys } from '../../identity/assertion/assertion-keys.ts';
import type { ExternalIssuerConfig } from '../../identity/jwt/parse-jwt-configuration.ts';
import { describeIssues } from '../../snapshot/format/issues.ts';
import type { DurableObjectNamespace } from '../platform/bindings.ts';
import type { CallerMethods } from './configuration.ts';
import type { EnvironmentReader } from './environment-reader.ts';

/** Where Cloudflare Access publishes a team's keys (developers.cloudflare.com/cloudflare-one, "Validate JWTs"). */
const accessKeysPath = '/cdn-cgi/access/certs';

/**
 * Reads how callers are established. What reads issuers is loaded where there are some.
 * @param serverId what assertions of other routers must be meant for; `undefined` in the gateway form, which has no ID
 *   that one could be addressed to
 */
export async function readCallers(
  reader: EnvironmentReader,
  serverId: string | undefined,
): Promise<CallerMethods> {
  const certificates = reader.choice('CLIENT_CERTIFICATES', ['none', 'cf']);
  const issuers = (await readIssuers(reader, 'AUTHENTICATION_CONFIG')) ?? [];
  return {
    assertion: await readAssertion(reader, serverId),
    certificate: certificates === 'cf' ? certificates : undefined,
    token: issuers.length === 0 ? undefined : issuers,
    access: await readAccess(reader),
  };
}

/** `undefined` where the variable is left out, or has an error. */
async function readIssuers(
  reader: EnvironmentReader,
  name: string,
): Promise<readonly ExternalIssuerConfig[] | undefined> {
  const document = reader.json(name);
  if (document === undefined) return undefined;
  const { parseAuthenticationConfiguration } = await import('../../identity/jwt/parse-jwt-configuration.ts');
  const parsed = parseAuthenticationConfiguration(document);
  if (!parsed.ok) {
    reader.issue(name, `has errors: ${describeIssues(parsed.issues)}`);
    return undefined;
  }
  for (const [index, { keys }] of parsed.issuers.entries()) {
    if (keys.kind === 'file')
      reader.issue(name, `jwt[${index}].issuer.jwksFile cannot be read here: use jwksURL`);
    else if (keys.certificateAuthority !== undefined) {
      // Left out silently, the keys would be fetched from whomever a public authority vouches for.
      reader.issue(
        name,
        `jwt[${index}].issuer.certificateAuthority has no effect here: fetch trusts the runtime's authorities`,
      );
    }
  }
  return parsed.issuers;
}

async function readAccess(reader: EnvironmentReader): Promise<ExternalIssuerConfig | undefined> {
  const issuers = await readIssuers(reader, 'ACCESS_CONFIG');
  if (issuers === undefined) return undefined;
  const [issuer, ...others] = issuers;
  if (issuer === undefined || others.length > 0) {
    reader.issue('ACCESS_CONFIG', 'must have one issuer, the team');
    return undefined;
  }
  // Access has no discovery document at the place where OpenID Connect has it.
  return issuer.keys.kind === 'discovery' && issuer.keys.url.startsWith(`${issuer.issuer}/.well-known/`)
    ? { ...issuer, keys: { ...issuer.keys, kind: 'url', url: `${issuer.issuer}${accessKeysPath}` } }
    : issuer;
}

async function readAssertion(
  reader: EnvironmentReader,
  audience: string | undefined,
): Promise<CallerMethods['assertion']> {
  const nonces = reader.binding<DurableObjectNamespace>('REPLAY_OBJECT', ['idFromName', 'get']);
  const text = reader.jsonText('ASSERTION_KEYS');
  if (text === undefined) return undefined;
  const parsed = await parseAssertionKeys(text);
  if (!parsed.ok) {
    reader.issue('ASSERTION_KEYS', `is unusable: ${describeIssues(parsed.issues)}`);
    return undefined;
  }
  return audience === undefined ? undefined : { keys: parsed.keys, audience, nonces };
}
