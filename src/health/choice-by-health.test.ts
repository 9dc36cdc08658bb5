import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localId, mixedCluster } from '../../test/support/decision-rows.ts';
import { type RecordingTransport, recordingTransport } from '../../test/support/recording-transport.ts';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { type TestAppOptions, testApp, userConnection } from '../../test/support/test-app.ts';
import { TransportError } from '../request/destination.ts';
import { ServerHealth } from './server-health.ts';

const jobs = 'https://router.example/apis/batch/v1/namespaces/default/jobs';
const pods = 'https://router.example/api/v1/namespaces/default/pods';

function followed() {
  let now = 0;
  const health = new ServerHealth({ rise: 1, fall: 1, slowStart: 30_000, monotonic: () => now });
  for (const id of [localId, 'peer-1', 'peer-2', 'peer-3']) {
    health.follow(id);
    health.probed(id, 'ready', 1);
  }
  return {
    health,
    down: (id: string) => health.probed(id, 'unreachable', 1),
    up: (id: string) => health.probed(id, 'ready', 1),
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

const destinationsOf = ({ sent }: RecordingTransport) => sent.map(({ destination }) => destination.id);
const app = (options: TestAppOptions) =>
  testApp({ snapshot: mixedCluster, connection: userConnection('alice', ['dev']), ...options });

/** Fails for the servers named, with the given failure; the others answer. */
function failingFor(ids: readonly string[], mayHaveBeenProcessed = false) {
  return recordingTransport(({ destination }) => {
    if (!ids.includes(destination.id)) return Response.json({ answeredBy: destination.id });
    const code = mayHaveBeenProcessed ? 'ConnectionClosed' : 'ConnectFailed';
    throw new TransportError(code, 'no response', { mayHaveBeenProcessed });
  });
}

test('an unhealthy peer gets nothing while another one is healthy', async () => {
  const { health, down } = followed();
  down('peer-1');
  const { app: router, transport } = await app({ health });
  for (let request = 0; request < 20; request++) await router.request(jobs);
  assert.deepEqual([...new Set(destinationsOf(transport))], ['peer-2']);
});

test('when all look bad all are tried, and 503 is what is left when none answers', async () => {
  const { health, down } = followed();
  down('peer-1');
  down('peer-2');
  const transport = failingFor(['peer-1', 'peer-2']);
  const { app: router } = await app({ health, transport });
  assert.equal((await router.request(jobs)).status, 503);
  assert.deepEqual(destinationsOf(transport).toSorted(), ['peer-1', 'peer-2']);
});

test('a recovered peer comes back to its share slowly', async () => {
  const { health, down, up, pass } = followed();
  down('peer-1');
  up('peer-1');
  const share = async (): Promise<number> => {
    const { app: router, transport } = await app({ health, random: seededRandom(7) });
    for (let request = 0; request < 400; request++) await router.request(jobs);
    return destinationsOf(transport).filter((id) => id === 'peer-1').length / 400;
  };
  const shares: number[] = [];
  for (const elapsed of [0, 15_000, 15_000]) {
    pass(elapsed);
    shares.push(await share());
  }
  const [first = 1, halfway = 0, whole = 0] = shares;
  assert.ok(first > 0 && first < 0.1, `a twentieth at first: ${first}`);
  assert.ok(halfway > 0.18 && halfway < 0.32, `a quarter halfway: ${halfway}`);
  assert.ok(whole > 0.43 && whole < 0.57, `half in the end: ${whole}`);
});

test('answers of any code leave a peer healthy: a webhook’s 500, a 503 or 429 with Retry-After', async () => {
  const { health } = followed();
  for (const status of [500, 502, 503, 504, 429]) {
    const transport = recordingTransport(
      () => new Response('no', { status, headers: { 'retry-after': '3' } }),
    );
    const { app: router } = await app({ health, transport });
    for (let request = 0; request < 10; request++) {
      const response = await router.request(jobs);
      assert.deepEqual([response.status, response.headers.get('retry-after')], [status, '3']);
    }
    assert.equal(transport.sent.length, 10, 'none was tried again');
  }
  assert.ok(health.reports().every((report) => report.status === 'healthy'));
});

test('requests that find no connection make a peer unhealthy, those without a response only doubtful', async () => {
  const { health } = followed();
  const doubts: string[] = [];
  health.observe({ doubted: (id) => doubts.push(id) });
  const { app: broken } = await app({ health, transport: failingFor(['peer-3'], true) });
  const budgets = 'https://router.example/apis/policy/v1/poddisruptionbudgets';
  assert.equal((await broken.request(budgets)).status, 503);
  assert.deepEqual([health.statusOf('peer-3'), doubts], ['healthy', ['peer-3']]);
  const { app: refused } = await app({ health, transport: failingFor(['peer-3']) });
  assert.equal((await refused.request(budgets)).status, 503);
  assert.equal(health.statusOf('peer-3'), 'unhealthy');
});

test('while the local server is down, peers answer what they serve, marked as rerouted', async () => {
  const { health, down, up } = followed();
  down(localId);
  const { app: router, transport } = await app({ health });
  assert.equal((await router.request(pods)).status, 200);
  const [outbound] = transport.sent;
  assert.equal(outbound?.destination.kind, 'peer');
  assert.ok(outbound?.headers.includes('x-kubernetes-peer-proxied'));
  up(localId);
  await router.request(pods);
  assert.equal(transport.sent.at(-1)?.destination.kind, 'local', 'it has all of its requests back at once');
});

test('a request that never reached the local server goes to a peer, writes too', async () => {
  const transport = failingFor([localId]);
  const { app: router } = await app({ transport });
  assert.equal((await router.request(pods, { method: 'POST', body: '{}' })).status, 200);
  assert.equal(destinationsOf(transport).length, 2);
  assert.equal((await router.request(pods)).status, 200);
  assert.equal(destinationsOf(transport).length, 3, 'the next one does not try it first');
});

test('a write that may have reached the local server is not repeated at a peer; a read is', async () => {
  const transport = failingFor([localId], true);
  const { app: router } = await app({ transport });
  const written = await router.request(pods, { method: 'POST', body: '{}' });
  assert.equal(written.status, 503);
  assert.match(await written.text(), /may have been carried out/);
  assert.deepEqual(destinationsOf(transport), [localId]);
  assert.equal((await router.request(pods)).status, 200);
});

test('what a verified peer has rerouted here goes nowhere else when the local server is down', async () => {
  const { health, down } = followed();
  down(localId);
  const transport = failingFor([localId]);
  const connection = {
    clientCertificate: {
      commonName: 'front-proxy-client',
      organizations: [],
      authority: 'requestheader-client-ca' as const,
    },
  };
  const { app: router } = await app({ health, transport, connection });
  const headers = { 'x-remote-user': 'alice', 'x-kubernetes-peer-proxied': 'true' };
  assert.equal((await router.request(pods, { headers })).status, 503);
  assert.deepEqual(destinationsOf(transport), [localId]);
});

test('merged discovery is given by a router whose local server is down, once a peer has allowed it', async () => {
  const { health, down } = followed();
  down(localId);
  const allowed = await app({ health });
  const apis = await allowed.app.request('https://router.example/apis');
  assert.match(await apis.text(), /"name":"batch"/);
  assert.match(destinationsOf(allowed.transport)[0] ?? '', /^peer-/);
  const transport = recordingTransport(() => new Response('Forbidden', { status: 403 }));
  const refused = await app({ health, transport });
  assert.equal((await refused.app.request('https://router.example/apis')).status, 403);
});

test('a gateway asks any server whether the caller may read merged discovery', async () => {
  const { app: router, transport } = await app({ local: undefined });
  assert.match(await (await router.request('https://router.example/apis')).text(), /"name":"batch"/);
  assert.equal(transport.sent[0]?.destination.kind, 'peer');
});

test('a gateway spreads what all servers serve over all of them', async () => {
  const { app: router, transport } = await app({
    local: undefined,
    random: seededRandom(3),
  });
  for (let request = 0; request < 60; request++) await router.request(pods);
  assert.deepEqual([...new Set(destinationsOf(transport))].toSorted(), ['local', 'peer-1', 'peer-2']);
});

test('a gateway cannot pass everything to a local server', async () => {
  await assert.rejects(app({ local: undefined, enabled: false }), /gateway has no local server/);
});
