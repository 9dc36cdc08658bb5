import { statusResponse } from '../../apimachinery/status.ts';
import { createApp } from '../../app.ts';
import { CachedKeys } from '../../identity/jwt/cached-keys.ts';
import type { FetchDocument } from '../../identity/jwt/fetch-document.ts';
import type { ExternalIssuerConfig } from '../../identity/jwt/parse-jwt-configuration.ts';
import { createRouter } from '../../proxy/create-router.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { HandlerContext } from '../../request/router.ts';
import type { Transport } from '../../request/transport.ts';
import type { Logger } from '../../runtime/logger.ts';
import { SnapshotReceiver } from '../../snapshot/receiving/receiver.ts';
import type { SnapshotStore } from '../../snapshot/receiving/snapshot-store.ts';
import type { WorkerConfiguration } from '../configuration/configuration.ts';
import { edgeAuthenticators, loadKeysOf } from '../identity/callers.ts';
import { createSigning } from '../identity/signing.ts';
import { denoInbound, refuseRewrittenTargets } from './deno-inbound.ts';
import type { DenoHandler } from './deno-runtime.ts';

interface DenoHandlerOptions {
  readonly configuration: WorkerConfiguration;
  readonly transport: Transport;
  readonly store: SnapshotStore;
  /** For the keys of token issuers. */
  readonly fetchDocument: FetchDocument;
  readonly logger: Logger;
}

/** What the chain is called with in addition to the request: the request as it was received. */
interface Bindings {
  readonly inbound: InboundRequest;
}

/** The whole router as a handler of `Deno.serve`, with the last good snapshot in use. */
export async function createDenoHandler(options: DenoHandlerOptions): Promise<DenoHandler> {
  const { configuration, transport, store, fetchDocument, logger } = options;
  const { local, destinationIdentity, callers, snapshot } = configuration;
  const { identityTokens, oidcIssuer } = createSigning(destinationIdentity);
  const receiver = new SnapshotReceiver({
    keys: () => snapshot.keys,
    addressPolicy: snapshot.addressPolicy,
    store: beginningWith(store, snapshot.initial),
    logger,
  });
  const restored = await receiver.restore();
  if (restored.result === 'refused') {
    logger.error({ err: restored.error }, 'The stored snapshot cannot be used');
  }
  // `Deno.serve` can ask for no client certificate: callers are known by what is signed, and by nothing else.
  const keysOf = (issuer: ExternalIssuerConfig) =>
    new CachedKeys({ issuer: issuer.issuer, load: loadKeysOf(issuer, fetchDocument), logger });
  const routerOptions = {
    serverId: local?.id,
    local,
    routingTable: receiver,
    transport,
    authenticators: edgeAuthenticators(callers, keysOf, logger),
    identityTokens,
    stalePolicy: snapshot.stalePolicy,
    preferredVersion: snapshot.preferredVersion,
    logger,
  };
  const app = createApp({
    ...routerOptions,
    router: refuseRewrittenTargets(createRouter(routerOptions)),
    oidcIssuer,
    allowedCallers: configuration.allowedCallers,
    inbound: (context: HandlerContext) => (context.env as Bindings).inbound,
  });
  return (request, info) => {
    const taken = denoInbound(request, info);
    if (!taken.ok) return statusResponse('BadRequest', taken.issue);
    if (request.headers.has('upgrade')) return upgradeRefused();
    return app.fetch(request, { inbound: taken.inbound } satisfies Bindings);
  };
}

/** The store, which holds `initial` as long as nothing has been saved: it is verified as whatever it holds. */
function beginningWith(store: SnapshotStore, initial: string | undefined): SnapshotStore {
  if (initial === undefined) return store;
  return { ...store, load: async () => (await store.load()) ?? { snapshot: initial } };
}

/** Deno has no raw upgrades, and its WebSockets can only be ended here, not passed on as they are. */
function upgradeRefused(): Response {
  return statusResponse(
    'BadRequest',
    'this router cannot upgrade connections: use exec, attach and port-forward through a router on Node, or through a Worker with kubectl 1.30 or newer',
  );
}
