import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pinned, speaker } from '../../../test/support/assertions.ts';
import { mixedCluster } from '../../../test/support/decision-rows.ts';
import { receiverHolding, userConnection } from '../../../test/support/test-app.ts';
import { rawHeadersOf } from '../../apimachinery/raw-headers.ts';
import { createApp } from '../../app.ts';
import type { AssertionSigner } from '../../identity/assertion/assertion-signer.ts';
import { createAssertionSigner } from '../../identity/assertion/sign-assertion.ts';
import { PeerAssertionAuthenticator } from '../../identity/assertion/verify-assertion.ts';
import { X509Authenticator } from '../../identity/x509.ts';
import { inboundFromRequest } from '../../request/inbound.ts';
import { createFetchSender, createFetchTransport, type Fetch } from './fetch-transport.ts';

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
    transport: createFetchTransport(createFetchSender({ fetch })),
  });
}

/** What it fetched, and its own response. */
async function throughTheEdge(assertionSigner: AssertionSigner | undefined) {
  const fetched: Request[] = [];
  const app = await edgeApp(assertionSigner, async (url, init) => {
    fetched.push(new Request(url, init));
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
  assert.equal(response.status, 503);
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
    const app = await edgeApp(signer, async (_url, { signal }) => {
      if (!(signal instanceof AbortSignal)) throw new Error('there is no signal');
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
