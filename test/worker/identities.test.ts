// How a Worker learns who calls and tells it on, on real workerd: certificates, tokens, Access, assertions of its own, and
// the gateway form. What every runtime has to show is in test/conformance.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { PeerAssertionAuthenticator } from '../../src/identity/assertion/verify-assertion.ts';
import { peerAssertionHeader } from '../../src/request/headers.ts';
import type { ApiServerDouble, ReceivedRequest } from '../support/api-servers/api-server-double.ts';
import { pinned, speaker } from '../support/assertions.ts';
import { startWorkerCluster, verified, type WorkerCluster } from '../support/edge/worker-cluster.ts';
import { workerOf } from '../support/edge/worker-runtime.ts';
import { tokenSigner } from '../support/token-signer.ts';

const pods = '/api/v1/namespaces/default/pods';
const jobs = '/apis/batch/v1/namespaces/default/jobs?limit=5';
const team = 'https://team.example';
const audience = 'application-1';

/** The router that signs for its callers. */
const edgeKey = await speaker('edge', 'ES256');
/** Signer of an issuer of bearer tokens, and of a team of Cloudflare Access. */
const signer = await tokenSigner('team-key');
const keysPath = '/issuer/keys';

let edge: WorkerCluster;
before(async () => {
  edge = await startWorkerCluster(
    ({ local }) => ({
      TOKEN_ISSUER: team,
      TOKEN_AUDIENCE: audience,
      TOKEN_JWKS_URL: `${local.origin}${keysPath}`,
      TOKEN_USERNAME_CLAIM: 'email',
      TOKEN_GROUPS_CLAIM: 'groups',
    }),
    {
      gateway: { SERVER_ID: '', LOCAL_SERVER: '', GATEWAY: 'true' },
      asserting: {
        PEER_MTLS: '',
        ASSERTION_SIGNING_KEY: JSON.stringify(edgeKey.privateJwk),
        ASSERTION_ISSUER: 'edge',
      },
    },
  );
  const { answer } = edge.local;
  edge.local.answer = (outgoing, request) =>
    request.target === keysPath
      ? void outgoing.end(JSON.stringify({ keys: [signer.publicJwk] }))
      : answer(outgoing, request);
  const { status, body } = await edge.pushGeneration(1);
  assert.equal(status, 200, JSON.stringify(body));
});
after(() => edge.close());

function lastOf({ requests }: ApiServerDouble): ReceivedRequest {
  const request = requests.at(-1);
  assert.ok(request !== undefined);
  return request;
}

async function ask(worker: string, target: string, init: object): Promise<number> {
  const response = await (await workerOf(edge.miniflare, worker)).fetch(`http://${worker}${target}`, init);
  await response.body?.cancel();
  return response.status;
}

const email = 'jane@example.com';

async function token(changes: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return signer.sign({
    ...{ iss: team, aud: audience, email, groups: ['dev'], iat: now, exp: now + 300 },
    ...changes,
  });
}

/** As a bearer token, and as Cloudflare Access hands it on. */
const ways = {
  authorization: (text: string) => ({ authorization: `Bearer ${text}` }),
  access: (text: string) => ({ 'cf-access-jwt-assertion': text }),
};

for (const [way, by] of Object.entries(ways)) {
  test(`a token names the caller, by keys that were fetched once: ${way}`, async () => {
    for (let request = 0; request < 2; request++) {
      assert.equal(await ask('router', jobs, { headers: by(await token()) }), 200);
    }
    const { headers } = lastOf(edge.peer);
    assert.deepEqual(allHeaders(headers, 'x-remote-user'), [email]);
    assert.deepEqual(allHeaders(headers, 'x-remote-group'), ['dev', 'system:authenticated']);
    for (const name of ['authorization', 'cf-access-jwt-assertion']) {
      assert.deepEqual(allHeaders(headers, name), []);
    }
    assert.equal(edge.local.requests.filter(({ target }) => target === keysPath).length, 1);
    const before = edge.peer.requests.length;
    for (const changes of [{ aud: 'application-2' }, { exp: 1_000 }, { groups: ['system:masters'] }]) {
      assert.equal(await ask('router', jobs, { headers: by(await token(changes)) }), 401);
    }
    assert.equal(edge.peer.requests.length, before);
  });
}

test('a Host that is more than a host is refused, for workerd would take it for the beginning of the path', async () => {
  const { port } = await edge.miniflare.ready;
  const exchange = (host: string): Promise<string> => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET ${pods} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    return text(socket);
  };
  const before = edge.local.requests.length;
  for (const host of ['router/apis/batch/v1/jobs', 'user@router', 'router?a']) {
    assert.match(await exchange(host), /^HTTP\/1\.1 400 /, host);
  }
  assert.equal(edge.local.requests.length, before);
  assert.match(await exchange('ROUTER:6443'), /^HTTP\/1\.1 200 /);
});

test('what Cloudflare Access sends beside its token goes to nobody behind, and the own credentials of a caller go first', async () => {
  const access = await token();
  const plain = {
    'cf-access-authenticated-user-email': 'root@example.com',
    'cf-access-client-secret': 'secret',
    'cf-access-client-id': 'id',
    cookie: `a=1; CF_Authorization=${access}; b=2`,
  };
  assert.equal(await ask('router', pods, { headers: plain }), 200);
  const { headers } = lastOf(edge.local);
  assert.deepEqual(allHeaders(headers, 'x-remote-user'), []);
  assert.deepEqual(allHeaders(headers, 'cookie'), ['a=1; b=2']);
  assert.ok(!headers.join().includes('secret'));
  const both = { authorization: 'Bearer own', ...ways.access(access) };
  assert.equal(await ask('router', pods, { headers: both }), 200);
  const seen = lastOf(edge.local).headers;
  assert.deepEqual(allHeaders(seen, 'authorization'), ['Bearer own']);
  assert.deepEqual(allHeaders(seen, 'cf-access-jwt-assertion'), []);
});

test('a server is told the address that the platform vouches for', async () => {
  const headers = { 'cf-connecting-ip': '198.51.100.9', 'x-forwarded-for': '203.0.113.7' };
  assert.equal(await ask('router', pods, { headers, cf: { colo: 'FRA' } }), 200);
  assert.deepEqual(allHeaders(lastOf(edge.local).headers, 'x-forwarded-for'), ['203.0.113.7, 198.51.100.9']);
});

test('a destination is told by an assertion of its own, for this request alone', async () => {
  const init = { headers: { 'x-remote-user': 'root' }, ...verified('CN=jane,O=a\\, b') };
  assert.equal(await ask('asserting', jobs, init), 200);
  const { headers, clientCertificate, target } = lastOf(edge.peer);
  assert.equal(clientCertificate, undefined);
  assert.deepEqual(allHeaders(headers, 'x-remote-user'), []);
  const keys = await pinned(edgeKey);
  const request = { method: 'GET', target, rerouted: true };
  const [text = ''] = allHeaders(headers, peerAssertionHeader);
  const verifier = new PeerAssertionAuthenticator({ keys: () => keys, audience: 'peer' });
  const { user, issuer } = await verifier.verify(text, request);
  assert.deepEqual([issuer, user.name, user.groups], ['edge', 'jane', ['a, b', 'system:authenticated']]);
  const other = new PeerAssertionAuthenticator({ keys: () => keys, audience: 'local' });
  await assert.rejects(other.verify(text, request), { code: 'WrongAudience' });
});

test('a gateway takes any server that serves the resource, merges discovery, and needs none of its own', async () => {
  const before = edge.local.requests.length + edge.peer.requests.length;
  for (let request = 0; request < 4; request++) {
    assert.equal(await ask('gateway', pods, verified('CN=jane')), 200);
  }
  assert.equal(await ask('gateway', jobs, verified('CN=jane')), 200);
  assert.deepEqual(allHeaders(lastOf(edge.peer).headers, 'x-remote-user'), ['jane']);
  assert.equal(edge.local.requests.length + edge.peer.requests.length - before, 5);
  assert.equal(await ask('gateway', '/livez', {}), 200);
  assert.equal(await ask('gateway', '/apis', verified('CN=jane')), 200);
});
