import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InboundRequest } from '../../request/inbound.ts';
import type { OutboundRequest, ResponseHead } from '../../request/transport.ts';
import { TransportError } from '../../request/transport-error.ts';
import type { DenoHttpClient } from './deno-runtime.ts';
import { createDenoTransport, type DenoFetch, type DenoTransportOptions } from './deno-transport.ts';

const client: DenoHttpClient = { close() {} };
const frontProxyClient: DenoHttpClient = { close() {} };

const outbound: OutboundRequest = {
  destination: {
    kind: 'peer',
    id: 'cp-b',
    origin: 'https://cp-b.example:6443',
    serverName: 'cp-b.example',
    trust: { kind: 'peer-ca' },
  },
  method: 'GET',
  target: '/apis?limit=5',
  headers: ['X-Remote-Group', 'a', 'X-Remote-Group', 'b, c', 'Accept-Encoding', 'gzip'],
  presentFrontProxyCertificate: true,
  longRunning: false,
};

const inbound: InboundRequest = {
  method: 'GET',
  target: '/apis?limit=5',
  headers: [],
  connection: {},
  body: () => null,
  signal: new AbortController().signal,
};

function send(
  fetch: DenoFetch,
  changes: Partial<OutboundRequest> = {},
  options: Partial<DenoTransportOptions> = {},
): Promise<Response> {
  const transport = createDenoTransport({ client, frontProxyClient, fetch, ...options });
  return transport.send({ ...outbound, ...changes }, inbound, (head) => ({
    kind: 'forward',
    headers: head.headers,
  }));
}

function failing(cause: string): DenoFetch {
  return () => Promise.reject(new TypeError('fetch failed', { cause: new Error(cause) }));
}

async function codeOf(sending: Promise<Response>): Promise<readonly [string, boolean]> {
  const error = await sending.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof TransportError);
  return [error.code, error.requestMayHaveArrived];
}

test('lines go to fetch as pairs, one each, and compression is never asked for', async () => {
  let sent: readonly [string, string][] = [];
  await send(async (url, { headers, redirect }) => {
    assert.equal(url, 'https://cp-b.example:6443/apis?limit=5');
    assert.equal(redirect, 'manual');
    sent = headers;
    return new Response('{}');
  });
  assert.deepEqual(sent, [
    ['X-Remote-Group', 'a'],
    ['X-Remote-Group', 'b, c'],
    ['accept-encoding', 'identity'],
  ]);
});

test('the front-proxy certificate is presented with X-Remote headers and never without', async () => {
  const used: DenoHttpClient[] = [];
  const fetch: DenoFetch = async (_url, init) => {
    used.push(init.client);
    return new Response();
  };
  await send(fetch);
  await send(fetch, { presentFrontProxyCertificate: false });
  assert.deepEqual(
    used.map((each) => each === frontProxyClient),
    [true, false],
  );
  assert.deepEqual(await codeOf(send(fetch, {}, { frontProxyClient: undefined })), ['TLSFailed', false]);
  assert.equal(used.length, 2);
});

test('an extension server with trust of its own is not connected to', async () => {
  const destination = { ...outbound.destination, trust: { kind: 'insecure-skip-tls-verify' as const } };
  const never: DenoFetch = () => assert.fail('nothing may be sent');
  assert.deepEqual(await codeOf(send(never, { destination })), ['TLSFailed', false]);
});

test('only what failed before the first byte counts as not arrived', async () => {
  const prefix = 'error sending request for url (https://cp-b.example:6443/): client error (Connect): ';
  const refused = failing(`${prefix}tcp connect error: Connection refused (os error 111)`);
  assert.deepEqual(await codeOf(send(refused)), ['ConnectFailed', false]);
  const untrusted = failing(`${prefix}invalid peer certificate: UnknownIssuer`);
  assert.deepEqual(await codeOf(send(untrusted)), ['TLSFailed', false]);
  const closed = failing('peer closed connection without sending TLS close_notify');
  assert.deepEqual(await codeOf(send(closed)), ['ConnectionClosed', true]);
});

test('a destination that does not respond in time is given up, a watch is waited for', async () => {
  const silent: DenoFetch = (_url, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  assert.deepEqual(await codeOf(send(silent, {}, { headTimeout: 1 })), ['Timeout', true]);
  const signals: AbortSignal[] = [];
  const watch: DenoFetch = async (_url, { signal }) => {
    signals.push(signal);
    return new Response('ADDED');
  };
  await send(watch, { longRunning: true }, { headTimeout: 1 });
  assert.equal(signals[0], inbound.signal, 'nothing but the client can end it');
});

test('the response keeps its code and its lines, and one that is replaced is not read', async () => {
  let cancelled = false;
  const body = new ReadableStream({
    cancel() {
      cancelled = true;
    },
  });
  const answer = new Response(body, { status: 404, headers: { 'x-a': 'b' } });
  const transport = createDenoTransport({ client, fetch: async () => answer });
  let seen: ResponseHead | undefined;
  const response = await transport.send(
    { ...outbound, presentFrontProxyCertificate: false },
    inbound,
    (head) => {
      seen = head;
      return { kind: 'replace', response: new Response('other', { status: 503 }) };
    },
  );
  assert.equal(seen?.status, 404);
  assert.deepEqual(seen.headers, ['x-a', 'b']);
  assert.equal(response.status, 503);
  assert.ok(cancelled);
});
