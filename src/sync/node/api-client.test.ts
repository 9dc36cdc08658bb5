import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { classicResponses } from '../../../test/support/api-servers/fake-server-documents.ts';
import { type HttpListener, httpsServer } from '../../../test/support/api-servers/https-server.ts';
import { createAuthority } from '../../../test/support/certificates.ts';
import { eventually } from '../../../test/support/eventually.ts';
import type { ClusterCredentials } from '../../node/credentials/cluster-access.ts';
import { readServer } from '../documents/read-server.ts';
import { ApiClient, apiServerName, type Endpoint } from './api-client.ts';

const authority = await createAuthority('cluster');
const serving = await authority.issue({
  commonName: 'kube-apiserver',
  dnsNames: ['kubernetes.default.svc'],
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
});
const client = await authority.issue({ commonName: 'sync-job', usage: 'client' });
const { signal } = new AbortController();

interface Given extends Partial<Endpoint> {
  readonly headers?: readonly string[];
  readonly limits?: Parameters<ApiClient['documentsAt']>[1];
}

/** @returns `host:port` */
async function listening(context: TestContext, rejectUnauthorized: boolean, listener: HttpListener) {
  const { certificate: cert, privateKey: key } = serving;
  const tls = { cert, key, ca: authority.certificate, requestCert: true, rejectUnauthorized };
  const { port } = await httpsServer(context, tls, listener);
  return `127.0.0.1:${port}`;
}

async function apiServer(context: TestContext, listener: HttpListener, given: Given = {}) {
  const address = await listening(context, true, listener);
  const { headers = [], limits, ...endpoint } = given;
  const apiClient = new ApiClient({
    credentials: async () => ({
      certificateAuthorities: authority.certificate,
      clientCertificate: { certificate: client.chain, key: client.privateKey },
      headers,
    }),
  });
  context.after(() => apiClient.close());
  const at = { origin: `https://${address}`, serverName: apiServerName, ...endpoint };
  return apiClient.documentsAt(at, limits);
}

function sendJson(response: ServerResponse, body: string): void {
  response.setHeader('content-type', 'application/json');
  response.end(body);
}

const served = classicResponses({ v1: ['pods'], 'batch/v1': ['jobs'] });

function serve(path: string | undefined, response: ServerResponse): void {
  const document = served[path?.split('?')[0] ?? ''];
  response.statusCode = document === undefined ? 404 : 200;
  sendJson(response, JSON.stringify(document ?? { kind: 'Status', code: 404 }));
}

test('reads a server over mTLS under the name kubernetes.default.svc, as the sync job', async (context) => {
  const seen = new Set<string>();
  const documents = await apiServer(
    context,
    ({ url, headers, socket }, response) => {
      seen.add(`${(socket as TLSSocket).getPeerCertificate().subject.CN} ${headers.authorization}`);
      serve(url, response);
    },
    { headers: ['authorization', 'Bearer a-token'] },
  );
  const reading = await readServer(documents);
  assert.ok(reading.ok, reading.ok ? '' : reading.reason);
  assert.deepEqual(reading.set.storageVersions, { 'core.pods': ['v1'], 'batch.jobs': ['v1'] });
  assert.deepEqual([...seen], ['sync-job Bearer a-token']);
});

test('a certificate without the name kubernetes.default.svc is refused', async (context) => {
  const documents = await apiServer(context, ({ url }, response) => serve(url, response), {
    serverName: 'other.example.com',
  });
  const reading = await readServer(documents);
  assert.ok(!reading.ok);
  assert.equal(reading.code, 'Unreachable');
});

test('an unchanged document is not sent again, a changed one is', async (context) => {
  const sent: number[] = [];
  let etag = '"one"';
  const documents = await apiServer(context, ({ headers }, response) => {
    response.setHeader('etag', etag);
    response.statusCode = headers['if-none-match'] === etag ? 304 : 200;
    sent.push(response.statusCode);
    if (response.statusCode === 304) response.end();
    else sendJson(response, JSON.stringify({ etag }));
  });
  const first = await documents.get('/apis', 'application/json');
  assert.deepEqual(await documents.get('/apis', 'application/json'), first);
  await documents.get('/apis', 'application/json;as=other');
  etag = '"two"';
  assert.deepEqual(JSON.parse((await documents.get('/apis', 'application/json')).body), { etag });
  assert.deepEqual(sent, [200, 304, 200, 200]);
});

test('the index of OpenAPI, which has no ETag, is the same object until it says something else', async (context) => {
  let paths = 'one';
  const documents = await apiServer(context, (_request, response) =>
    sendJson(response, JSON.stringify({ paths })),
  );
  const first = await documents.get('/openapi/v3', 'application/json');
  assert.equal(await documents.get('/openapi/v3', 'application/json'), first);
  paths = 'two';
  const second = await documents.get('/openapi/v3', 'application/json');
  assert.deepEqual(JSON.parse(second.body), { paths });
  assert.notEqual(
    await documents.get('/version', 'application/json'),
    await documents.get('/version', 'application/json'),
  );
});

test('OpenAPI documents of group versions are not kept, of which megabytes would be', async (context) => {
  const conditions: unknown[] = [];
  const documents = await apiServer(context, ({ headers }, response) => {
    conditions.push(headers['if-none-match']);
    response.setHeader('etag', '"one"');
    sendJson(response, '{}');
  });
  for (const path of ['/openapi/v3/apis/apps/v1?hash=AB', '/openapi/v3']) {
    await documents.get(path, 'application/json');
    await documents.get(path, 'application/json');
  }
  assert.deepEqual(conditions, [undefined, undefined, undefined, '"one"']);
});

test('takes gzip', async (context) => {
  const documents = await apiServer(context, ({ headers }, response) => {
    assert.equal(headers['accept-encoding'], 'gzip');
    response.setHeader('content-type', 'application/json');
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync('{"kind":"APIVersions"}'));
  });
  assert.equal((await documents.get('/api', 'application/json')).body, '{"kind":"APIVersions"}');
});

const issues: Record<string, HttpListener> = {
  hangs: () => {},
  'hangs in the middle of its response': (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"kind":');
  },
  'breaks off': (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"kind":"APIVersions"}', () => response.destroy());
  },
  'never ends its response': (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '.repeat(4096)), 1);
    response.on('close', () => clearInterval(timer));
  },
  'returns a body that is not UTF-8': (_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(Buffer.from([0x22, 0xff, 0x22]));
  },
};

for (const [name, listener] of Object.entries(issues)) {
  test(`a server that ${name} cannot be read`, async (context) => {
    const documents = await apiServer(context, listener, {
      limits: { responseTimeout: 200, longestResponse: 64 * 1024 },
    });
    await assert.rejects(documents.get('/api', 'application/json'), { name: 'ReadError' });
    assert.equal((await readServer(documents)).ok, false);
  });
}

test('a redirect is not followed and leaves the server unread', async (context) => {
  const asked: string[] = [];
  const documents = await apiServer(context, ({ url = '' }, response) => {
    asked.push(url);
    response.writeHead(302, { location: '/elsewhere' });
    response.end();
  });
  const reading = await readServer(documents);
  assert.ok(!reading.ok);
  assert.equal(reading.code, 'UnexpectedStatus');
  assert.ok(!asked.includes('/elsewhere'));
});

test('a server that is not there cannot be read', async (context) => {
  const documents = await apiServer(context, () => {}, { origin: 'https://127.0.0.1:1' });
  const reading = await readServer(documents);
  assert.ok(!reading.ok);
  assert.equal(reading.code, 'Unreachable');
});

test('a read that is called off ends at once', { timeout: 60_000 }, async (context) => {
  const documents = await apiServer(context, () => {}, {
    limits: { responseTimeout: 3_600_000, longestResponse: 1024 },
  });
  const controller = new AbortController();
  const get = documents.get('/api', 'application/json', controller.signal);
  setImmediate(() => controller.abort());
  await assert.rejects(get, { code: 'Unreachable' });
});

function responding(text: string, log: string[] = []): HttpListener {
  return ({ headers, url }, response) => {
    log.push(`${url} ${headers.authorization ?? ''}`);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(text));
  };
}

/** Watches through these, in order. */
function connect(
  context: TestContext,
  addresses: readonly string[],
  rotate: Partial<ClusterCredentials>[] = [],
) {
  let credentials: ClusterCredentials = {
    certificateAuthorities: authority.certificate,
    clientCertificate: undefined,
    headers: [],
  };
  const apiClient = new ApiClient({
    credentials: async () => {
      credentials = { ...credentials, ...rotate.shift() };
      return credentials;
    },
  });
  context.after(() => apiClient.close());
  return apiClient.watching(() => addresses.map((at) => ({ origin: `https://${at}` })));
}

test('tokens and certificates that are rotated are used from the next request on', async (context) => {
  const seen: string[] = [];
  const address = await listening(context, false, ({ headers, socket }, response) => {
    const { authorized } = socket as { authorized?: boolean };
    seen.push(`${headers.authorization} ${authorized}`);
    response.end('{}');
  });
  const connection = connect(
    context,
    [address],
    [
      { headers: ['Authorization', 'Bearer one'] },
      { headers: ['Authorization', 'Bearer two'] },
      { clientCertificate: { certificate: client.chain, key: client.privateKey } },
    ],
  );
  for (let request = 0; request < 3; request++) await connection.get('/api', 'application/json', signal);
  assert.deepEqual(seen, ['Bearer one false', 'Bearer two false', 'Bearer two true']);
});

test('after a failure or a 5xx the next server is asked, and stays in use', async (context) => {
  let asked = 0;
  const goes = await listening(context, false, (_, response) => {
    asked++;
    response.statusCode = 503;
    response.end();
  });
  const lives = await listening(context, false, responding('alive'));
  const connection = connect(context, ['127.0.0.1:1', goes, lives]);
  const ask = () => connection.get('/api', 'application/json', signal);
  for (let request = 0; request < 3; request++) assert.equal((await ask()).body, '"alive"');
  assert.equal(asked, 1);
  const nobody = connect(context, ['127.0.0.1:1', '127.0.0.1:2']);
  await assert.rejects(nobody.get('/api', 'application/json', signal), { message: /127\.0\.0\.1:1: / });
});

test('connections that are renewed carry nothing new: another process may have taken the address', async (context) => {
  const sockets: unknown[] = [];
  const documents = await apiServer(context, ({ url, socket }, response) => {
    sockets.push(socket);
    serve(url, response);
  });
  for (let time = 0; time < 2; time++) await documents.get('/api', 'application/json');
  documents.renewConnections?.();
  await documents.get('/api', 'application/json');
  assert.deepEqual([sockets[1] === sockets[0], sockets[2] === sockets[0]], [true, false]);
});

test('a watch that is given up frees its connection at once', async (context) => {
  let closed = false;
  const address = await listening(context, false, (_, response) => {
    response.on('close', () => {
      closed = true;
    });
    response.write('{"type":"BOOKMARK"');
  });
  const controller = new AbortController();
  const { status, chunks } = await connect(context, [address]).watch(
    '/api/v1/pods?watch=true',
    controller.signal,
  );
  assert.equal(status, 200);
  const read = (async () => {
    for await (const chunk of chunks) assert.equal(chunk, '{"type":"BOOKMARK"');
  })();
  controller.abort();
  await assert.rejects(read, { code: 'Unreachable' });
  await eventually(() => closed);
});

test('a watch moves on to another server when its connection breaks, or cannot be opened', async (context) => {
  const path = '/api/v1/pods?watch=true';
  const breaks = await listening(context, false, (_, response) => {
    response.write('{}\n');
    setImmediate(() => response.destroy());
  });
  const lives = await listening(context, false, responding('alive'));
  const connection = connect(context, [breaks, lives]);
  const read = async (from: typeof connection) =>
    text(Readable.from((await from.watch(path, signal)).chunks));
  await assert.rejects(read(connection));
  assert.equal(await read(connection), '"alive"');

  const beside = connect(context, ['127.0.0.1:1', lives]);
  await assert.rejects(read(beside), { code: 'Unreachable' });
  assert.equal(await read(beside), '"alive"');
});

test('a server that another authority vouches for is not spoken to', async (context) => {
  const log: string[] = [];
  const address = await listening(context, false, responding('alive', log));
  const stranger = await createAuthority('stranger');
  const connection = connect(context, [address], [{ certificateAuthorities: stranger.certificate }]);
  await assert.rejects(connection.get('/api', 'application/json', signal), { code: 'Unreachable' });
  assert.deepEqual(log, []);
});
