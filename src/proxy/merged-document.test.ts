import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { snapshotOfSets } from '../../test/support/api-servers/recorded-cluster.ts';
import { aggregatedV2 } from '../../test/support/clients/ask-discovery.ts';
import { recordingTransport } from '../../test/support/routers/recording-transport.ts';
import { testApp } from '../../test/support/routers/test-app.ts';
import { allHeaders, firstHeader } from '../apimachinery/raw-headers.ts';
import { servedSetFromDiscovery } from '../discovery/forms/aggregated.ts';
import { TransportError } from '../request/destination.ts';
import type { OutboundRequest } from '../request/transport.ts';
import { ServerLoad } from './server-choice.ts';

const group = (name: string) => ({
  metadata: { name },
  versions: [
    { version: 'v1', freshness: 'Current' as const, resources: [{ resource: 'things', verbs: ['get'] }] },
  ],
});
const set = { set: servedSetFromDiscovery([group('apps')]) };
const snapshot = snapshotOfSets({ a: set, b: set, c: set });
const local = {
  kind: 'local',
  id: 'a',
  origin: 'https://127.0.0.1:6444',
  serverName: 'kubernetes.default.svc',
  trust: { kind: 'peer-ca' },
} as const;
const sidecar = { serverId: 'a', local, snapshot };
const gateway = { serverId: undefined, local: undefined, snapshot };

/** An API server that answers as the real ones do: 304 to the ETag of what it serves now. */
function discoveryOf(names: readonly string[], etag = `"${names.join()}"`) {
  return (outbound: OutboundRequest): Response => {
    const headers = { etag, 'content-type': aggregatedV2 };
    if (firstHeader(outbound.headers, 'if-none-match') === etag)
      return new Response(null, { status: 304, headers });
    const items = names.map(group);
    const document = {
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
      items,
    };
    return new Response(JSON.stringify(document), { headers });
  };
}

const request = (headers: Readonly<Record<string, string>> = {}, path = '/apis', method = 'GET') =>
  new Request(`https://router.example${path}`, { method, headers: { accept: aggregatedV2, ...headers } });
const groupsIn = async (response: Response) =>
  [...(await response.text()).matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name).sort();

describe('a request for discovery', () => {
  test('asks the local server for its own document, in the caller’s name, and what that says now is shown', async () => {
    const transport = recordingTransport(discoveryOf(['apps', 'example.com']));
    const { app } = await testApp({ ...sidecar, transport });
    const headers = {
      authorization: 'Bearer of-alice',
      'if-none-match': '"of the client"',
      range: 'bytes=0-1',
    };
    const response = await app.fetch(request(headers, '/apis?timeout=32s'));
    assert.deepEqual(await groupsIn(response), ['apps', 'example.com']);
    const [sent] = transport.sent;
    assert.equal(sent?.target, '/apis');
    assert.match(firstHeader(sent.headers, 'accept') ?? '', /profile=nopeer/);
    assert.equal(firstHeader(sent.headers, 'authorization'), 'Bearer of-alice');
    assert.deepEqual(allHeaders(sent.headers, 'if-none-match'), []);
    assert.deepEqual(allHeaders(sent.headers, 'range'), []);
    assert.equal(response.headers.get('audit-id'), firstHeader(sent.headers, 'audit-id'));
  });

  test('asks again by the server’s ETag, and merges nothing anew where that says it is unchanged', async () => {
    const transport = recordingTransport(discoveryOf(['apps', 'example.com']));
    const { app } = await testApp({ ...sidecar, transport });
    const first = await app.fetch(request());
    const etag = first.headers.get('etag') ?? '';
    const again = await app.fetch(request({ 'if-none-match': etag }));
    assert.equal(again.status, 304);
    assert.equal(firstHeader(transport.sent[1]?.headers ?? [], 'if-none-match'), '"apps,example.com"');
    assert.deepEqual(await groupsIn(await app.fetch(request())), ['apps', 'example.com']);
  });

  test('shows at once what the server has come to serve since', async () => {
    let serves = discoveryOf(['apps']);
    const { app } = await testApp({
      ...sidecar,
      transport: recordingTransport((outbound) => serves(outbound)),
    });
    const before = await app.fetch(request());
    assert.deepEqual(await groupsIn(before), ['apps']);
    serves = discoveryOf(['apps', 'example.com']);
    const after = await app.fetch(request({ 'if-none-match': before.headers.get('etag') ?? '' }));
    assert.deepEqual(await groupsIn(after), ['apps', 'example.com']);
  });

  for (const status of [401, 403, 429, 500, 503]) {
    test(`gets the server’s own ${status}: who may read it is not the router’s to say`, async () => {
      const transport = recordingTransport(() => new Response('the server’s words', { status }));
      const { app } = await testApp({ ...sidecar, transport });
      const response = await app.fetch(request());
      assert.deepEqual([response.status, await response.text()], [status, 'the server’s words']);
    });
  }

  test('gets what the snapshot has where the server’s own document cannot be used', async () => {
    const garbage = [
      () => new Response('<html>', { headers: { 'content-type': aggregatedV2 } }),
      () => new Response('404 page not found\n', { status: 404 }),
      () => new Response(null, { status: 406 }),
      () =>
        new Response(new ReadableStream({ pull: (controller) => controller.error(new Error('broken off')) })),
    ];
    for (const answer of garbage) {
      const { app } = await testApp({ ...sidecar, transport: recordingTransport(answer) });
      assert.deepEqual(await groupsIn(await app.fetch(request())), ['apps']);
    }
  });

  test('of a document that nobody has gets the server’s own 404', async () => {
    const transport = recordingTransport(() => new Response('404 page not found\n', { status: 404 }));
    const { app } = await testApp({ ...sidecar, transport });
    const response = await app.fetch(request({ accept: 'application/json' }, '/apis/nosuch.example.com'));
    assert.deepEqual([response.status, await response.text()], [404, '404 page not found\n']);
  });

  test('of a document that has been deleted gets the server’s own 404, not the document of before', async () => {
    const list = { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'example.com/v1', resources: [] };
    let isDeleted = false;
    const transport = recordingTransport(() =>
      isDeleted ? new Response('404 page not found\n', { status: 404 }) : Response.json(list),
    );
    const { app } = await testApp({ ...sidecar, transport });
    const ask = () => app.fetch(request({ accept: 'application/json' }, '/apis/example.com/v1'));
    assert.equal((await ask()).status, 200);
    isDeleted = true;
    for (const time of ['when it asks all others', 'when it knows that nobody has it']) {
      assert.equal((await ask()).status, 404, time);
    }
  });

  test('without a body is asked without one', async () => {
    const transport = recordingTransport(() => new Response(null, { headers: { etag: '"1"' } }));
    const { app } = await testApp({ ...sidecar, transport });
    const response = await app.fetch(request({}, '/apis', 'HEAD'));
    assert.deepEqual([response.status, await response.text()], [200, '']);
    assert.equal(transport.sent[0]?.method, 'HEAD');
  });

  test('for the local view is passed on as it came', async () => {
    const transport = recordingTransport();
    const { app } = await testApp({ ...sidecar, transport });
    const accept = `${aggregatedV2};profile=nopeer`;
    const response = await app.fetch(request({ accept }, '/apis?pretty=1'));
    assert.deepEqual(await response.json(), { answeredBy: 'a' });
    assert.deepEqual(
      [transport.sent[0]?.target, firstHeader(transport.sent[0]?.headers ?? [], 'accept')],
      ['/apis?pretty=1', accept],
    );
  });
});

describe('a gateway', () => {
  test('asks the same server each time, so that what it has shown does not vanish again', async () => {
    const transport = recordingTransport(discoveryOf(['apps']));
    const { app } = await testApp({ ...gateway, transport });
    for (let count = 0; count < 8; count++) await app.fetch(request());
    assert.deepEqual(new Set(transport.sent.map(({ destination }) => destination.id)), new Set(['a']));
  });

  test('asks the next one while that does not respond', async () => {
    const load = new ServerLoad(() => 0);
    const transport = recordingTransport((outbound) => {
      if (outbound.destination.id !== 'a') return discoveryOf(['apps'])(outbound);
      throw new TransportError('ConnectFailed', 'refused', { mayHaveBeenProcessed: false });
    });
    const { app } = await testApp({ ...gateway, transport, load, random: () => 0 });
    for (let count = 0; count < 4; count++) assert.equal((await app.fetch(request())).status, 200);
    const [first, second, ...others] = transport.sent.map(({ destination }) => destination.id);
    assert.deepEqual([first, second], ['a', 'b']);
    assert.deepEqual(new Set(others), new Set(['b']));
  });
});
