// One Worker on real workerd: what its requests look like to the servers behind, and its answers to clients.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { startWorkerCluster, verified, type WorkerCluster } from '../support/edge/worker-cluster.ts';

let edge: WorkerCluster;
before(async () => {
  edge = await startWorkerCluster();
  const { status, body } = await edge.pushGeneration(1);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.result, body.persisted], ['accepted', true]);
});
after(() => edge.close());

const pods = '/api/v1/namespaces/default/pods';
const jobs = '/apis/batch/v1/namespaces/default/jobs';

function last<Item>(items: readonly Item[]): Item {
  const item = items.at(-1);
  assert.ok(item !== undefined);
  return item;
}

test('what only a peer serves goes to the peer, told over mutual TLS who calls, one line a group', async () => {
  const response = await edge.miniflare.dispatchFetch(`http://router${jobs}?limit=1`, {
    headers: {
      'X-Remote-User': 'root',
      'x-remote-group': 'system:masters',
      'x-kubernetes-peer-proxied': 'true',
    },
    ...verified('CN=jane,O=b\\, c,O=a'),
  });
  assert.deepEqual(await response.json(), { answered: `${jobs}?limit=1` });
  const { headers, target, clientName } = last(edge.peer.requests);
  assert.equal(target, `${jobs}?limit=1`);
  assert.equal(clientName, 'front-proxy-client');
  assert.deepEqual(allHeaders(headers, 'x-remote-user'), ['jane']);
  assert.deepEqual(allHeaders(headers, 'x-remote-group'), ['a', 'b, c', 'system:authenticated']);
  assert.deepEqual(allHeaders(headers, 'x-kubernetes-peer-proxied'), ['true']);
});

test('callers that the platform did not verify keep their own credentials and get no certificate', async () => {
  const unverified = { cf: { tlsClientAuth: { certPresented: '0', certVerified: 'NONE' } } };
  for (const init of [unverified, {}]) {
    const response = await edge.miniflare.dispatchFetch(`http://router${pods}`, {
      headers: { authorization: 'Bearer of-the-cluster', 'x-remote-user': 'admin' },
      ...init,
    });
    assert.equal(response.status, 200);
    const { headers, clientName } = last(edge.local.requests);
    assert.equal(clientName, undefined);
    assert.deepEqual(allHeaders(headers, 'authorization'), ['Bearer of-the-cluster']);
    assert.deepEqual(allHeaders(headers, 'x-remote-user'), []);
  }
});

test('a certificate that is revoked, unverified or has a doubtful subject is refused', async () => {
  const good = verified('CN=jane').cf.tlsClientAuth;
  for (const tlsClientAuth of [
    { ...good, certRevoked: '1' },
    { ...good, certVerified: 'FAILED:unable to verify the first certificate' },
    { ...good, certSubjectDNRFC2253: 'CN=jane+O=system:masters' },
  ]) {
    const response = await edge.miniflare.dispatchFetch(`http://router${pods}`, { cf: { tlsClientAuth } });
    assert.equal(response.status, 401);
    await response.body?.cancel();
  }
});

/** Sends bytes and reads until the server closes the connection. */
async function exchange(text: string): Promise<Buffer> {
  const { port } = await edge.miniflare.ready;
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(text);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

test('a Host that is more than a host is refused, for workerd would take it for the beginning of the path', async () => {
  const before = edge.local.requests.length;
  for (const host of ['router/apis/batch/v1/jobs', 'user@router', 'router?a']) {
    const answer = await exchange(`GET ${pods} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    assert.match(answer.toString(), /^HTTP\/1\.1 400 /, host);
  }
  assert.equal(edge.local.requests.length, before);
  const answer = await exchange(`GET ${pods} HTTP/1.1\r\nHost: ROUTER:6443\r\nConnection: close\r\n\r\n`);
  assert.match(answer.toString(), /^HTTP\/1\.1 200 /);
});

test('repeated header lines stay apart on the way out and on the way back', async () => {
  edge.local.answer = (_incoming, outgoing) => {
    outgoing.setHeader('warning', ['299 - "one"', '299 - "two, three"']);
    outgoing.end('{}');
  };
  const answer = await exchange(
    `GET ${pods} HTTP/1.1\r\nHost: router\r\nAuthorization: Bearer x\r\nConnection: close\r\n` +
      'Impersonate-User: jane\r\nImpersonate-Group: a\r\nImpersonate-Group: b, c\r\n\r\n',
  );
  assert.deepEqual(allHeaders(last(edge.local.requests).headers, 'impersonate-group'), ['a', 'b, c']);
  const warnings = answer.toString().match(/^warning: .*$/gim) ?? [];
  assert.deepEqual(
    warnings.map((line) => line.slice(9)),
    ['299 - "one"', '299 - "two, three"'],
  );
});

test('groups that a client spreads over lines never become those of a caller with a comma in one', async () => {
  // Read as web Headers, the client's two lines and our one are the same text.
  const headers = new Headers({ 'x-remote-user': 'jane' });
  headers.append('x-remote-group', 'system:masters');
  headers.append('x-remote-group', 'system:authenticated');
  await edge.miniflare.dispatchFetch(`http://router${jobs}`, {
    headers,
    ...verified('CN=jane,O=system:masters\\, system:authenticated'),
  });
  const told = allHeaders(last(edge.peer.requests).headers, 'x-remote-group');
  assert.deepEqual(told, ['system:masters, system:authenticated', 'system:authenticated']);
});

test('a compressed body reaches the client as the server sent it', async () => {
  const body = gzipSync('{"kind":"PodList"}'.repeat(200));
  edge.local.answer = (_incoming, outgoing) => {
    outgoing.writeHead(200, {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'content-length': body.byteLength,
    });
    outgoing.end(body);
  };
  const answer = await exchange(
    `GET ${pods} HTTP/1.1\r\nHost: router\r\nAuthorization: Bearer x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`,
  );
  const end = answer.indexOf('\r\n\r\n') + 4;
  const head = answer.subarray(0, end).toString();
  assert.match(head, /^content-encoding: gzip\r$/im);
  assert.match(head, new RegExp(`^content-length: ${body.byteLength}\r$`, 'im'));
  assert.deepEqual(answer.subarray(end), body);
});

test('a watch passes on each event before the next one is sent, and ends at the server when the client goes', async () => {
  const { promise: gone, resolve: ended } = Promise.withResolvers<void>();
  const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
  const { promise: clientIsGone, resolve: clientGoes } = Promise.withResolvers<void>();
  edge.local.answer = (_incoming, outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' });
    outgoing.on('close', ended);
    outgoing.write('{"type":"ADDED"}\n');
    void mayGoOn.then(() => outgoing.write('{"type":"MODIFIED"}\n'));
    void clientIsGone.then(() => {
      const bookmarks = setInterval(() => outgoing.write('{"type":"BOOKMARK"}\n'), 20);
      outgoing.on('close', () => clearInterval(bookmarks));
    });
  };
  const controller = new AbortController();
  const { port } = await edge.miniflare.ready;
  const response = await fetch(`http://127.0.0.1:${port}${pods}?watch=true`, {
    headers: { 'accept-encoding': 'gzip', authorization: 'Bearer x' },
    signal: controller.signal,
  });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  // The server sends the second event only after this client has the first.
  assert.equal(decoder.decode((await reader?.read())?.value), '{"type":"ADDED"}\n');
  goOn();
  assert.equal(decoder.decode((await reader?.read())?.value), '{"type":"MODIFIED"}\n');
  controller.abort();
  // workerd notices that a client is gone when it writes to it: the next event is what ends the watch.
  clientGoes();
  await gone;
});

test('a redirect is passed on from the local server and refused from a peer, never followed', async () => {
  const redirect = (_incoming: unknown, outgoing: import('node:http').ServerResponse): void => {
    outgoing.writeHead(302, { location: 'https://elsewhere.example/' });
    outgoing.end();
  };
  edge.local.answer = redirect;
  edge.peer.answer = redirect;
  const options = { redirect: 'manual', ...verified('CN=jane') } as const;
  const local = await edge.miniflare.dispatchFetch(`http://router${pods}`, options);
  assert.deepEqual([local.status, local.headers.get('location')], [302, 'https://elsewhere.example/']);
  const peer = await edge.miniflare.dispatchFetch(`http://router${jobs}`, options);
  assert.equal(peer.status, 503);
  await peer.body?.cancel();
});

test('a WebSocket goes through with the identity of its caller and its subprotocol', async () => {
  const response = await edge.miniflare.dispatchFetch(
    'http://router/api/v1/namespaces/n/pods/p/exec?command=ls',
    {
      headers: {
        upgrade: 'websocket',
        'sec-websocket-protocol': 'v5.channel.k8s.io',
        'x-remote-user': 'root',
      },
      ...verified('CN=jane,O=a'),
    },
  );
  assert.equal(response.status, 101);
  assert.equal(response.headers.get('sec-websocket-protocol'), 'v5.channel.k8s.io');
  const socket = response.webSocket;
  assert.ok(socket !== null);
  const answered = new Promise<unknown>((resolve) => {
    socket.addEventListener('message', ({ data }) => resolve(data));
  });
  socket.accept();
  socket.send('hello');
  assert.equal(await answered, 'hello');
  socket.close();
  const { headers, clientName } = last(edge.local.requests);
  assert.equal(clientName, 'front-proxy-client');
  assert.deepEqual(allHeaders(headers, 'x-remote-user'), ['jane']);
});

test('SPDY is refused with a Status that names the kubectl to use, and reaches no server', async () => {
  const before = edge.local.requests.length;
  const answer = await exchange(
    'POST /api/v1/namespaces/n/pods/p/exec?command=ls HTTP/1.1\r\nHost: router\r\nConnection: Upgrade, close\r\n' +
      'Upgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n',
  ).then(String);
  assert.match(answer, /^HTTP\/1\.1 400 /);
  assert.match(answer, /"kind":"Status".*kubectl 1\.30 or newer/);
  assert.equal(edge.local.requests.length, before);
});

test('merged discovery and the own paths are there when they are first asked for', async () => {
  edge.local.answer = (_incoming, outgoing) => void outgoing.writeHead(200).end('{}');
  const discovery = await edge.miniflare.dispatchFetch('http://router/apis', {
    headers: { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' },
    ...verified('CN=jane'),
  });
  const { items } = (await discovery.json()) as { items: { metadata: { name: string } }[] };
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['batch'],
  );
  const status = await edge.miniflare.dispatchFetch('http://router/.mixed-version-proxy/v1/status', {
    ...verified('CN=admin,O=system:masters'),
  });
  assert.equal(((await status.json()) as { snapshot: { generation: number } }).snapshot.generation, 1);
  const refused = await edge.miniflare.dispatchFetch('http://router/.mixed-version-proxy/v1/status', {
    ...verified('CN=jane'),
  });
  // The server here says nothing of who may.
  assert.equal(refused.status, 503);
  await refused.body?.cancel();
});
