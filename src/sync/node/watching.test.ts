import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { httpsServer } from '../../../test/support/https-server.ts';
import { ApiClient } from './api-client.ts';
import type { ClusterCredentials } from './cluster-access.ts';

const authority = await createAuthority('cluster');
const serving = await authority.issue({
  commonName: 'kube-apiserver',
  dnsNames: ['kubernetes.default.svc'],
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
});
const client = await authority.issue({ commonName: 'sync-job', usage: 'client' });
const tls = {
  cert: serving.certificate,
  key: serving.privateKey,
  ca: authority.certificate,
  requestCert: true,
};
const { signal } = new AbortController();

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function apiServer(context: TestContext, handler: Handler) {
  const { port } = await httpsServer(context, { ...tls, rejectUnauthorized: false }, handler);
  return `127.0.0.1:${port}`;
}

function responding(text: string, log: string[] = []): Handler {
  return ({ headers, url }, response) => {
    log.push(`${url} ${headers.authorization ?? ''}`);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(text));
  };
}

function connect(
  context: TestContext,
  address: string,
  options: { others?: string[]; rotate?: Partial<ClusterCredentials>[] } = {},
) {
  let credentials: ClusterCredentials = {
    certificateAuthorities: authority.certificate,
    clientCertificate: undefined,
    headers: [],
  };
  const apiClient = new ApiClient({
    credentials: async () => {
      credentials = { ...credentials, ...options.rotate?.shift() };
      return credentials;
    },
  });
  context.after(() => apiClient.close());
  return apiClient.watching(() =>
    [address, ...(options.others ?? [])].map((at) => ({ origin: `https://${at}` })),
  );
}

test('tokens and certificates that are rotated are used from the next request on', async (context) => {
  const seen: string[] = [];
  const address = await apiServer(context, ({ headers, socket }, response) => {
    const { authorized } = socket as { authorized?: boolean };
    seen.push(`${headers.authorization} ${authorized}`);
    response.end('{}');
  });
  const connection = connect(context, address, {
    rotate: [
      { headers: ['Authorization', 'Bearer one'] },
      { headers: ['Authorization', 'Bearer two'] },
      { clientCertificate: { certificate: client.chain, key: client.privateKey } },
    ],
  });
  for (let request = 0; request < 3; request++) await connection.get('/api', 'application/json', signal);
  assert.deepEqual(seen, ['Bearer one false', 'Bearer two false', 'Bearer two true']);
});

test('after a failure or a 5xx the next server is asked, and stays in use', async (context) => {
  let asked = 0;
  const goes = await apiServer(context, (_, response) => {
    asked++;
    response.statusCode = 503;
    response.end();
  });
  const lives = await apiServer(context, responding('alive'));
  const connection = connect(context, '127.0.0.1:1', { others: [goes, lives] });
  const ask = () => connection.get('/api', 'application/json', signal);
  for (let request = 0; request < 3; request++) assert.equal((await ask()).body, '"alive"');
  assert.equal(asked, 1);
  const nobody = connect(context, '127.0.0.1:1', { others: ['127.0.0.1:2'] });
  await assert.rejects(nobody.get('/api', 'application/json', signal), { message: /127\.0\.0\.1:1: / });
});

test('a watch that is given up frees its connection at once', async (context) => {
  let closed = false;
  const address = await apiServer(context, (_, response) => {
    response.on('close', () => {
      closed = true;
    });
    response.write('{"type":"BOOKMARK"');
  });
  const controller = new AbortController();
  const { status, chunks } = await connect(context, address).watch(
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

test('a watch whose connection breaks moves on to another server', async (context) => {
  const breaks = await apiServer(context, (_, response) => {
    response.write('{}\n');
    setImmediate(() => response.destroy());
  });
  const lives = await apiServer(context, responding('alive'));
  const connection = connect(context, breaks, { others: [lives] });
  const { chunks } = await connection.watch('/api/v1/pods?watch=true', signal);
  await assert.rejects(async () => {
    for await (const chunk of chunks) assert.equal(chunk, '{}\n');
  });
  assert.equal((await connection.get('/api', 'application/json', signal)).body, '"alive"');
});

test('a response that is not text is no document', async (context) => {
  const address = await apiServer(context, (_, response) => response.end(Buffer.from([0x22, 0xff, 0x22])));
  await assert.rejects(connect(context, address).get('/api', 'application/json', signal), {
    code: 'Unreachable',
  });
});

test('a server that another authority vouches for is not spoken to', async (context) => {
  const log: string[] = [];
  const address = await apiServer(context, responding('alive', log));
  const stranger = await createAuthority('stranger');
  const connection = connect(context, address, {
    rotate: [{ certificateAuthorities: stranger.certificate }],
  });
  await assert.rejects(connection.get('/api', 'application/json', signal), { code: 'Unreachable' });
  assert.deepEqual(log, []);
});
