import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { localId, mixedCluster } from '../../test/support/clusters/decision-rows.ts';
import { recordingTransport } from '../../test/support/routers/recording-transport.ts';
import {
  frontProxyConnection,
  type TestAppOptions,
  testApp,
  userConnection,
} from '../../test/support/routers/test-app.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { TransportError } from '../request/destination.ts';
import { inboundFromRequest } from '../request/inbound.ts';
import { ServerBook } from '../servers/server-book.ts';
import type { ProbeOutcome } from '../servers/server-states.ts';
import { shuttingDownStatus } from './judge-response.ts';
import { ServerLoad } from './server-choice.ts';

/** URLs of `mixedCluster`: jobs are served by peers alone, pods by everybody. */
const jobs = 'https://router.example/apis/batch/v1/namespaces/default/jobs';
const pods = 'https://router.example/api/v1/namespaces/default/pods';

/** As kube-apiserver 1.31 and 1.36 respond while they end. */
const shuttingDownHead = {
  'cache-control': 'no-cache, private',
  'content-type': 'application/json',
  'retry-after': '1',
  'x-content-type-options': 'nosniff',
  'content-length': '150',
};
const shuttingDown = () => new Response(shuttingDownStatus, { status: 503, headers: shuttingDownHead });

/**
 * The app before servers that refuse.
 * @param refuses whether the n-th server that is asked does, counted from 0
 * @param refusal what it responds with then
 */
async function startWithRefusals(
  refuses: (attempt: number) => boolean,
  refusal: () => Response,
  snapshot = mixedCluster,
  options: Pick<TestAppOptions, 'health'> = {},
) {
  let attempts = 0;
  const transport = recordingTransport(({ destination }) =>
    refuses(attempts++) ? refusal() : Response.json({ answeredBy: destination.id }),
  );
  return testApp({ snapshot, transport, connection: userConnection('alice', ['dev']), ...options });
}

/** The first server refuses, and another one responds. */
async function assertAnotherResponds(method: string, url: string, refusal: () => Response): Promise<void> {
  const { app, transport } = await startWithRefusals((attempt) => attempt === 0, refusal);
  assert.equal((await app.request(url, { method })).status, 200, `${method} ${url}`);
  const [first, second] = transport.sent;
  assert.equal(transport.sent.length, 2);
  assert.notEqual(first?.destination.id, second?.destination.id);
}

/** The word of a peer's router while its API server is down (RFC 9209). */
const destinationUnavailable = 'mixed-version-proxy; error=destination_unavailable';
const refusing = (
  headers: Record<string, string> = { 'proxy-status': destinationUnavailable },
  status = 503,
) => Response.json({ kind: 'Status' }, { status, headers });

const start = (
  refuses: (attempt: number) => boolean,
  response: () => Response = refusing,
  snapshot = mixedCluster,
) => startWithRefusals(refuses, response, snapshot);

test('what the router of a peer that is down refuses is asked of another server, writes too', async () => {
  for (const [method, url] of [
    ['GET', jobs],
    ['DELETE', `${jobs}/one`],
    ['PATCH', `${jobs}/one`],
  ] as const) {
    await assertAnotherResponds(method, url, refusing);
  }
});

test('a server that refuses so, the local one too, is probed at once: it accepts connections all the while', async () => {
  for (const [url, response] of [
    [jobs, refusing],
    [pods, shuttingDown],
  ] as const) {
    const health = new ServerBook({ rise: 1, fall: 1 });
    for (const { id } of mixedCluster.servers) health.follow(id);
    const doubted: string[] = [];
    health.observe({ doubted: (id) => doubted.push(id) });
    const { app, transport } = await startWithRefusals((attempt) => attempt === 0, response, mixedCluster, {
      health,
    });
    assert.equal((await app.request(url)).status, 200);
    assert.deepEqual(doubted, [transport.sent[0]?.destination.id]);
  }
});

test('a response that is no HTTP casts a doubt on its server, and none where the request only passes through', async () => {
  const cases = { one: [localId], 'one/proxy/': [], 'one:443/proxy/metrics': [] };
  for (const [path, expected] of Object.entries(cases)) {
    const health = new ServerBook({ rise: 1, fall: 1 });
    health.follow(localId);
    const doubted: string[] = [];
    health.observe({ doubted: (id) => doubted.push(id) });
    const transport = recordingTransport(() => {
      throw new TransportError('InvalidResponse', 'bad heads', { mayHaveBeenProcessed: true });
    });
    const snapshot = snapshotOf({ [localId]: ['v1/pods'] });
    const connection = userConnection('alice', ['dev']);
    const { app } = await testApp({ snapshot, transport, connection, health });
    assert.equal((await app.request(`${pods}/${path}`)).status, 502);
    assert.deepEqual(doubted, expected, path);
  }
});

test('where all of them are down behind their routers, the client is told when to ask again, and not by whom', async () => {
  const alone = snapshotOf({ [localId]: [], b: ['batch/v1/jobs'] });
  for (const [snapshot, sent] of [
    [alone, 1],
    [mixedCluster, 2],
  ] as const) {
    const { app, transport } = await start(() => true, refusing, snapshot);
    const response = await app.request(jobs);
    assert.equal(response.status, 503);
    assert.equal(response.headers.get('retry-after'), '1');
    assert.equal(response.headers.get('proxy-status'), null);
    assert.match(await response.text(), /was not carried out/);
    assert.equal(transport.sent.length, sent);
  }
});

test('no other response is taken for that word of a router: something may have been carried out', async () => {
  for (const response of [
    () => refusing({}),
    () => refusing({ 'proxy-status': 'other; error=destination_unavailable' }),
    () => refusing({ 'proxy-status': 'mixed-version-proxy; error=connection_terminated' }),
    () => refusing({ 'proxy-status': destinationUnavailable }, 500),
  ]) {
    const { app, transport } = await start(() => true, response);
    assert.ok((await app.request(jobs)).status >= 500);
    assert.equal(transport.sent.length, 1);
  }
  const { app, transport } = await start(() => true);
  assert.equal((await app.request(`${pods}/one/proxy`)).status, 503);
  assert.equal(transport.sent.length, 1, 'an application says it');
});

/** A gateway, before servers that are reached through their routers; the first that is asked is down. */
async function startGateway() {
  const served = ['v1/pods', 'v1/pods/exec', 'v1/pods/log', 'v1/pods/proxy'];
  const snapshot = snapshotOf(
    { a: served, b: served },
    { customResourceGroups: [{ group: 'example.com', version: 'v1' }], apiServices: [aggregated] },
  );
  let attempts = 0;
  let isKept = false;
  const transport = recordingTransport(({ destination }) =>
    attempts++ === 0 ? refusing() : Response.json({ answeredBy: destination.id }),
  );
  const load = new ServerLoad(() => 0);
  const { app } = await testApp({
    local: undefined,
    snapshot,
    transport,
    load,
    inbound: (request) => ({
      ...inboundFromRequest(request, userConnection('alice', ['dev'])),
      keepBody() {
        isKept = true;
      },
      rewindBody: () => isKept,
      // None of these requests comes to its end.
      onFinished() {},
    }),
  });
  return { app, sent: transport.sent, load };
}

const aggregated = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  service: { namespace: 'kube-system', name: 'metrics-server' },
  available: true,
} as const;

test('it counts for every request whose response begins with the words of a server or a kubelet', async () => {
  for (const [path, asked] of [
    ['/api/v1/namespaces/default/pods/one/exec?command=id', 2],
    ['/api/v1/namespaces/default/pods/one/log', 2],
    ['/apis/example.com/v1/namespaces/default/widgets/one', 2],
    // An application's, an extension server's, and perhaps one of an extension server that is newer than the snapshot.
    ['/api/v1/namespaces/default/pods/one/proxy/', 1],
    ['/apis/metrics.k8s.io/v1beta1/nodes', 1],
    ['/apis/unknown.example.com/v1/things', 1],
  ] as const) {
    const { app, sent } = await startGateway();
    const { status } = await app.request(`https://router.example${path}`, { method: 'PUT', body: '{}' });
    assert.deepEqual([status, sent.length], [asked === 2 ? 200 : 503, asked], path);
  }
});

test('the server that has refused is not busy with what another one responds to', async () => {
  const { app, sent, load } = await startGateway();
  assert.equal((await app.request(pods, { method: 'DELETE' })).status, 200);
  assert.deepEqual(
    sent.map(({ destination }) => load.counts(destination.id, 'short').inFlight),
    [0, 1],
  );
});

test('a router tells its peer, and nobody else, that its server received nothing', async () => {
  const ask = async (mayHaveBeenProcessed: boolean, headers: Record<string, string>) => {
    const transport = recordingTransport(() => {
      throw new TransportError('ConnectFailed', 'connect ECONNREFUSED', { mayHaveBeenProcessed });
    });
    const snapshot = snapshotOf({ [localId]: ['v1/pods'] });
    const { app } = await testApp({ snapshot, transport, connection: frontProxyConnection });
    const user = { 'x-remote-user': 'alice' };
    const response = await app.request(pods, { method: 'POST', headers: { ...user, ...headers } });
    assert.equal(response.status, 503);
    return response.headers.get('proxy-status');
  };
  const rerouted = { 'x-kubernetes-peer-proxied': 'true' };
  assert.equal(await ask(false, rerouted), destinationUnavailable);
  assert.equal(await ask(true, rerouted), null);
  assert.equal(await ask(false, {}), null);
});

describe('a write goes to another version once no other router may still send to the preferred one', () => {
  async function startMixed(response: (id: string) => Response) {
    let now = 0;
    const health = new ServerBook({ rise: 1, fall: 1, monotonic: () => now });
    const serverOf = (version: string, digest: string) => ({
      serves: ['batch/v1/jobs'],
      version,
      schemas: { 'batch.jobs': { v1: digest } },
    });
    const transport = recordingTransport(({ destination }) => response(destination.id));
    const { app } = await testApp({
      local: undefined,
      snapshot: snapshotOf({
        a: serverOf('v1.35.0', 'YWFhYWFhYWE='),
        b: serverOf('v1.36.0', 'YmJiYmJiYmI='),
      }),
      preferredVersion: 'oldest',
      transport,
      health,
    });
    const probe = (id: string, outcome: ProbeOutcome) => {
      health.probing(id);
      health.probed(id, outcome);
    };
    for (const id of ['a', 'b']) {
      health.follow(id);
      probe(id, 'ready');
    }
    /** The server that has responded, or when to ask again. */
    const ask = async (method: string, at: number) => {
      now = at;
      const asked = await app.request(jobs, { method });
      if (asked.status !== 200) return `again in ${asked.headers.get('retry-after')} s`;
      return ((await asked.json()) as { answeredBy: string }).answeredBy;
    };
    return { health, probe, ask };
  }
  const responding = (id: string) => Response.json({ answeredBy: id });

  for (const [what, isRefused, seconds] of [
    ['two seconds after its last server refused a connection', true, 2],
    [
      'ten seconds after its last server broke off and was silent: it may be so for this router alone',
      false,
      10,
    ],
  ] as const) {
    test(`${what}, a read at once`, async () => {
      const { health, probe, ask } = await startMixed(responding);
      assert.equal(await ask('POST', 0), 'a');
      health.connectionLost('a', isRefused);
      probe('a', 'unreachable');
      assert.equal(await ask('GET', 100), 'b');
      assert.equal(await ask('POST', seconds * 1_000 - 100), 'again in 1 s');
      assert.equal(await ask('POST', seconds * 1_000), 'b');
    });
  }

  for (const outcome of ['not-ready', 'unreachable'] as const) {
    test(`ten seconds after its last server was ${outcome}, and that one is asked until then`, async () => {
      const { probe, ask } = await startMixed(responding);
      probe('a', outcome);
      assert.deepEqual([await ask('POST', 9_900), await ask('GET', 9_900)], ['a', 'a']);
      assert.deepEqual([await ask('POST', 10_000), await ask('GET', 10_000)], ['b', 'b']);
    });
  }

  test('not when its last server says that it is shutting down: it carries out what it has taken before', async () => {
    const { ask } = await startMixed((id) => (id === 'a' ? shuttingDown() : responding(id)));
    assert.deepEqual([await ask('GET', 0), await ask('DELETE', 0)], ['b', 'again in 1 s']);
  });
});

const startWithEnding = (
  refuses: (attempt: number) => boolean,
  response = shuttingDown,
  snapshot = mixedCluster,
) => startWithRefusals(refuses, response, snapshot);

test('what a server that ends refuses is asked of another one, writes too', async () => {
  for (const [method, url] of [
    ['GET', jobs],
    ['GET', pods],
    ['DELETE', `${jobs}/one`],
    ['PATCH', `${pods}/one`],
  ] as const) {
    await assertAnotherResponds(method, url, shuttingDown);
  }
});

test('what a server that ends says with --shutdown-send-retry-after, or one that starts, is asked of another one, writes too', async () => {
  for (const text of [
    'The apiserver is shutting down, please try again later.\n',
    "The apiserver hasn't been fully initialized yet, please try again later.\n",
  ]) {
    const refusal = () =>
      new Response(text, {
        status: 429,
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          'content-length': String(text.length),
          'retry-after': '5',
        },
      });
    await assertAnotherResponds('GET', jobs, refusal);
    await assertAnotherResponds('DELETE', `${jobs}/one`, refusal);
    const { app } = await startWithEnding(() => true, refusal);
    const response = await app.request(jobs);
    assert.deepEqual(
      [response.status, response.headers.get('retry-after'), await response.text()],
      [429, '5', text],
    );
  }
});

test('a 429 of priority and fairness is the client’s: another server would be overloaded next', async () => {
  const text = 'Too many requests, please try again later.\n';
  const { app, transport } = await startWithEnding(
    () => true,
    () =>
      new Response(text, {
        status: 429,
        headers: { 'content-type': 'text/plain', 'content-length': String(text.length) },
      }),
  );
  assert.equal((await app.request(jobs)).status, 429);
  assert.equal(transport.sent.length, 1);
});

test('where nobody else serves it, or all of them end, the client is told when to ask again', async () => {
  const alone = snapshotOf({ [localId]: ['v1/pods'] });
  for (const [snapshot, sent] of [
    [alone, 1],
    [mixedCluster, 2],
  ] as const) {
    const { app, transport } = await startWithEnding(() => true, shuttingDown, snapshot);
    const response = await app.request(pods);
    assert.equal(response.status, 503);
    assert.equal(response.headers.get('retry-after'), '1');
    assert.equal(await response.text(), shuttingDownStatus);
    assert.equal(transport.sent.length, sent);
  }
});

test('a write whose body is gone is not sent again', async () => {
  const { app, transport } = await startWithEnding(() => true);
  const response = await app.request(jobs, { method: 'POST', body: '{}' });
  assert.equal(response.status, 503);
  assert.equal(response.headers.get('retry-after'), '1');
  assert.equal(transport.sent.length, 1);
});

test('any other 503 is passed on: a server may have carried something out', async () => {
  const other = shuttingDownStatus.replace('apiserver is shutting down', 'etcdserver: request timed out');
  const responses = [
    () =>
      new Response(other, {
        status: 503,
        headers: { ...shuttingDownHead, 'content-length': String(other.length) },
      }),
    () =>
      new Response(`${'x'.repeat(148)}\n\n`, {
        status: 503,
        headers: shuttingDownHead,
      }),
    () => new Response(shuttingDownStatus, { status: 500, headers: shuttingDownHead }),
    () =>
      new Response('x'.repeat(150), {
        status: 503,
        headers: { ...shuttingDownHead, 'content-type': 'text/html' },
      }),
  ];
  for (const response of responses) {
    const { app, transport } = await startWithEnding(() => true, response);
    assert.ok((await app.request(jobs)).status >= 500);
    assert.equal(transport.sent.length, 1);
  }
});

test('what an application says is passed on', async () => {
  const { app, transport } = await startWithEnding(() => true);
  assert.equal((await app.request(`${pods}/one/proxy`)).status, 503);
  assert.equal(transport.sent.length, 1);
});
