import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { parseAssertionKeys } from '../../src/identity/assertion/assertion-keys.ts';
import { createAssertionSigner } from '../../src/identity/assertion/sign-assertion.ts';
import { peerAssertionHeader } from '../../src/request/headers.ts';
import { generateSigningKey, signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { ask } from '../support/clients/ask.ts';
import { rawHttp1 } from '../support/clients/raw-http1.ts';
import { type Configure, startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';
import { assertExactIdentity } from '../support/security/forged-headers.ts';
import { keepSecret } from '../support/security/secrets.ts';

const trusted = await generateSigningKey('EdDSA');
keepSecret(String(trusted.privateJwk.d));
const keys = await parseAssertionKeys(JSON.stringify({ keys: [{ ...trusted.publicJwk, issuer: 'edge' }] }));
assert.ok(keys.ok);
const { keys: assertionKeys } = keys;

/** A router that believes the router `edge`. */
const believesEdge: Configure = (config) => ({ ...config, assertionKeys });

async function assertion(target: string = targets.peer, groups: readonly string[] = []): Promise<string> {
  const signer = createAssertionSigner({ key: signingKeyOf(trusted.privateJwk), issuer: 'edge' });
  const user = { name: 'dave', uid: 'dave-uid', groups, extra: new Map() };
  const text = await signer.sign({
    user,
    destinationId: 'local',
    method: 'GET',
    target,
    rerouted: false,
  });
  keepSecret(text);
  return text;
}

// Assertions that are believed once, and those that are refused: test/conformance/cases/assertions.ts, on Node over
// both protocols.

for (const protocol of protocols) {
  test(`an assertion over ${protocol} brings a user in a thousand groups`, async (context) => {
    const router = await startRouterUnderTest(context, { configure: believesEdge });
    const groups = Array.from({ length: 1_000 }, (_, index) => `company:department-${index}`);
    const headers = [peerAssertionHeader, await assertion(targets.peer, groups)];
    assert.equal((await ask(router.port, { protocol, path: targets.peer, headers })).status, 200);
    const told = allHeaders(router.peer.only().headers, 'x-remote-group');
    assert.deepEqual(told, [...groups, 'system:authenticated']);
  });
}

test('S19: an upgrade whose assertion was made for another path is refused', async (context) => {
  const router = await startRouterUnderTest(context, { configure: believesEdge });
  const raw = await rawHttp1(context, router.port);
  const lines = `Connection: Upgrade\r\nUpgrade: websocket\r\n${peerAssertionHeader}: ${await assertion('/api')}`;
  raw.write(`GET ${targets.peer} HTTP/1.1\r\nHost: b\r\n${lines}\r\n\r\n`);
  await raw.untilEnd();
  assert.deepEqual(raw.statuses, [401]);
  assert.deepEqual(router.allRequests(), []);
  // The fault of the assertion is for the log as well.
  assert.ok(router.logLines.some((line) => line.includes('the peer assertion')));
});

test('S19: a router that has no key pinned believes no assertion, and passes none on', async (context) => {
  const router = await startRouterUnderTest(context);
  const headers = [peerAssertionHeader, await assertion()];
  assert.equal((await ask(router.port, { path: targets.peer, headers })).status, 200);
  assertExactIdentity(router.peer.only(), {
    client: 'nobody',
    headers: [],
    arrives: [],
    presentsFrontProxyCertificate: false,
    authorization: [],
  });
});
