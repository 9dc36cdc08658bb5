import { createApp } from '../app.ts';
import { createAssertionSigner } from '../identity/assertion/sign-assertion.ts';
import type { IdentityTokenSigners } from '../identity/identity-token.ts';
import { createAddressPolicy } from '../snapshot/address-policy.ts';
import { parseSnapshotKeys } from '../snapshot/keys.ts';
import { createMemorySnapshotStore } from '../snapshot/memory-snapshot-store.ts';
import { SnapshotReceiver } from '../snapshot/receiver.ts';
import { loadSigningKey } from '../snapshot/signing-key.ts';
import { createFetchTransport } from './fetch-transport.ts';

/** Variables and bindings of the Worker (`wrangler.toml`). */
export interface WorkerEnvironment {
  /** ID of the API server that takes what is local. */
  readonly SERVER_ID: string;
  /** `https://name:port` of that server; a DNS name, for the platform connects to no bare IP address. */
  readonly LOCAL_SERVER: string;
  /** Public JWKS (JSON) that snapshots may be signed with. */
  readonly SNAPSHOT_KEYS: string;
  /** Sealed snapshot to route by, given at deployment. */
  readonly SNAPSHOT?: string;
  /**
   * Secret: private JWK (JSON) to sign peer assertions with. With it, `LOCAL_SERVER` and the peers are routers
   * that have pinned its public half for `ASSERTION_ISSUER`, and no front-proxy certificate is needed.
   */
  readonly ASSERTION_SIGNING_KEY?: string;
  /** Name under which assertions are signed; goes with `ASSERTION_SIGNING_KEY`. */
  readonly ASSERTION_ISSUER?: string;
  /** A binding whose `fetch` presents the front-proxy client certificate. */
  readonly PEER_MTLS?: { fetch(url: string, init: RequestInit): Promise<Response> };
}

type App = ReturnType<typeof createApp>;

const apps = new WeakMap<WorkerEnvironment, Promise<App>>();

/**
 * The router on a Workers-compatible runtime. Callers are not authenticated here: their own credentials go to
 * the API servers as they came, and `/.mixed-version-proxy/` is closed to everyone until they can be.
 */
export default {
  async fetch(request: Request, environment: WorkerEnvironment): Promise<Response> {
    let app = apps.get(environment);
    if (app === undefined) {
      app = createWorkerApp(environment);
      apps.set(environment, app);
    }
    return (await app).fetch(request, environment);
  },
};

async function createWorkerApp(environment: WorkerEnvironment): Promise<App> {
  const { SERVER_ID, LOCAL_SERVER, SNAPSHOT_KEYS, SNAPSHOT, PEER_MTLS } = environment;
  const parsed = await parseSnapshotKeys(SNAPSHOT_KEYS);
  if (!parsed.ok) {
    const faults = parsed.issues.map(({ path, message }) => `${path} ${message}`.trim());
    throw new TypeError(`SNAPSHOT_KEYS: ${faults.join('; ')}`);
  }
  const local = new URL(LOCAL_SERVER);
  const receiver = new SnapshotReceiver({
    keys: () => parsed.keys,
    addressPolicy: createAddressPolicy(),
    store: createMemorySnapshotStore(SNAPSHOT === undefined ? undefined : { snapshot: SNAPSHOT }),
  });
  await receiver.restore();
  return createApp({
    serverId: SERVER_ID,
    local: {
      kind: 'local',
      id: SERVER_ID,
      origin: local.origin,
      serverName: local.hostname,
      trust: { kind: 'peer-ca' },
    },
    routingTable: receiver,
    identityTokens: await assertionSigners(environment),
    transport: createFetchTransport({
      ...(PEER_MTLS === undefined
        ? {}
        : { frontProxyFetch: (url: string, init: RequestInit) => PEER_MTLS.fetch(url, init) }),
    }),
  });
}

async function assertionSigners({
  ASSERTION_SIGNING_KEY,
  ASSERTION_ISSUER,
}: WorkerEnvironment): Promise<IdentityTokenSigners> {
  if (ASSERTION_SIGNING_KEY === undefined) return {};
  if (ASSERTION_ISSUER === undefined) {
    throw new TypeError('ASSERTION_ISSUER must name this router beside ASSERTION_SIGNING_KEY.');
  }
  const { key } = await loadSigningKey(ASSERTION_SIGNING_KEY);
  const signer = createAssertionSigner({ key, issuer: ASSERTION_ISSUER });
  // From the edge, what is local is a router too.
  return { local: signer, peer: signer };
}
