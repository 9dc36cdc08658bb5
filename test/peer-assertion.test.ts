import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { allHeaders, toByteString } from '../src/apimachinery/raw-headers.ts';
import type { AssertionRequest } from '../src/identity/assertion/assertion-signer.ts';
import { createAssertionSigner } from '../src/identity/assertion/sign-assertion.ts';
import type { UserInfo } from '../src/request/user-info.ts';
import { assertionKeysFile, jane, type Speaker, speaker } from './support/assertions.ts';
import { ask } from './support/security/ask.ts';
import { rawHttp1 } from './support/security/raw-http1.ts';
import {
  type Protocol,
  protocols,
  type ReceivedRequest,
  type RecordingBackend,
  startRecordingBackend,
} from './support/security/recording-backend.ts';
import { pushSnapshot, startOne } from './support/security/router-under-test.ts';
import { keepSecret } from './support/security/secrets.ts';
import { snapshotOf } from './support/snapshot-builder.ts';

interface BelievingRouter {
  readonly port: number;
  /** What it logged, at its most talkative; searched for secrets at the end. */
  readonly logLines: readonly string[];
  /** Its own API server, `cp-b`: pods and jobs. */
  readonly local: RecordingBackend;
  /** Another API server, `cp-a`: pods and deployments. */
  readonly peer: RecordingBackend;
  /** The edge router, whose key is pinned. */
  readonly edge: Speaker;
  /** An assertion of it. Default: Jane gets jobs of `cp-b`, and the request bears no reroute mark. */
  sign(changes?: Partial<AssertionRequest>, by?: Speaker): Promise<string>;
}

const jobs = '/apis/batch/v1/namespaces/default/jobs?limit=500&labelSelector=app%3Dweb';

/** A router by its flags, which has pinned the key of an edge router. */
async function startBelievingRouter(
  context: TestContext,
  protocol: Protocol = 'http/1.1',
  { pins = true } = {},
): Promise<BelievingRouter> {
  const edge = await speaker('edge');
  keepSecret(String(edge.privateJwk.d));
  const local = await startRecordingBackend(context, 'cp-b', { protocol });
  const peer = await startRecordingBackend(context, 'cp-a', { protocol });
  const logLines: string[] = [];
  const port = await startOne(
    context,
    logLines,
    {
      'server-id': ['cp-b'],
      'local-server': [local.origin],
      ...(pins ? { 'assertion-keys': ['routers.json'] } : {}),
    },
    { 'routers.json': assertionKeysFile([edge]) },
  );
  const snapshot = snapshotOf({
    'cp-a': { serves: ['v1/pods', 'apps/v1/deployments'], address: new URL(peer.origin).host },
    'cp-b': { serves: ['v1/pods', 'batch/v1/jobs'], address: new URL(local.origin).host },
  });
  assert.equal((await pushSnapshot(port, snapshot)).status, 200);
  const request: AssertionRequest = {
    user: jane,
    destinationId: 'cp-b',
    method: 'GET',
    target: jobs,
    rerouted: false,
  };
  return {
    port,
    logLines,
    local,
    peer,
    edge,
    sign: (changes = {}, { key, issuer } = edge) =>
      createAssertionSigner({ key, issuer }).sign({ ...request, ...changes }),
  };
}

/** What an API server was asked at `target`. The router asks for documents of its own besides. */
function requestsFor(backend: RecordingBackend, target: string): ReceivedRequest[] {
  return backend.requests.filter((request) => request.target === target);
}

/** The identity lines of a request, names in lower case, in order. */
function identityLines(headers: readonly string[]): string[][] {
  const lines: string[][] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    if (/^(x-remote-|authorization$|mixed-version-proxy-)/i.test(name))
      lines.push([name.toLowerCase(), value]);
  }
  return lines;
}

const deployments = '/apis/apps/v1/namespaces/default/deployments';
const header = 'Mixed-Version-Proxy-Identity';

/** Of text that merging, splitting or recoding would change. */
const juergen: UserInfo = {
  name: 'jürgen@example.com',
  uid: '4f8e',
  groups: ['Ärzte, Köln', 'a,b', 'a,b'],
  extra: new Map([['example.org/team', ['Größe 1, 2', 'second']]]),
};
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
  describe(`an edge router's assertion, over ${protocol}`, () => {
    it('brings an identity byte for byte to local server and peer, which get it from a front proxy', async (context) => {
      const { port, local, peer, edge, logLines, sign } = await startBelievingRouter(context, protocol);
      for (const [target, backend, other] of [
        [jobs, local, peer],
        [deployments, peer, local],
      ] as const) {
        const assertion = await sign({ user: juergen, target });
        const answer = await ask(port, {
          protocol,
          path: target,
          headers: [header, assertion, 'X-Remote-User', 'root', 'Authorization', 'Bearer of-the-client'],
        });
        assert.equal(answer.status, 200, answer.body);
        const [received, ...others] = requestsFor(backend, target);
        assert.equal(received?.clientCertificate, 'front-proxy-client');
        assert.deepEqual(identityLines(received.headers), arrives);
        assert.deepEqual([...others, ...requestsFor(other, target)], []);
      }
      const accepted = logLines
        .filter((line) => /^\{"level".*A peer assertion was accepted/.test(line) && line.includes('jürgen'))
        .map((line) => JSON.parse(line) as { readonly issuer: string; readonly kid: string });
      assert.deepEqual(
        accepted.map(({ issuer, kid }) => ({ issuer, kid })),
        [1, 2].map(() => ({ issuer: 'edge', kid: edge.kid })),
      );
    });

    it('brings a user in a thousand groups', async (context) => {
      const { port, local, sign } = await startBelievingRouter(context, protocol);
      const groups = Array.from({ length: 1_000 }, (_, index) => `company:department-${index}`);
      const assertion = await sign({ user: { ...juergen, groups } });
      const answer = await ask(port, { protocol, path: jobs, headers: [header, assertion] });
      assert.equal(answer.status, 200, answer.body);
      const [received] = requestsFor(local, jobs);
      assert.deepEqual(allHeaders(received?.headers ?? [], 'x-remote-group'), [
        ...groups,
        'system:authenticated',
      ]);
    });

    it('goes with a body, and with what the API server answers', async (context) => {
      const { port, local, sign } = await startBelievingRouter(context, protocol);
      const target = '/apis/batch/v1/namespaces/default/jobs';
      const body = '{"kind":"Job"}';
      const headers = [header, await sign({ method: 'POST', target })];
      const answer = await ask(port, { protocol, method: 'POST', path: target, headers, body });
      assert.equal(answer.body, '{"answeredBy":"cp-b"}');
      assert.deepEqual(
        requestsFor(local, target).map((received) => received.body),
        [body],
      );
    });
  });
}

describe('an upgrade with an assertion', () => {
  const upgradeWith = (assertion: string) =>
    `GET ${jobs} HTTP/1.1\r\nHost: b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${header}: ${assertion}\r\n\r\n`;

  it('carries the identity to the API server, and then bytes', async (context) => {
    const { port, local, sign } = await startBelievingRouter(context);
    const client = await rawHttp1(context, port);
    client.write(upgradeWith(await sign({ user: juergen })));
    await client.until((received) => received.includes('\r\n\r\n'));
    assert.match(client.received, /^HTTP\/1\.1 101 /);
    client.write('hello');
    await client.until((received) => received.includes('HELLO'));
    const [received] = requestsFor(local, jobs);
    assert.equal(received?.clientCertificate, 'front-proxy-client');
    assert.deepEqual(identityLines(received.headers), arrives);
  });

  it('is refused when it was made for another path', async (context) => {
    const { port, local, sign } = await startBelievingRouter(context);
    const client = await rawHttp1(context, port);
    client.write(upgradeWith(await sign({ target: '/api' })));
    await client.untilEnd();
    assert.deepEqual(client.statuses, [401]);
    assert.deepEqual(requestsFor(local, jobs), []);
  });
});

describe('a router that believes assertions', () => {
  it('refuses what is forged, replayed or meant for something else, tells the client nothing and the log the class', async (context) => {
    const { port, local, edge, logLines, sign } = await startBelievingRouter(context);
    const once = await sign();
    const send = (...assertions: readonly string[]) =>
      ask(port, { path: jobs, headers: assertions.flatMap((assertion) => [header, assertion]) });
    assert.equal((await send(once)).status, 200);
    assert.equal(requestsFor(local, jobs).length, 1);

    for (const [assertions, said] of [
      [[once], 'has been used before'],
      [[await sign({}, await speaker('edge'))], 'is signed with a key that is not pinned here'],
      [[await sign({}, { ...edge, issuer: 'other' })], 'names an issuer that its key does not speak for'],
      [[await sign({ destinationId: 'cp-c' })], 'is meant for another destination'],
      [[await sign({ method: 'DELETE' })], 'was made for another method or path'],
      [[await sign({ target: '/api' })], 'was made for another method or path'],
      [[await sign({ rerouted: true })], 'contradicts the reroute mark'],
      [[await sign(), await sign()], 'more than one peer assertion'],
      [['x'.repeat(62_000)], 'is larger than'],
      [['forged'], 'is not signed'],
      [[''], 'is not signed'],
    ] as const) {
      const earlier = logLines.length;
      const answer = await send(...assertions);
      assert.equal(answer.status, 401, said);
      const { message } = JSON.parse(answer.body) as { message: string };
      assert.ok(message.startsWith('Unauthorized: ') && message.includes(said), message);
      const logged = logLines.slice(earlier);
      assert.ok(
        logged.some((line) => line.includes(said)),
        `${said}: ${logged.join('')}`,
      );
    }
    assert.equal(requestsFor(local, jobs).length, 1);
  });

  it('never lets a refused one run as whoever the connection belongs to', async (context) => {
    const { port, local } = await startBelievingRouter(context);
    for (const client of ['admin', 'nobody'] as const) {
      const headers = [header, 'forged', 'Authorization', 'Bearer opaque'];
      assert.equal((await ask(port, { client, path: jobs, headers })).status, 401);
    }
    assert.deepEqual(requestsFor(local, jobs), []);
  });

  it('sends a request that was rerouted once no further, and lets nobody take the mark off it', async (context) => {
    const { port, local, peer, sign } = await startBelievingRouter(context);
    // Its own server does not serve it: without the mark the peer would be asked.
    const assertion = async () => [header, await sign({ target: deployments, rerouted: true })];
    const marked = await ask(port, {
      path: deployments,
      headers: [...(await assertion()), 'x-kubernetes-peer-proxied', 'true'],
    });
    assert.equal(marked.status, 200);
    assert.equal(requestsFor(local, deployments).length, 1);
    assert.equal((await ask(port, { path: deployments, headers: await assertion() })).status, 401);
    assert.equal(requestsFor(local, deployments).length, 1);
    assert.deepEqual(requestsFor(peer, deployments), []);
  });
});

it('a router without pinned keys believes no assertion and passes none on', async (context) => {
  const { port, local, logLines, sign } = await startBelievingRouter(context, 'http/1.1', { pins: false });
  assert.equal((await ask(port, { path: jobs, headers: [header, await sign()] })).status, 200);
  const [received] = requestsFor(local, jobs);
  assert.ok(received);
  // What is left is a caller without any credentials.
  assert.deepEqual(identityLines(received.headers), []);
  assert.equal(received.clientCertificate, undefined);
  assert.ok(!logLines.some((line) => line.includes('assertion')));
});
