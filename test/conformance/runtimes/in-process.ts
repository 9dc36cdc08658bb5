import { createApp } from '../../../src/app.ts';
import { parseAssertionKeys } from '../../../src/identity/assertion/assertion-keys.ts';
import { PeerAssertionAuthenticator } from '../../../src/identity/assertion/verify-assertion.ts';
import { X509Authenticator } from '../../../src/identity/x509.ts';
import { NodeTransport } from '../../../src/node/destinations/node-transport.ts';
import { type ConnectionInfo, inboundFromRequest } from '../../../src/request/inbound.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { createAddressPolicy } from '../../../src/snapshot/addresses/address-policy.ts';
import { SnapshotReceiver } from '../../../src/snapshot/receiving/receiver.ts';
import { createMemorySnapshotStore } from '../../../src/snapshot/receiving/snapshot-store.ts';
import { parseSnapshotKeys } from '../../../src/snapshot/signing/keys.ts';
import { localId } from '../../support/clusters/decision-rows.ts';
import type { Cluster } from '../cluster.ts';
import { assertionKeysText, clusterAuthority, frontProxyPair, snapshotKeysText } from '../credentials.ts';
import type { ConformanceRuntime, RunningRuntime } from '../runtime.ts';
import type { ClientCertificate } from '../wire/exchange.ts';
import { fetchClient } from '../wire/fetch-client.ts';
import {
  doesNotApply,
  dotSegmentsResolved,
  notPossible,
  tokensPassThrough,
  urlParsed,
} from './reservations.ts';

const noConnection = doesNotApply(
  'These cases write bytes on a connection, or want an interim response before the final one; a handler that is called with a `Request` has neither.',
);

const noContentInRequest = 'A `Request` has no content with GET or HEAD: making one throws.';
const noUpgrade = notPossible(
  'A `Request` cannot become a tunnel, and the handler would take an upgrade for an ordinary request: a host hands upgrades to the same router beside it, as on Node, or refuses them.',
);
const joined = notPossible(
  '`Headers` joins repeated lines before the handler is called: a host has to refuse impersonation headers with a comma.',
);

/** `createApp(…).fetch(new Request(…))` on Node, with the Node transport behind it. */
export const inProcess: ConformanceRuntime = {
  id: 'in-process',
  title: '`app.fetch()`',
  description: 'The handler called with a `Request`, no server in front, the Node transport behind it.',
  lacks: {
    exactTarget: urlParsed,
    dotSegments: dotSegmentsResolved,
    contentOfReads: notPossible(noContentInRequest),
    http1Bytes: noConnection,
    http2: noConnection,
    jwt: tokensPassThrough,
    repeatedHeaders: joined,
    websocket: noUpgrade,
    spdy: noUpgrade,
    spdyRefusal: noUpgrade,
    interimAnswers: noConnection,
  },
  exceptions: {
    'paths/one-spelling': doesNotApply(
      'Who makes a `Request` has percent-encoded its path before anything is signed.',
    ),
    'identity/no-joined-groups': joined,
    'upgrades/never-a-plain-request': noUpgrade,
    'bodies/content-of-reads-blames-nobody': doesNotApply(noContentInRequest),
  },
  start: startInProcess,
};

async function startInProcess(cluster: Cluster): Promise<RunningRuntime> {
  const transport = new NodeTransport({
    credentials: {
      peerCertificateAuthorities: clusterAuthority.certificate,
      frontProxy: { certificate: frontProxyPair.chain, key: frontProxyPair.privateKey },
    },
  });
  const snapshotKeys = await parseSnapshotKeys(snapshotKeysText);
  const assertionKeys = await parseAssertionKeys(assertionKeysText);
  if (!snapshotKeys.ok || !assertionKeys.ok) throw new Error('the keys of the cases cannot be pinned');
  /** Facts of the connection that a request came on: a server in front would have found them out. */
  const connections = new WeakMap<Request, ConnectionInfo>();
  const app = createApp({
    local: {
      kind: 'local',
      id: localId,
      origin: `https://${cluster.addresses[localId]}`,
      serverName: 'kubernetes.default.svc',
      trust: { kind: 'peer-ca' },
    },
    routingTable: new SnapshotReceiver({
      keys: () => snapshotKeys.keys,
      addressPolicy: createAddressPolicy({ allowLoopback: true }),
      store: createMemorySnapshotStore(),
    }),
    authenticators: [
      new PeerAssertionAuthenticator({ keys: () => assertionKeys.keys, audience: localId }),
      new X509Authenticator(),
    ],
    inbound: (raw) => inboundFromRequest(raw, connections.get(raw) ?? {}),
    transport,
    logger: silentLogger,
  });
  return {
    client: fetchClient(async (request, { certificate }) => {
      connections.set(request, connectionOf(certificate));
      return app.fetch(request);
    }),
    async close() {
      transport.close();
    },
  };
}

function connectionOf(certificate: ClientCertificate | undefined): ConnectionInfo {
  const remoteAddress = '127.0.0.1';
  if (certificate === undefined) return { remoteAddress };
  const organizations = certificate === 'admin' ? ['system:masters'] : ['dev'];
  return {
    remoteAddress,
    clientCertificate: { commonName: certificate, organizations, authority: 'client-ca' },
  };
}
