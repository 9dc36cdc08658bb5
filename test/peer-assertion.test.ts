import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allHeaders, toByteString } from '../src/apimachinery/raw-headers.ts';
import { createAssertionSigner } from '../src/identity/assertion/sign-assertion.ts';
import { identityLines, requestsFor, startAssertingRouters } from './support/asserting-routers.ts';
import { jane, speaker } from './support/assertions.ts';
import { ask } from './support/security/ask.ts';
import { credentialIdOf } from './support/security/certificates.ts';
import { rawHttp1 } from './support/security/raw-http1.ts';
import { protocols } from './support/security/recording-backend.ts';

const jobs = '/apis/batch/v1/namespaces/default/jobs?limit=500&labelSelector=app%3Dweb';
const header = 'Mixed-Version-Proxy-Identity';

/** A front proxy says who calls, in bytes that merging, splitting or recoding would change. */
const asserted = [
  ['X-Remote-User', toByteString('jürgen@example.com')],
  ['X-Remote-Uid', '4f8e'],
  ['X-Remote-Group', toByteString('Ärzte, Köln')],
  ['X-Remote-Group', 'a,b'],
  ['X-Remote-Group', 'a,b'],
  ['X-Remote-Extra-Example.org%2fTeam', toByteString('Größe 1, 2')],
  ['X-Remote-Extra-Example.org%2fTeam', 'second'],
] as const;
const arrives = [
  ['x-remote-user', toByteString('jürgen@example.com')],
  ['x-remote-uid', '4f8e'],
  ['x-remote-group', toByteString('Ärzte, Köln')],
  ['x-remote-group', 'a,b'],
  ['x-remote-group', 'a,b'],
  ['x-remote-group', 'system:authenticated'],
  ['x-remote-extra-example.org%2fteam', toByteString('Größe 1, 2')],
  ['x-remote-extra-example.org%2fteam', 'second'],
];

for (const protocol of protocols) {
  describe(`two routers between which there is no mutual TLS, over ${protocol}`, () => {
    it('carry an identity byte for byte to the API server, which gets it from a front proxy', async (context) => {
      const { a, b, backendOfA, backendOfB, speakerA } = await startAssertingRouters(context, { protocol });
      const answer = await ask(a.port, {
        protocol,
        client: 'frontProxy',
        path: jobs,
        headers: [...asserted.flat(), 'Authorization', 'Bearer of-the-client', header, 'of-the-client'],
      });
      assert.equal(answer.status, 200, answer.body);
      const [received, ...others] = requestsFor(backendOfB, jobs);
      assert.equal(received?.clientCertificate, 'front-proxy-client');
      assert.deepEqual(identityLines(received.headers), arrives);
      assert.deepEqual([...others, ...requestsFor(backendOfA, jobs)], []);
      const accepted = b.logLines
        .filter((line) => /^\{"level".*A peer assertion was accepted/.test(line) && line.includes('jürgen'))
        .map((line) => JSON.parse(line) as { readonly issuer: string; readonly kid: string });
      assert.deepEqual(
        accepted.map(({ issuer, kid }) => ({ issuer, kid })),
        [{ issuer: 'cp-a', kid: speakerA.kid }],
      );
    });

    it('carry a user in a thousand groups', async (context) => {
      const { a, backendOfB } = await startAssertingRouters(context, { protocol });
      const groups = Array.from({ length: 1_000 }, (_, index) => `company:department-${index}`);
      const headers = ['X-Remote-User', 'jane', ...groups.flatMap((group) => ['X-Remote-Group', group])];
      const answer = await ask(a.port, { protocol, client: 'frontProxy', path: jobs, headers });
      assert.equal(answer.status, 200, answer.body);
      const [received] = requestsFor(backendOfB, jobs);
      assert.deepEqual(allHeaders(received?.headers ?? [], 'x-remote-group'), [
        ...groups,
        'system:authenticated',
      ]);
    });

    it('carry a body, and what the API server answers', async (context) => {
      const { a, backendOfB } = await startAssertingRouters(context, { protocol });
      const path = '/apis/batch/v1/namespaces/default/jobs';
      const body = '{"kind":"Job"}';
      const answer = await ask(a.port, { protocol, client: 'alice', method: 'POST', path, body });
      assert.equal(answer.body, '{"answeredBy":"cp-b"}');
      assert.deepEqual(
        requestsFor(backendOfB, path).map((received) => received.body),
        [body],
      );
    });

    it('tell the local server by X-Remote headers all the same', async (context) => {
      const { a, backendOfA } = await startAssertingRouters(context, { protocol });
      const path = '/api/v1/namespaces/default/pods';
      await ask(a.port, { protocol, client: 'alice', path });
      const [received] = requestsFor(backendOfA, path);
      assert.equal(received?.clientCertificate, 'front-proxy-client');
      assert.deepEqual(allHeaders(received.headers, 'x-remote-user'), ['alice']);
    });
  });
}

describe('an upgrade between two routers', () => {
  it('carries the identity to the API server, and then bytes', async (context) => {
    const { a, backendOfB } = await startAssertingRouters(context);
    const client = await rawHttp1(context, a.port, 'alice');
    client.write(
      `GET ${jobs} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${header}: forged\r\n\r\n`,
    );
    await client.until((received) => received.includes('\r\n\r\n'));
    assert.match(client.received, /^HTTP\/1\.1 101 /);
    client.write('hello');
    await client.until((received) => received.includes('HELLO'));
    const [received] = requestsFor(backendOfB, jobs);
    assert.equal(received?.clientCertificate, 'front-proxy-client');
    assert.deepEqual(identityLines(received.headers), [
      ['x-remote-user', 'alice'],
      ['x-remote-group', 'dev'],
      ['x-remote-group', 'system:authenticated'],
      credentialIdOf('alice'),
    ]);
  });

  it('is refused with an assertion that was made for another path', async (context) => {
    const { b, backendOfB, speakerA } = await startAssertingRouters(context);
    const request = { user: jane, destinationId: 'cp-b', method: 'GET', target: '/api', rerouted: false };
    const { text } = await createAssertionSigner({ key: speakerA.key, issuer: 'cp-a' }).sign(request);
    const client = await rawHttp1(context, b.port);
    client.write(
      `GET ${jobs} HTTP/1.1\r\nHost: b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${header}: ${text}\r\n\r\n`,
    );
    await client.untilEnd();
    assert.deepEqual(client.statuses, [401]);
    assert.deepEqual(requestsFor(backendOfB, jobs), []);
  });
});

describe('a router that believes assertions', () => {
  it('refuses what is forged, replayed or meant for something else, tells the client nothing and the log the class', async (context) => {
    const { b, backendOfB, speakerA } = await startAssertingRouters(context);
    const request = { user: jane, destinationId: 'cp-b', method: 'GET', target: jobs, rerouted: false };
    const sign = async (changes: Partial<typeof request> = {}, by = speakerA, issuer = 'cp-a') =>
      (await createAssertionSigner({ key: by.key, issuer }).sign({ ...request, ...changes })).text;
    const once = await sign();
    const send = (...assertions: readonly string[]) =>
      ask(b.port, { path: jobs, headers: assertions.flatMap((assertion) => [header, assertion]) });
    assert.equal((await send(once)).status, 200);
    assert.equal(requestsFor(backendOfB, jobs).length, 1);

    for (const [assertions, said] of [
      [[once], 'has been used before'],
      [[await sign({}, await speaker('cp-a'))], 'is signed with a key that is not pinned here'],
      [[await sign({}, speakerA, 'cp-c')], 'names an issuer that its key does not speak for'],
      [[await sign({ destinationId: 'cp-c' })], 'is meant for another destination'],
      [[await sign({ method: 'DELETE' })], 'was made for another method or path'],
      [[await sign({ target: '/api' })], 'was made for another method or path'],
      [[await sign({ rerouted: true })], 'contradicts the reroute mark'],
      [[await sign(), await sign()], 'more than one peer assertion'],
      [['x'.repeat(62_000)], 'is larger than'],
      [['forged'], 'is not signed'],
      [[''], 'is not signed'],
    ] as const) {
      const earlier = b.logLines.length;
      const answer = await send(...assertions);
      assert.equal(answer.status, 401, said);
      const { message } = JSON.parse(answer.body) as { message: string };
      assert.ok(message.startsWith('Unauthorized: ') && message.includes(said), message);
      const logged = b.logLines.slice(earlier);
      assert.ok(
        logged.some((line) => line.includes(said)),
        `${said}: ${logged.join('')}`,
      );
    }
    assert.equal(requestsFor(backendOfB, jobs).length, 1);
  });

  it('never lets a refused one run as whoever the connection belongs to', async (context) => {
    const { b, backendOfB } = await startAssertingRouters(context);
    for (const client of ['admin', 'nobody'] as const) {
      const headers = [header, 'forged', 'Authorization', 'Bearer opaque'];
      assert.equal((await ask(b.port, { client, path: jobs, headers })).status, 401);
    }
    assert.deepEqual(requestsFor(backendOfB, jobs), []);
  });

  it('sends a request that was rerouted once no further, and lets nobody take the mark off it', async (context) => {
    const { b, backendOfA, backendOfB, speakerA } = await startAssertingRouters(context);
    // B does not serve it, and would ask A for it if the mark did not count.
    const target = '/apis/apps/v1/namespaces/default/deployments';
    const request = { user: jane, destinationId: 'cp-b', method: 'GET', target, rerouted: true };
    const signer = createAssertionSigner({ key: speakerA.key, issuer: 'cp-a' });
    const assertion = async () => [header, (await signer.sign(request)).text];
    const marked = await ask(b.port, {
      path: target,
      headers: [...(await assertion()), 'x-kubernetes-peer-proxied', 'true'],
    });
    assert.equal(marked.status, 200);
    assert.equal(requestsFor(backendOfB, target).length, 1);
    assert.equal((await ask(b.port, { path: target, headers: await assertion() })).status, 401);
    assert.equal(requestsFor(backendOfB, target).length, 1);
    assert.deepEqual(requestsFor(backendOfA, target), []);
  });
});

it('a router without pinned keys believes no assertion and passes none on', async (context) => {
  const { a, b, backendOfB } = await startAssertingRouters(context, { pinned: () => [] });
  assert.equal((await ask(a.port, { client: 'alice', path: jobs })).status, 200);
  const [received] = requestsFor(backendOfB, jobs);
  assert.ok(received);
  // What is left is a caller without any credentials.
  assert.deepEqual(identityLines(received.headers), []);
  assert.equal(received.clientCertificate, undefined);
  assert.ok(!b.logLines.some((line) => line.includes('assertion')));
});
