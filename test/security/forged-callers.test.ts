import assert from 'node:assert/strict';
import { type ClientHttp2Session, connect } from 'node:http2';
import { test } from 'node:test';
import { allHeaders, firstHeader } from '../../src/apimachinery/raw-headers.ts';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { ask, type WireAnswer } from '../support/clients/ask.ts';
import { startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';
import { type Client, clientTls, credentialIdOf } from '../support/security/certificates.ts';
import {
  assertExactIdentity,
  configuredNames,
  forgedHttp2Headers,
  reroutedMarks,
} from '../support/security/forged-headers.ts';
import { basicPassword, bearerToken } from '../support/security/secrets.ts';

const asserted = ['x-remote-user', 'root', 'x-remote-group', 'system:masters', 'x-remote-uid', 'root-uid'];

/** Over HTTP/2 Node ends a connection with such a certificate before it reads a request, or answers: either will do. */
async function refusal(port: number, request: Parameters<typeof ask>[1]): Promise<number> {
  const answer: Pick<WireAnswer, 'status'> = await ask(port, request).catch(() => ({ status: 401 }));
  return answer.status;
}

for (const protocol of protocols) {
  for (const client of ['rogue', 'otherFrontProxy'] as const satisfies Client[]) {
    test(`S10: ${client} is refused over ${protocol}, whoever it says it speaks for`, async (context) => {
      const router = await startRouterUnderTest(context);
      for (const path of [...Object.values(targets), '/apis', '/.mixed-version-proxy/v1/snapshot']) {
        assert.equal(await refusal(router.port, { protocol, client, path, headers: asserted }), 401);
        // Credentials that mean nothing to an API server do not turn it into somebody anonymous.
        const basic = ['authorization', `Basic ${Buffer.from(`user:${basicPassword}`).toString('base64')}`];
        assert.equal(await refusal(router.port, { protocol, client, path, headers: basic }), 401);
      }
      assert.deepEqual(router.allRequests(), []);
    });
  }

  test(`S10: a user under a front proxy’s name speaks for himself only, over ${protocol}`, async (context) => {
    const router = await startRouterUnderTest(context);
    const request = { protocol, client: 'impostor', path: targets.peer, headers: asserted } as const;
    assert.equal((await ask(router.port, request)).status, 200);
    assertExactIdentity(router.peer.only(), {
      client: 'impostor',
      headers: [],
      arrives: [
        'x-remote-user',
        'front-proxy-client',
        'x-remote-group',
        'system:authenticated',
        ...credentialIdOf('impostor'),
      ],
      presentsFrontProxyCertificate: true,
      authorization: [],
    });
  });

  test(`S10: a refused certificate beside a token gives no identity over ${protocol}: the API server judges the token`, async (context) => {
    const router = await startRouterUnderTest(context);
    const headers = [...asserted, 'authorization', `Bearer ${bearerToken}`];
    const answer = await ask(router.port, {
      protocol,
      client: 'otherFrontProxy',
      path: targets.peer,
      headers,
    });
    assert.equal(answer.status, 200);
    assertExactIdentity(router.peer.only(), {
      client: 'otherFrontProxy',
      headers: [],
      arrives: [],
      presentsFrontProxyCertificate: false,
      authorization: [`Bearer ${bearerToken}`],
    });
  });

  test(`S16: marked by a verified peer over ${protocol}, a request makes no second hop and keeps its identity`, async (context) => {
    const router = await startRouterUnderTest(context);
    const headers = ['x-remote-user', 'carol', 'x-kubernetes-peer-proxied', 'true'];
    await ask(router.port, { protocol, client: 'frontProxy', path: targets.peer, headers });
    assert.deepEqual(router.peer.requests, []);
    assert.deepEqual(reroutedMarks(router.local.only()), []);
    assert.equal(firstHeader(router.local.only().headers, 'x-remote-user'), 'carol');
  });
}

test('S10: certificates that are refused do no harm to anybody else’s connection', async (context) => {
  const router = await startRouterUnderTest(context);
  const session: ClientHttp2Session = connect(`https://127.0.0.1:${router.port}`, {
    servername: 'localhost',
    ...clientTls('alice'),
  });
  context.after(() => session.destroy());
  const ended: unknown[] = [];
  session.on('error', (error) => ended.push(error)).on('goaway', () => ended.push('goaway'));

  for (let round = 0; round < 20; round++) {
    const attacks = protocols.map((protocol) => refusal(router.port, { protocol, client: 'rogue' }));
    const stream = session.request({ ':path': targets.peer });
    const status = await new Promise((resolve, reject) => {
      stream.on('response', (headers) => resolve(headers[':status'])).on('error', reject);
      stream.resume();
    });
    assert.equal(status, 200);
    await Promise.all(attacks);
  }
  assert.deepEqual(ended, []);
});

test('S6: without any authority nobody is believed, and the router’s own paths are closed', async (context) => {
  const router = await startRouterUnderTest(context, {
    flags: {
      ...configuredNames,
      'client-ca-file': undefined,
      'requestheader-client-ca-file': undefined,
      'requestheader-allowed-names': undefined,
    },
    snapshot: () => undefined,
  });
  for (const client of ['nobody', 'alice', 'admin', 'frontProxy'] as const) {
    router.local.clear();
    const request = { protocol: 'h2', client, headers: forgedHttp2Headers } as const;
    await ask(router.port, { ...request, path: targets.local });
    assertExactIdentity(router.local.only(), {
      client,
      headers: [],
      arrives: [],
      presentsFrontProxyCertificate: false,
      authorization: [],
    });
    const own = await ask(router.port, { ...request, path: '/.mixed-version-proxy/v1/snapshot' });
    assert.equal(own.status, 403);
  }
});

test('S17: the destination can tell who called, by what and from where, and a client cannot forge the last hop', async (context) => {
  const router = await startRouterUnderTest(context);
  const headers = ['x-forwarded-for', '203.0.113.7', 'via', '1.0 forged'];
  for (const client of ['alice', 'nobody'] as const) {
    router.peer.clear();
    await ask(router.port, { client, path: targets.peer, headers });
    const received = router.peer.only().headers;
    // Whatever the client said comes first; the last entry is the router's.
    assert.deepEqual(allHeaders(received, 'x-forwarded-for'), ['203.0.113.7, 127.0.0.1']);
    assert.match(allHeaders(received, 'via').at(-1) ?? '', /^1\.1 mixed-version-proxy-[0-9a-f]{16}$/);
    assert.equal(firstHeader(received, 'x-remote-user'), client === 'alice' ? 'alice' : undefined);
  }
});
