import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { request } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { createApp } from '../src/app.ts';
import { RequestHeaderAuthenticator } from '../src/identity/request-header.ts';
import {
  ClientCertificateReader,
  clientCertificateTlsOptions,
  readClientAuthorities,
} from '../src/node/callers/client-certificate.ts';

import { NodeTransport } from '../src/node/destinations/node-transport.ts';
import { nodeInbound } from '../src/node/exchange/node-inbound.ts';
import { createRouterServer } from '../src/node/serving/server.ts';
import { createAuthority } from './support/certificates.ts';
import { type DecisionRow, decisionRows, localId, mixedClusterAt } from './support/decision-rows.ts';
import {
  credentials,
  frontProxyAuthority,
  peerName,
  routerPair,
  servingAuthority,
  startPeer,
} from './support/node-exchange.ts';
import { receiverHolding } from './support/test-app.ts';

const frontProxy = await frontProxyAuthority.issue({ commonName: 'front-proxy-client', usage: 'client' });
const clientAuthority = await createAuthority('client-ca');

interface Arrived {
  readonly server: string;
  readonly target: string | undefined;
}

/** Real API servers' places: each answers 404 and notes what arrived. */
async function startBackends(context: TestContext, arrived: Arrived[]) {
  const ids = [localId, 'peer-1', 'peer-2', 'peer-3'];
  const peers = await Promise.all(
    ids.map((server, index) =>
      startPeer(context, index % 2 === 0 ? 'h2' : 'http/1.1', (incoming, outgoing) => {
        arrived.push({ server, target: incoming.url });
        outgoing.writeHead(404, { 'content-type': 'text/plain' });
        outgoing.end('404 page not found\n');
      }),
    ),
  );
  return Object.fromEntries(ids.map((id, index) => [id, `127.0.0.1:${peers[index]?.port}`]));
}

/** A router as `serve` puts it together, but with the context of the row. */
async function startRouter(context: TestContext, row: DecisionRow, addresses: Record<string, string>) {
  const cluster = mixedClusterAt(addresses);
  const authorities = readClientAuthorities({
    clientCa: clientAuthority.certificate,
    requestHeaderCa: frontProxyAuthority.certificate,
  });
  const certificates = new ClientCertificateReader(authorities);
  const transport = new NodeTransport({ credentials });
  const requestHeader = new RequestHeaderAuthenticator({ allowedNames: ['front-proxy-client'] });
  const app = createApp({
    local: {
      kind: 'local',
      id: localId,
      origin: `https://${addresses[localId]}`,
      serverName: peerName,
      trust: { kind: 'peer-ca' },
    },
    routingTable: await receiverHolding(row.snapshot === 'none' ? undefined : cluster),
    transport,
    authenticators: [requestHeader],
    isVerifiedPeer: (inbound) => requestHeader.isVerifiedPeer(inbound),
    inbound: nodeInbound,
  });
  const server = createRouterServer({
    fetch: app.fetch,
    tls: { cert: routerPair.chain, key: routerPair.privateKey, ...clientCertificateTlsOptions(authorities) },
    clientCertificateOf: (incoming) => certificates.read(incoming),
  });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(async () => {
    await server.close(0);
    transport.close();
  });
  return port;
}

type Ask = (port: number, row: DecisionRow) => Promise<number>;

/** With the front proxy's certificate, unless the row is about somebody who has none. */
function tlsOf(row: DecisionRow) {
  const ca = servingAuthority.certificate;
  return row.mark === 'anyone' ? { ca } : { ca, cert: frontProxy.chain, key: frontProxy.privateKey };
}

function headersOf(row: DecisionRow): Record<string, string> {
  return {
    ...(row.mark === 'anyone' ? {} : { 'x-remote-user': 'alice' }),
    ...(row.mark === undefined ? {} : { 'x-kubernetes-peer-proxied': 'true' }),
  };
}

const askHttp1: Ask = (port, row) =>
  new Promise((resolve, reject) => {
    const method = row.method ?? 'GET';
    request(
      {
        host: '127.0.0.1',
        port,
        path: row.target,
        method,
        headers: headersOf(row),
        ...tlsOf(row),
        agent: false,
      },
      (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
      },
    )
      .once('error', reject)
      .end();
  });

const askHttp2: Ask = (port, row) =>
  new Promise((resolve, reject) => {
    const session = connect(`https://127.0.0.1:${port}`, tlsOf(row));
    session.once('error', reject);
    const stream = session.request({
      ':method': row.method ?? 'GET',
      ':path': row.target,
      ...headersOf(row),
    });
    stream.once('error', reject);
    stream.once('response', (headers) => {
      stream.resume();
      stream.once('end', () => {
        session.close();
        resolve(Number(headers[':status']));
      });
    });
    stream.end();
  });

for (const [protocol, ask] of [
  ['HTTP/1.1', askHttp1],
  ['HTTP/2', askHttp2],
] as const) {
  describe(`the decision list over real TLS, ${protocol}`, () => {
    for (const row of decisionRows) {
      test(`rule ${row.name}`, async (context) => {
        const arrived: Arrived[] = [];
        const addresses = await startBackends(context, arrived);
        const port = await startRouter(context, row, addresses);
        const status = await ask(port, row);

        assert.equal(status, row.status ?? 404);
        assert.equal(arrived.length, row.decision === 'unavailable' ? 0 : 1);
        for (const { server, target } of arrived) {
          assert.equal(target, row.target, 'the target arrives byte for byte');
          if (row.decision === 'local') assert.equal(server, localId);
          if (row.decision === 'peer') assert.ok(row.candidates?.includes(server), server);
        }
      });
    }
  });
}
