import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { parseAssertionKeys } from '../../src/identity/assertion/assertion-keys.ts';
import { createAssertionSigner } from '../../src/identity/assertion/sign-assertion.ts';
import { peerAssertionHeader } from '../../src/request/headers.ts';
import { generateSigningKey, signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import { ask } from '../support/security/ask.ts';
import { assertExactIdentity } from '../support/security/forged-headers.ts';
import { rawHttp1 } from '../support/security/raw-http1.ts';
import { protocols } from '../support/security/recording-backend.ts';
import { type Configure, startRouterUnderTest, targets } from '../support/security/router-under-test.ts';
import { keepSecret } from '../support/security/secrets.ts';

const trusted = await generateSigningKey('EdDSA');
const unknown = await generateSigningKey('EdDSA');
for (const { privateJwk } of [trusted, unknown]) keepSecret(String(privateJwk.d));
const keys = await parseAssertionKeys(JSON.stringify({ keys: [{ ...trusted.publicJwk, issuer: 'edge' }] }));
assert.ok(keys.ok);
const { keys: pinned } = keys;

/** A router that believes the router `edge`. */
const believesEdge: Configure = (config) => ({
  ...config,
  assertionKeys: { path: 'keys.json', text: '', pinned },
});

interface Claims {
  readonly destinationId?: string;
  readonly method?: string;
  readonly target?: string;
  readonly rerouted?: boolean;
  readonly groups?: readonly string[];
  readonly issuer?: string;
  readonly key?: typeof trusted;
  /** Milliseconds since the epoch. */
  readonly at?: number;
}

async function assertion(claims: Claims = {}): Promise<string> {
  const { destinationId = 'local', method = 'GET', target = targets.peer, rerouted = false } = claims;
  const { issuer = 'edge', key = trusted, at = Date.now(), groups = ['edge-users'] } = claims;
  const signer = createAssertionSigner({ key: signingKeyOf(key.privateJwk), issuer, clock: () => at });
  const user = { name: 'dave', uid: 'dave-uid', groups, extra: new Map() };
  const text = await signer.sign({ user, destinationId, method, target, rerouted });
  keepSecret(text);
  return text;
}

const dave = {
  client: 'nobody',
  headers: [],
  arrives: [
    ...['x-remote-user', 'dave', 'x-remote-uid', 'dave-uid', 'x-remote-group', 'edge-users'],
    ...['x-remote-group', 'system:authenticated'],
  ],
  presentsFrontProxyCertificate: true,
  authorization: [],
} as const;

for (const protocol of protocols) {
  test(`S19: an assertion over ${protocol} is believed once, and does not travel`, async (context) => {
    const router = await startRouterUnderTest(context, { configure: believesEdge });
    const headers = [peerAssertionHeader, await assertion(), 'x-remote-user', 'root'];
    const request = { protocol, path: targets.peer, headers } as const;

    assert.equal((await ask(router.port, request)).status, 200);
    assertExactIdentity(router.peer.only(), dave);
    assert.equal((await ask(router.port, request)).status, 401, 'played back');
    assert.equal(router.allRequests().length, 1);
  });

  test(`S19: a forged, foreign, old, altered or moved assertion over ${protocol} is a 401, and no server hears of it`, async (context) => {
    const router = await startRouterUnderTest(context, { configure: believesEdge });
    const good = await assertion();
    const [head = '', payload = '', signature = ''] = good.split('.');
    const unsigned = Buffer.from('{"alg":"none"}').toString('base64url');
    const hostile: Record<string, string> = {
      'no assertion at all': 'root',
      empty: '',
      'larger than any': 'x'.repeat(62_000),
      'alg none': `${unsigned}.${payload}.`,
      'an altered payload': `${head}.${payload.slice(0, -4)}AAAA.${signature}`,
      'an altered signature': `${head}.${payload}.${signature.slice(0, -4)}AAAA`,
      'another key': await assertion({ key: unknown }),
      'another issuer': await assertion({ issuer: 'other' }),
      'for another destination': await assertion({ destinationId: 'peer' }),
      'for another path': await assertion({ target: targets.local }),
      'for another query': await assertion({ target: `${targets.peer}?watch=true` }),
      'for another method': await assertion({ method: 'DELETE' }),
      'for a rerouted request': await assertion({ rerouted: true }),
      expired: await assertion({ at: Date.now() - 120_000 }),
      'not yet valid': await assertion({ at: Date.now() + 120_000 }),
    };
    for (const [what, text] of Object.entries(hostile)) {
      // Not even the caller's own good certificate makes up for it.
      for (const client of ['nobody', 'alice'] as const) {
        const headers = [peerAssertionHeader, text, 'x-remote-user', 'root'];
        const answer = await ask(router.port, { protocol, client, path: targets.peer, headers });
        assert.equal(answer.status, 401, `${what}, by ${client}`);
        // The class of the fault is for the log as well.
        const { message } = JSON.parse(answer.body) as { message: string };
        const said = message.replace('Unauthorized: ', '');
        assert.ok(
          router.logLines.some((line) => line.includes(said)),
          said,
        );
      }
    }
    assert.deepEqual(router.allRequests(), []);
  });

  test(`an assertion over ${protocol} brings a user in a thousand groups`, async (context) => {
    const router = await startRouterUnderTest(context, { configure: believesEdge });
    const groups = Array.from({ length: 1_000 }, (_, index) => `company:department-${index}`);
    const headers = [peerAssertionHeader, await assertion({ groups })];
    assert.equal((await ask(router.port, { protocol, path: targets.peer, headers })).status, 200);
    const told = allHeaders(router.peer.only().headers, 'x-remote-group');
    assert.deepEqual(told, [...groups, 'system:authenticated']);
  });
}

test('S19: an upgrade whose assertion was made for another path is refused', async (context) => {
  const router = await startRouterUnderTest(context, { configure: believesEdge });
  const raw = await rawHttp1(context, router.port);
  const lines = `Connection: Upgrade\r\nUpgrade: websocket\r\n${peerAssertionHeader}: ${await assertion({ target: '/api' })}`;
  raw.write(`GET ${targets.peer} HTTP/1.1\r\nHost: b\r\n${lines}\r\n\r\n`);
  await raw.untilEnd();
  assert.deepEqual(raw.statuses, [401]);
  assert.deepEqual(router.allRequests(), []);
});

test('S16 S19: a request that was rerouted once goes no further, and nobody takes the mark off it', async (context) => {
  const router = await startRouterUnderTest(context, { configure: believesEdge });
  // Its own server does not serve it: without the mark the peer would be asked.
  const headers = async () => [peerAssertionHeader, await assertion({ rerouted: true })];
  const marked = [...(await headers()), 'x-kubernetes-peer-proxied', 'true'];
  assert.equal((await ask(router.port, { path: targets.peer, headers: marked })).status, 200);
  assert.equal((await ask(router.port, { path: targets.peer, headers: await headers() })).status, 401);
  assert.deepEqual([router.local.requests.length, router.peer.requests.length], [1, 0]);
});

test('S19: a router that has no key pinned believes no assertion, and passes none on', async (context) => {
  const router = await startRouterUnderTest(context);
  const headers = [peerAssertionHeader, await assertion()];
  assert.equal((await ask(router.port, { path: targets.peer, headers })).status, 200);
  assertExactIdentity(router.peer.only(), { ...dave, arrives: [], presentsFrontProxyCertificate: false });
});
