// Every request passes the Hono app once, whatever its protocol, and meets the same router there.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { array, asyncProperty, assert as check, constantFrom, record, string } from 'fast-check';
import { firstHeader } from '../src/apimachinery/raw-headers.ts';
import { createApp } from '../src/app.ts';
import { AuthenticationError, type Authenticator } from '../src/identity/authenticator.ts';
import { NodeTransport } from '../src/node/destinations/node-transport.ts';
import { nodeInbound } from '../src/node/exchange/node-inbound.ts';
import { Http2Inbound } from '../src/node/serving/http2-server.ts';
import { createRouterServer } from '../src/node/serving/server.ts';
import type { RequestObserver } from '../src/request/inbound.ts';
import type { Transport } from '../src/request/transport.ts';
import { credentials, peerName, routerPair, startPeer } from './support/api-servers/node-exchange.ts';
import { askHttp1, askHttp2, http2Client } from './support/clients/node-clients.ts';
import { receiverHolding } from './support/routers/test-app.ts';
import { snapshotOf } from './support/snapshots/snapshot-builder.ts';

/** Establishes whoever a header names: who is believed is tested elsewhere. */
const byName: Authenticator = {
  name: 'by-name',
  authenticate: ({ headers }) => {
    const name = firstHeader(headers, 'x-test-user');
    if (name === undefined) return undefined;
    if (name === 'nobody') throw new AuthenticationError('this one is not let in');
    const user = { name, uid: '', groups: ['a,b', 'c'], extra: new Map([['k', ['v']]]) };
    return { kind: 'authenticated', user, authenticator: 'by-name', viaVerifiedPeer: false };
  },
};

describe('one way through', async () => {
  const cleanups: (() => unknown)[] = [];
  const context = { after: (cleanup: () => unknown) => cleanups.push(cleanup) } as never;
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });
  let arrived: unknown[] = [];
  const start = (id: string) =>
    startPeer(context, 'http/1.1', async (incoming, outgoing) => {
      const body = Buffer.concat(await incoming.toArray()).toString();
      const lines = incoming.rawHeaders.filter((_line, index, all) => !/^host$/i.test(all[index & ~1] ?? ''));
      arrived.push({ id, method: incoming.method, target: incoming.url, lines, body });
      outgoing.setHeader('Date', 'Thu, 01 Jan 2026 00:00:00 GMT');
      outgoing.writeHead(incoming.url?.includes('missing') ? 404 : 200);
      outgoing.end(`from ${id}`);
    });
  const [local, peer] = [await start('local'), await start('peer')];
  const snapshot = snapshotOf({
    local: { serves: ['v1/pods', 'apps/v1/deployments'], address: `127.0.0.1:${local.port}` },
    peer: { serves: ['v1/pods', 'batch/v1/jobs'], address: `127.0.0.1:${peer.port}` },
    lost: { serves: ['lost/v1/things'], withoutAddress: true },
  });
  const counts = { http2: 0, app: 0, answered: 0, sent: 0 };
  const observer: RequestObserver = {
    responded: () => void counts.answered++,
  };
  const nodeTransport = new NodeTransport({ credentials });
  const transport: Transport = {
    send(...args) {
      counts.sent++;
      return nodeTransport.send(...args);
    },
  };
  const serve = async (known: boolean) => {
    const app = createApp({
      local: {
        kind: 'local',
        id: 'local',
        origin: `https://127.0.0.1:${local.port}`,
        serverName: peerName,
        trust: { kind: 'peer-ca' },
      },
      routingTable: await receiverHolding(known ? snapshot : undefined),
      transport,
      authenticators: [byName],
      observers: [observer],
      pseudonym: 'router-under-test',
      inbound: nodeInbound,
    });
    const server = createRouterServer({
      fetch(request, bindings) {
        counts.app++;
        // Made for each request that the adapter hands over, and nowhere else (`chokepoints.test.ts`).
        if (bindings.inbound instanceof Http2Inbound) counts.http2++;
        return app.fetch(request, bindings);
      },
      tls: { cert: routerPair.chain, key: routerPair.privateKey },
      clientCertificateOf: () => ({}),
    });
    const { port } = await server.listen(0, '127.0.0.1');
    cleanups.push(() => server.close(0));
    return port;
  };
  cleanups.push(() => nodeTransport.close());

  const askers = {
    'HTTP/1.1': askHttp1,
    'HTTP/2': async (port: number, request: Parameters<typeof askHttp1>[1]) => {
      // One connection each: a 401 ends its own.
      const session = http2Client(context, port);
      const answer = await askHttp2(session, request);
      session.destroy();
      return answer;
    },
  };

  for (const [protocol, ask] of Object.entries(askers)) {
    test(`a request by ${protocol} passes its adapter and the app once, is observed once, and one for a server is sent once`, async () => {
      const port = await serve(true);
      for (const [request, sent] of [
        [{ path: '/api/v1/pods' }, 1],
        [{ path: '/apis/batch/v1/jobs', method: 'HEAD' }, 1],
        [{ path: '/api/v1/pods', method: 'POST', body: 'x' }, 1],
        [{ path: '/api/v1/po%64s' }, 1],
        [{ path: '/version' }, 1],
        [{ path: '/apis' }, 1],
        [{ path: '/apis/lost/v1/things' }, 0],
        [{ path: '/api/v1/../x' }, 0],
        [{ path: '*', method: 'OPTIONS' }, 0],
        [{ path: '/livez' }, 0],
        // Both servers are asked whether the caller may, and neither says.
        [{ path: '/.mixed-version-proxy/v1/status' }, 2],
      ] as const) {
        Object.assign(counts, { http2: 0, app: 0, answered: 0, sent: 0 });
        await ask(port, request);
        const http2 = protocol === 'HTTP/2' ? 1 : 0;
        assert.deepEqual(counts, { http2, app: 1, answered: 1, sent }, JSON.stringify(request));
      }
    });
  }

  const segment = string({ minLength: 1, maxLength: 3, unit: constantFrom(...'ab.~%/\\2eF;:@') });
  const requests = record({
    method: constantFrom('GET', 'HEAD', 'DELETE', 'POST'),
    resource: constantFrom(
      ...['/api/v1/pods', '/apis/apps/v1/deployments', '/apis/batch/v1/jobs', '/apis/lost/v1/things'],
      ...['/apis/none/v1/missing', '/api/v1/watch', '/api/v1/watch/pods', '/api/v1/namespaces/n/pods'],
    ),
    tail: array(segment, { maxLength: 2 }),
    query: constantFrom('', '?', '?a=%2F;b&a=c', '?limit=x', '?x=/../y'),
    user: constantFrom(undefined, 'alice', 'nobody'),
    extra: constantFrom(
      [],
      ['x-remote-user', 'admin', 'x_remote_group', 'system:masters'],
      ['via', '1.1 router-under-test'],
      ['accept', 'a', 'accept', 'b'],
      ['authorization', 'Bearer t'],
    ),
  });
  for (const known of [true, false]) {
    test(`the same request by both protocols reaches the same server with the same bytes, ${known ? 'with' : 'without'} a snapshot`, async () => {
      const port = await serve(known);
      await check(
        asyncProperty(requests, async ({ method, resource, tail, query, user, extra }) => {
          const path = [resource, ...tail].join('/') + query;
          const body = method === 'POST' ? { body: 'x' } : {};
          const headers = [...(user === undefined ? [] : ['x-test-user', user]), ...extra];
          const outcomes: unknown[] = [];
          for (const ask of Object.values(askers)) {
            arrived = [];
            const answer = await ask(port, { method, path, headers, ...body });
            const served = arrived.map((request) => withoutProtocol(request as ServedRequest));
            outcomes.push({ status: answer.status, body: answer.body.toString(), served });
          }
          assert.deepEqual(outcomes[0], outcomes[1]);
        }),
        { numRuns: 60 },
      );
    });
  }
});

interface ServedRequest {
  readonly lines: readonly string[];
}

/** Framing is each connection's own, and the names of the lines are written as each protocol has them. */
function withoutProtocol(request: ServedRequest): ServedRequest {
  const lines: string[] = [];
  for (let index = 0; index + 1 < request.lines.length; index += 2) {
    const name = (request.lines[index] ?? '').toLowerCase();
    const value = request.lines[index + 1] ?? '';
    if (/^(?:connection|content-length|transfer-encoding|keep-alive)$/.test(name)) continue;
    lines.push(name, name === 'via' ? value.replace(/^[\d.]+/, '') : value);
  }
  return { ...request, lines };
}
