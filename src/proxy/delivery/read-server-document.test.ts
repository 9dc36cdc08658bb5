import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { recordingTransport } from '../../../test/support/recording-transport.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { allHeaders } from '../../apimachinery/raw-headers.ts';
import { ServerDocumentError } from '../../discovery/server-documents/sources.ts';
import { defaultIdentityHeaderNames } from '../../request/identity-header-names.ts';
import type { OutboundRequest } from '../../request/transport.ts';
import { TransportError } from '../../request/transport-error.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import type { RoutingServer } from '../../snapshot/routing-table/routing-table.ts';
import { createDocumentReader } from './read-server-document.ts';

const { servers } = buildRoutingTable(
  snapshotOf({ a: ['v1/pods'], b: ['v1/pods'], c: { serves: ['v1/pods'], withoutAddress: true } }),
);
const server = (id: string): RoutingServer => {
  const found = servers.find((candidate) => candidate.id === id);
  assert.ok(found);
  return found;
};
const accept = 'application/json';

function readerOver(
  answer: (outbound: OutboundRequest) => Response | Promise<Response>,
  maximumBytes?: number,
) {
  const transport = recordingTransport(answer);
  const read = createDocumentReader({
    local: {
      kind: 'local',
      id: 'a',
      origin: 'https://127.0.0.1:6444',
      serverName: 'localhost',
      trust: { kind: 'peer-ca' },
    },
    transport,
    identityHeaderNames: defaultIdentityHeaderNames,
    identityTokens: {},
    pseudonym: 'router-under-test',
    ...(maximumBytes === undefined ? {} : { maximumBytes }),
  });
  return { read, sent: transport.sent };
}

describe('a document is read', () => {
  test('from a peer as the router itself, marked so that the peer gives its own', async () => {
    const { read, sent } = readerOver(() => Response.json({ of: 'b' }, { headers: { etag: '"1"' } }));
    const document = await read({ path: '/openapi/v2', server: server('b'), accept, ifNoneMatch: '"0"' });
    assert.deepEqual(
      { ...document, body: new TextDecoder().decode(document.body) },
      { status: 200, contentType: 'application/json', etag: '"1"', body: '{"of":"b"}' },
    );
    const [outbound] = sent;
    assert.ok(outbound);
    assert.equal(outbound.target, '/openapi/v2');
    assert.equal(outbound.destination.id, 'b');
    assert.equal(outbound.presentFrontProxyCertificate, true);
    const one = (name: string) => allHeaders(outbound.headers, name);
    assert.deepEqual(one('x-remote-user'), ['system:mixed-version-proxy']);
    assert.deepEqual(one('x-remote-group'), ['system:authenticated']);
    assert.deepEqual(one('x-kubernetes-peer-proxied'), ['true']);
    assert.deepEqual(one('if-none-match'), ['"0"']);
  });

  test('from the local server over the connections to it, unmarked', async () => {
    const { read, sent } = readerOver(() => Response.json({}));
    await read({ path: '/openapi/v2', server: server('a'), accept });
    assert.equal(sent[0]?.destination.origin, 'https://127.0.0.1:6444');
    assert.deepEqual(allHeaders(sent[0]?.headers ?? [], 'x-kubernetes-peer-proxied'), []);
  });

  test('without what a response other than 200 says', async () => {
    const { read } = readerOver(() => new Response('<html>', { status: 502 }));
    const { status, body } = await read({ path: '/openapi/v2', server: server('b'), accept });
    assert.deepEqual([status, body.byteLength], [502, 0]);
  });
});

describe('a document is given up', () => {
  const fails = (message: RegExp) => (error: unknown) =>
    error instanceof ServerDocumentError && message.test(error.message);

  test('when it is too long, without reading the rest', async () => {
    let pulled = 0;
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(1024));
      },
      cancel() {
        cancelled = true;
      },
    });
    const { read } = readerOver(() => new Response(endless), 10 * 1024);
    await assert.rejects(
      read({ path: '/openapi/v2', server: server('b'), accept }),
      fails(/longer than 10240 bytes/),
    );
    assert.ok(cancelled);
    assert.ok(pulled < 20, `${pulled}`);
  });

  test('when it breaks off', async () => {
    const broken = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new Uint8Array(8));
        controller.error(new Error('reset by 10.0.0.2'));
      },
    });
    const { read } = readerOver(() => new Response(broken));
    await assert.rejects(
      read({ path: '/openapi/v2', server: server('b'), accept }),
      fails(/^The response broke off\.$/),
    );
  });

  test('when the server does not respond or has no address, and no address is told', async () => {
    const { read } = readerOver(() => {
      throw new TransportError('ConnectFailed', 'connect ECONNREFUSED 10.0.0.2:6443', {
        requestMayHaveArrived: false,
      });
    });
    await assert.rejects(
      read({ path: '/openapi/v2', server: server('b'), accept }),
      fails(/^The server did not respond: ConnectFailed\.$/),
    );
    await assert.rejects(read({ path: '/openapi/v2', server: server('c'), accept }), fails(/no address/));
  });
});
