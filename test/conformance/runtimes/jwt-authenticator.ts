import { parseAuthenticationConfiguration } from '../../../src/identity/jwt/parse-jwt-configuration.ts';
import {
  createJwtAuthenticator,
  type RunningJwtAuthenticator,
} from '../../../src/node/callers/configured-jwt-authenticator.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import type { Cluster } from '../cluster.ts';
import { authenticationConfiguration } from '../oidc-tokens.ts';

/** Node's own, for the issuer of the cases. */
export function jwtAuthenticator({ oidcProvider }: Cluster): RunningJwtAuthenticator {
  const document: unknown = JSON.parse(authenticationConfiguration(oidcProvider.keysUrl, 'named authority'));
  const parsed = parseAuthenticationConfiguration(document);
  if (!parsed.ok) throw new Error(`the cases' issuer is no issuer: ${JSON.stringify(parsed.issues)}`);
  const running = createJwtAuthenticator(
    { issuers: parsed.issuers, serviceAccounts: undefined },
    silentLogger,
  );
  if (running === undefined) throw new Error('the cases have an issuer');
  return running;
}
