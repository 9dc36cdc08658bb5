import type { Authenticator } from '../../identity/incoming/authenticator.ts';
import type { IdentityTokenSigners } from '../../identity/outgoing/identity-token.ts';
import type { OidcIssuer } from '../../identity/outgoing/oidc-issuer.ts';
import type { AllowedCallers } from '../../own-paths/allowed-callers.ts';
import type { PreferredVersionOptions, StalePolicy } from '../../routing/decision.ts';
import { hexOf } from '../../runtime/hex.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { SharingReceiver } from '../../snapshot/receiving/sharing-receiver.ts';
import type {
  CallerMethods,
  DestinationIdentityConfiguration,
  WorkerConfiguration,
} from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import type { CallerIdentification } from '../identity/callers.ts';
import type { PlatformCertificate } from '../identity/platform-certificate.ts';
import type { Fetcher, WaitUntil } from '../platform/bindings.ts';
import { createSnapshotKeeping } from '../snapshot/snapshot-keeping.ts';

/** What the handlers need, made once for an isolate. */
export interface PreparedWorker {
  readonly local: WorkerConfiguration['local'];
  readonly frontProxy: Fetcher | undefined;
  readonly destinations: Fetcher | undefined;
  readonly receiver: SharingReceiver;
  readonly stalePolicy: StalePolicy;
  readonly preferredVersion: PreferredVersionOptions;
  readonly authenticators: readonly Authenticator[];
  /** What `request.cf` proves about the caller. */
  readonly certificateOf: (cf: unknown) => PlatformCertificate;
  readonly allowedCallers: AllowedCallers;
  readonly identityTokens: IdentityTokenSigners;
  readonly oidcIssuer: OidcIssuer | undefined;
  readonly sync: WorkerConfiguration['sync'];
  /** This Worker's name in `Via`, the same in all its isolates. */
  readonly pseudonym: string;
  /** To be called for each request; see `SnapshotRefresh`. */
  beforeRequest(waitUntil: WaitUntil): Promise<void> | undefined;
}

/**
 * Checks the environment and makes of it what requests need. In a module of its own, with all that checks and signs.
 * @throws {WorkerConfigurationError} with every error
 */
export async function prepareWorker(environment: object, logger: Logger): Promise<PreparedWorker> {
  const configuration = await readConfiguration(environment);
  const { local, callers, destinationIdentity, snapshot } = configuration;
  const { receiver, refresh } = await createSnapshotKeeping(snapshot, logger);
  const identification = await identificationOf(callers, logger);
  return {
    local,
    frontProxy: configuration.frontProxy,
    destinations: configuration.destinations,
    receiver,
    stalePolicy: snapshot.stalePolicy,
    preferredVersion: snapshot.preferredVersion,
    authenticators: identification.authenticators,
    certificateOf: identification.certificateOf,
    allowedCallers: configuration.allowedCallers,
    sync: configuration.sync,
    pseudonym: await pseudonymOf(configuration),
    ...(await tokensOf(destinationIdentity)),
    beforeRequest(waitUntil) {
      for (const keys of identification.keys) {
        const renewal = keys.renewal();
        if (renewal !== undefined) waitUntil(renewal);
      }
      return refresh.beforeRequest(waitUntil);
    },
  };
}

async function identificationOf(callers: CallerMethods, logger: Logger): Promise<CallerIdentification> {
  const asksNobody = Object.values(callers).every((method) => method === undefined);
  if (asksNobody) return { authenticators: [], keys: [], certificateOf: () => ({}) };
  const { createCallerIdentification } = await import('../identity/callers.ts');
  return createCallerIdentification(callers, logger);
}

async function tokensOf(
  identity: DestinationIdentityConfiguration,
): Promise<Pick<PreparedWorker, 'identityTokens' | 'oidcIssuer'>> {
  const { local, peer, signing, oidc } = identity;
  if (signing === undefined || (local === 'front-proxy' && peer === 'front-proxy')) {
    return { identityTokens: {}, oidcIssuer: undefined };
  }
  const { createOidcIssuer, identityTokenSigners } = await import('../identity/signing.ts');
  return {
    identityTokens: identityTokenSigners({ ...identity, key: signing.key }),
    oidcIssuer: oidc && createOidcIssuer({ url: oidc.issuerUrl, publicKeys: [signing.publicJwk] }),
  };
}

/**
 * By which a request that comes back is noticed. A random name, as elsewhere, would be another one in each isolate, and
 * a loop would be noticed only by chance.
 */
async function pseudonymOf({ local, destinationIdentity }: WorkerConfiguration): Promise<string> {
  const named = JSON.stringify([local?.serverId, local?.origin, destinationIdentity.assertionIssuer]);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(named));
  return `mixed-version-proxy-${hexOf(new Uint8Array(digest, 0, 8))}`;
}
