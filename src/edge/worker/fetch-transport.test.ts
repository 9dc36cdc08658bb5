import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pinned, speaker } from '../../../test/support/assertions.ts';
import { mixedCluster } from '../../../test/support/clusters/decision-rows.ts';
import { receiverHolding, userConnection } from '../../../test/support/routers/test-app.ts';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { rawHeadersOf } from '../../apimachinery/raw-headers.ts';
import { createApp } from '../../app.ts';
import type { AssertionSigner } from '../../identity/assertion/assertion-signer.ts';
import { createAssertionSigner } from '../../identity/assertion/sign-assertion.ts';
import { PeerAssertionAuthenticator } from '../../identity/assertion/verify-assertion.ts';
import { X509Authenticator } from '../../identity/x509.ts';
import { createFetchTransport, type Fetch } from '../../request/fetch-transport.ts';
import { type InboundRequest, inboundFromRequest } from '../../request/inbound.ts';
import { WorkerInboundRequest } from '../platform/worker-inbound.ts';

const edge = await speaker('edge');
const signer = createAssertionSigner({ key: edge.key, issuer: 'edge' });
const target = '/apis/batch/v1/namespaces/default/jobs?limit=500&fieldSelector=a%3Db';

/** An edge router without any client certificate. */
async function edgeApp(assertionSigner: AssertionSigner | undefined, fetch: Fetch) {
  return createApp({
    local: {
      kind: 'local',
      id: 'local',
      origin: 'https://local.example',
      serverName: 'local.example',
      trust: { kind: 'peer-ca' },
    },
    routingTable: await receiverHolding(mixedCluster),
    authenticators: [new X509Authenticator()],
    inbound: (request) => inboundFromRequest(request, userConnection('jane', ['a, b'])),
    assertionSigner,
    transport: createFetchTransport({ fetch }),
  });
}

/** The requests that the router fetched, and its own response. */
async function throughTheEdge(assertionSigner: AssertionSigner | undefined) {
  const fetched: Request[] = [];
  const app = await edgeApp(assertionSigner, async (request) => {
    fetched.push(request);
    return Response.json({});
  });
  return { response: await app.request(`https://edge.example${target}`), fetched };
}

test('what an edge router fetches is believed by the router that it fetches from', async () => {
  const { response, fetched } = await throughTheEdge(signer);
  assert.equal(response.status, 200);
  const [request] = fetched;
  assert.ok(request);
  const url = new URL(request.url);
  const destination = mixedCluster.servers.find(({ address }) => address === url.host);
  const keys = await pinned(edge);
  const authenticator = new PeerAssertionAuthenticator({ keys: () => keys, audience: destination?.id ?? '' });
  const caller = await authenticator.authenticate({
    ...inboundFromRequest(request),
    target: `${url.pathname}${url.search}`,
    headers: rawHeadersOf(request.headers),
  });
  assert.ok(caller?.kind === 'authenticated');
  assert.equal(caller.user.name, 'jane');
  assert.deepEqual(caller.user.groups, ['a, b', 'system:authenticated']);
});

test('without a signer and without a certificate nothing is fetched', async () => {
  const { response, fetched } = await throughTheEdge(undefined);
  assert.equal(response.status, 500);
  assert.deepEqual(fetched, []);
});

for (const { path, isCut } of [
  { path: '/api/v1/pods', isCut: true },
  { path: '/api/v1/pods?watch=true', isCut: false },
  { path: '/api/v1/namespaces/a/pods/b/log?follow=true', isCut: false },
]) {
  test(`a server that is silent for long before the head of ${path} ${isCut ? 'is given up' : 'is waited for'}`, async (context) => {
    const fetched = Promise.withResolvers<AbortSignal>();
    const answer = Promise.withResolvers<Response>();
    const app = await edgeApp(signer, async ({ signal }) => {
      signal.addEventListener('abort', () => answer.reject(signal.reason));
      fetched.resolve(signal);
      return answer.promise;
    });
    // Not before: a snapshot is read in slices of time.
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const response = app.request(`https://edge.example${path}`);
    const signal = await fetched.promise;
    context.mock.timers.tick(3_600_000);
    answer.resolve(new Response('late'));
    const { status } = await response;
    assert.deepEqual([signal.aborted, status], isCut ? [true, 503] : [false, 200]);
  });
}

const twoServers = snapshotOf({ a: ['v1/pods'], b: ['v1/pods'] });

/** A gateway of two servers, and the hosts that it has asked. */
async function gateway(respond: (request: Request, host: string) => Response | Promise<Response>) {
  const asked: string[] = [];
  const app = createApp({
    routingTable: await receiverHolding(twoServers),
    inbound: (request) =>
      request instanceof OddRequest ? request.inbound : new WorkerInboundRequest(request, {}),
    random: () => 0,
    transport: createFetchTransport({
      fetch: async (request) => {
        const { host } = new URL(request.url);
        asked.push(host);
        return respond(request, host);
      },
    }),
  });
  return { app, asked };
}

const pods = 'https://edge.example/api/v1/namespaces/d/pods';

/** A request that a web `Request` cannot be, and that a runtime hands over all the same. */
class OddRequest extends Request {
  readonly inbound: InboundRequest;
  constructor(odd: Partial<InboundRequest>) {
    super(pods);
    this.inbound = { ...inboundFromRequest(this), ...odd };
  }
}

for (const [what, odd] of [
  ['content of a GET', { body: () => new ReadableStream() }],
  ['a method that fetch refuses', { method: 'TRACE' }],
  ['a path that fetch would write in another way', { target: '/api/v1/namespaces/d/pods/a^b' }],
] as const) {
  test(`${what} is refused with a 400 that says so, and no server is avoided for it`, async () => {
    const { app, asked } = await gateway((_request, host) => new Response(host));
    const before = await (await app.request(pods)).text();
    const refused = await app.request(new OddRequest(odd));
    assert.equal(refused.status, 400);
    assert.match(await refused.text(), /runs on a runtime whose fetch/);
    assert.equal(await (await app.request(pods)).text(), before);
    assert.deepEqual(asked, [before, before]);
  });
}

for (const status of [521, 523, 525, 526, 530]) {
  test(`a write for which the platform found no server (${status}) goes to another one, with its content`, async () => {
    const { app, asked } = await gateway(async (request, host) =>
      host === asked[0]
        ? new Response('error', { status, headers: { server: 'cloudflare' } })
        : new Response(await request.text()),
    );
    const headers = { 'content-length': '2' };
    const response = await app.request(pods, { method: 'POST', body: '{}', headers });
    assert.deepEqual([response.status, await response.text(), asked.length], [200, '{}', 2]);
  });
}

test('such a code of an API server, or of an application behind it, is its response', async () => {
  const headers = { server: 'cloudflare', 'audit-id': 'a' };
  const { app, asked } = await gateway(() => new Response('teapot', { status: 521, headers }));
  assert.deepEqual([(await app.request(pods)).status, asked.length], [521, 1]);
});

for (const [message, tries] of [
  ['ProxyError: connection_refused', 2],
  ['Network connection lost.', 1],
] as const) {
  test(`a write that fails with ${message} is tried ${tries === 1 ? 'once' : 'at another server'}`, async () => {
    const { app, asked } = await gateway(() => {
      throw new Error(message);
    });
    const headers = { 'content-length': '2' };
    const response = await app.request(pods, { method: 'POST', body: '{}', headers });
    // client-go repeats it only when it is told to.
    const retryAfter = response.headers.get('retry-after');
    assert.deepEqual([response.status, asked.length, retryAfter], [503, tries, tries === 1 ? null : '1']);
  });
}

for (const [what, error, isAvoided] of [
  ['the server breaks off', new Error('Network connection lost.'), true],
  ['the Worker may send no further request', new Error('Too many subrequests.'), false],
] as const) {
  test(`when ${what}, the next request ${isAvoided ? 'goes to another' : 'is sent as before'}`, async () => {
    let fails = true;
    const { app, asked } = await gateway((_request, host) => {
      if (fails) throw error;
      return new Response(host);
    });
    await app.request(pods, { method: 'POST' });
    fails = false;
    const then = await (await app.request(pods)).text();
    assert.equal(then !== asked[0], isAvoided);
  });
}

test('content that its client breaks off is no news of the server', async () => {
  const { app, asked } = await gateway(async (request, host) => {
    await request.text();
    return new Response(host);
  });
  const brokenOff = () => new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) });
  for (const headers of [{ 'content-length': '10' }, { 'content-length': '1000000' }]) {
    const init: RequestInit = { method: 'POST', body: brokenOff(), headers, duplex: 'half' };
    assert.equal((await app.request(pods, init)).status, 503);
  }
  const [first] = asked;
  assert.equal(asked.length, 1);
  assert.equal(await (await app.request(pods)).text(), first);
});
