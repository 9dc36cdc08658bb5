import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localId, mixedCluster } from '../../test/support/clusters/decision-rows.ts';
import {
  type RecordingTransport,
  recordingTransport,
} from '../../test/support/routers/recording-transport.ts';
import { type TestAppOptions, testApp, userConnection } from '../../test/support/routers/test-app.ts';
import { TransportError } from '../request/destination.ts';
import { ServerBook } from './server-book.ts';

const jobs = 'https://router.example/apis/batch/v1/namespaces/default/jobs';
const pods = 'https://router.example/api/v1/namespaces/default/pods';

function followed() {
  const health = new ServerBook({ rise: 1, fall: 1 });
  for (const id of [localId, 'peer-1', 'peer-2', 'peer-3']) {
    health.follow(id);
    health.probed(id, 'ready');
  }
  return {
    health,
    down: (id: string) => health.probed(id, 'unreachable'),
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

test('when all look bad all are tried, and 503 is what is left when none answers', async () => {
  const { health, down } = followed();
  down('peer-1');
  down('peer-2');
  const transport = failingFor(['peer-1', 'peer-2']);
  const { app: router } = await app({ health, transport });
  assert.equal((await router.request(jobs)).status, 503);
  assert.deepEqual(destinationsOf(transport).toSorted(), ['peer-1', 'peer-2']);
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
  assert.deepEqual(new Set(health.reports().map(({ status }) => status)), new Set(['ready']));
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

test('a gateway cannot pass everything to a local server', async () => {
  await assert.rejects(app({ local: undefined, enabled: false }), /gateway has no local server/);
});
