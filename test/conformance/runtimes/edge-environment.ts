import { localId } from '../../support/clusters/decision-rows.ts';
import type { Cluster } from '../cluster.ts';
import { routerSpeaker, snapshotKeysText } from '../credentials.ts';
import { tokenVariables } from '../oidc-tokens.ts';

/**
 * The variables of an edge router for a round of cases.
 * @param identity how servers are told who calls.
 */
export function edgeEnvironment(
  { addresses, oidcProvider }: Cluster,
  identity: 'front-proxy' | 'assertion',
): Readonly<Record<string, string>> {
  return {
    SERVER_ID: localId,
    LOCAL_SERVER: `https://${addresses[localId]}`,
    SNAPSHOT_KEYS: snapshotKeysText,
    ...tokenVariables(oidcProvider.keysUrl),
    ALLOW_LOOPBACK_PEERS: 'true',
    LOG_LEVEL: 'none',
    ...(identity === 'front-proxy'
      ? {}
      : {
          ASSERTION_SIGNING_KEY: JSON.stringify(routerSpeaker.privateJwk),
          ASSERTION_ISSUER: routerSpeaker.issuer,
        }),
  };
}
