import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { array, asyncProperty, assert as check, constantFrom, record, string } from 'fast-check';
import { firstHeader } from '../src/apimachinery/raw-headers.ts';
import { createApp } from '../src/app.ts';
import type { Authenticator } from '../src/identity/authenticator.ts';
import { AuthenticationError } from '../src/identity/authenticator.ts';
import { nodeInbound } from '../src/node/node-inbound.ts';
import { createRouterServer } from '../src/node/server.ts';
import { UndiciTransport } from '../src/node/undici-transport.ts';
import { createRouter } from '../src/proxy/create-router.ts';
import { createDirectLane } from '../src/proxy/direct-lane.ts';
import { askHttp1, askHttp2, http2Client } from './support/node-clients.ts';
import { credentials, peerName, routerPair, startPeer } from './support/node-exchange.ts';
import { snapshotOf } from './support/snapshot-builder.ts';
import { receiverHolding } from './support/test-app.ts';

/** Establishes whoever a header names: what is compared here are the two ways, not who is believed. */
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

test('the direct lane takes resources, spelled plainly, and leaves everything else to the handlers', () => {
  const router = createRouter({
    serverId: 'local',
    local: { kind: 'local', id: 'local', origin: 'https://a', serverName: 'a', trust: { kind: 'peer-ca' } },
    routingTable: { current: () => undefined },
    transport: { send: () => assert.fail('nothing is sent here') },
  });
  const transport = { send: () => assert.fail('nothing is sent here') };
  const { takes } = createDirectLane({ router, transport });
  for (const target of ['/api/v1/pods', '/api/v1/pods?watch=1', '/apis/apps/v1/deployments/a.b/scale']) {
    assert.equal(takes(target), true, target);
  }
  for (const target of [
    ...[
      '',
      '/',
      '*',
      '/api',
      '/api/v1',
      '/apis',
      '/apis/apps',
      '/apis/apps/v1',
      '/apis/apps/v1?x=/y',
      '/version',
    ],
    ...[
      '/livez',
      '/readyz/ping',
      '/metrics',
      '/openapi/v2',
      '/openapi/v3/apis/apps/v1',
      '/.mixed-version-proxy/v1/status',
    ],
    ...[
      '/api/v1/.mixed-version-proxy',
      '/apis/a/b/.well-known/openid-configuration',
      '/api/v1/../x',
      '/api/v1/%2e%2e/x',
    ],
    ...['//api/v1/pods', '/api//v1/pods', '/api/v1/pods/', '/api/v1/po\\ds', 'https://evil/api/v1/pods'],
  ]) {
    assert.equal(takes(target), false, target);
  }
});

describe('the direct lane and the handler chain', async () => {
  const cleanups: (() => unknown)[] = [];
  const context = { after: (cleanup: () => unknown) => cleanups.push(cleanup) } as never;
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });
  let arrived: unknown[] = [];
  const start = (id: string) =>
    startPeer(context, 'http/1.1', async (incoming, outgoing) => {
      const body = Buffer.concat(await incoming.toArray()).toString();
      arrived.push({ id, method: incoming.method, target: incoming.url, lines: incoming.rawHeaders, body });
      const status = incoming.url?.includes('missing') ? 404 : 200;
      outgoing.setHeader('Warning', ['299 - "a, b"', '299 - "c"']);
      outgoing.setHeader('Date', 'Thu, 01 Jan 2026 00:00:00 GMT');
      outgoing.writeHead(status);
      outgoing.end(`from ${id}`);
    });
  const [local, peer] = [await start('local'), await start('peer')];
  const snapshot = snapshotOf({
    local: { serves: ['v1/pods', 'apps/v1/deployments'], address: `127.0.0.1:${local.port}` },
    peer: { serves: ['v1/pods', 'batch/v1/jobs'], address: `127.0.0.1:${peer.port}` },
    lost: { serves: ['lost/v1/things'], withoutAddress: true },
  });
  const serve = async (withLane: boolean, known: boolean) => {
    const transport = new UndiciTransport({ credentials });
    const options = {
      serverId: 'local',
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
      pseudonym: 'router-under-test',
    } as const;
    const router = createRouter(options);
    const app = createApp({ ...options, router, inbound: nodeInbound });
    const server = createRouterServer({
      fetch: app.fetch,
      directLane: withLane ? createDirectLane({ router, transport }) : undefined,
      tls: { cert: routerPair.chain, key: routerPair.privateKey },
      clientCertificateOf: () => ({}),
    });
    const { port } = await server.listen(0, '127.0.0.1');
    cleanups.push(async () => {
      await server.close(0);
      transport.close();
    });
    return port;
  };

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
      ...[
        [],
        ['X-Remote-User', 'admin', 'X_Remote_Group', 'system:masters'],
        ['Via', '1.1 router-under-test'],
      ],
      ...[
        ['Connection', 'X-Test', 'X-Test', 'y'],
        ['Accept', 'a', 'Accept', 'b'],
        ['Authorization', 'Bearer t'],
      ],
    ),
  });

  for (const known of [true, false]) {
    test(`send the same bytes to the same server and give the same answer, ${known ? 'with' : 'without'} a snapshot`, async () => {
      const [lane, chain] = [await serve(true, known), await serve(false, known)];
      await check(
        asyncProperty(requests, async ({ method, resource, tail, query, user, extra }) => {
          const path = [resource, ...tail].join('/') + query;
          const body = method === 'POST' ? { body: 'x' } : {};
          const headers = [...(user === undefined ? [] : ['X-Test-User', user]), ...extra];
          const lowerCase = headers.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));
          const http2Headers = lowerCase.includes('connection') ? [] : lowerCase;
          const outcomes: unknown[] = [];
          for (const port of [lane, chain]) {
            arrived = [];
            const overHttp1 = await askHttp1(port, { method, path, headers, ...body });
            // One connection each: a 401 ends its own.
            const session = http2Client(context, port);
            const overHttp2 = await askHttp2(session, { method, path, headers: http2Headers, ...body });
            session.destroy();
            outcomes.push({ overHttp1: withoutDate(overHttp1), overHttp2: withoutDate(overHttp2), arrived });
          }
          assert.deepEqual(outcomes[0], outcomes[1]);
        }),
        { numRuns: 60 },
      );
    });
  }
});

/** Of the router's own answers; those of a server have a date that stands still. Each has an audit ID of its own. */
function withoutDate({ status, headers, body }: Awaited<ReturnType<typeof askHttp1>>) {
  const lines: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = String(headers[index]);
    const isItsOwn = /^(?:date|audit-id)$/i.test(name);
    lines.push(name, isItsOwn ? '' : String(headers[index + 1]));
  }
  return { status, lines, body: body.toString() };
}
