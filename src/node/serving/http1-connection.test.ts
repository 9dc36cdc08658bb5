import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { MemoryBudget } from '../../../packages/http2/index.ts';
import { get, type Handled, serverOf } from '../../../test/support/api-servers/responses-by-hand.ts';
import { rawClient, readToEnd } from '../../../test/support/clients/node-clients.ts';
import { readUntil } from '../../../test/support/clients/tls-client.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { everyoneVerified } from '../../../test/support/routers/node-server.ts';
import { Deadlines } from '../exchange/deadlines.ts';

/** A client whose request is being handled, and whatever it needs to be answered. */
async function asked(context: TestContext, bytes = get('/1'), options?: Parameters<typeof serverOf>[1]) {
  const { handled, ...server } = await serverOf(context, options);
  const client = await rawClient(context, server.port);
  client.write(bytes);
  await eventually(() => handled.length === 1);
  const [first = assert.fail()] = handled;
  return { ...server, ...first, handled, client };
}

/** The same, of a client that has its response. */
async function answered(context: TestContext) {
  const { client: idle, ...asking } = await asked(context);
  asking.respond(new Response('first.'));
  await readUntil(idle, 'first.');
  return { idle, ...asking };
}

test('a connection on which nothing is ever asked ends, and one that falls silent, but none that waits', async (context) => {
  const limits = { keepAliveTimeout: 500, headersTimeout: 500, connectionsCheckingInterval: 10 };
  const { port, handled } = await serverOf(context, { limits });
  const silent = await rawClient(context, port);
  const waiting = await rawClient(context, port);
  waiting.write(get('/wait'));
  const asking = await rawClient(context, port);
  asking.write(get('/ask'));
  await eventually(() => handled.length === 2);
  const response = (target: string): void =>
    handled.find(({ inbound }) => inbound.target === target)?.respond(new Response('answered'));
  response('/ask');
  assert.match(await readToEnd(asking), /\r\nKeep-Alive: timeout=0\r\n.*answered$/s);
  assert.equal(await readToEnd(silent), '');
  // One that is opened later has ended, too: whoever waits has had all the time that any has.
  assert.equal(await readToEnd(await rawClient(context, port)), '');
  response('/wait');
  assert.match(await readToEnd(waiting), /answered$/);
});

test('draining ends what is idle, and tells who waits that this response is the last', async (context) => {
  const { port, server, handled, idle } = await answered(context);
  const [waiting, unused] = [await rawClient(context, port), await rawClient(context, port)];
  waiting.write(get('/wait'));
  await eventually(() => handled.length === 2);
  server.drain();
  await readToEnd(idle);
  handled[1]?.respond(new Response('last.'));
  assert.match(await readToEnd(waiting), /\r\nConnection: close\r\n.*last\.$/s);
  assert.equal(await readToEnd(unused), '');
});

test('closing lets a client that reads slowly have the end of its response', async (context) => {
  const { port, server, handled, idle } = await answered(context);
  const client = await rawClient(context, port);
  client.write(get('/large'));
  await eventually(() => handled.length === 2);
  const length = 16 * 1024 * 1024;
  handled[1]?.respond(new Response('x'.repeat(length)));
  // All of it has been written here; most of it waits for the client.
  await readUntil(client, '\r\n\r\n');
  const closed = server.close(60_000);
  // The server ends at once a connection that it owes nothing.
  await readToEnd(idle);
  assert.ok((await readToEnd(client)).length > length - 100_000);
  await closed;
});

test('requests of one connection are answered one after the other, in their order, however they come', async (context) => {
  const { handled, client } = await asked(context);
  // Two in one piece; what has not been answered before is not overtaken.
  client.write(get('/2'));
  client.write(get('/3') + get('/4'));
  for (const [index, target] of ['/1', '/2', '/3', '/4'].entries()) {
    await eventually(() => handled.length === index + 1);
    assert.equal(handled[index]?.inbound.target, target);
    handled[index]?.respond(new Response(`response to ${target}.`));
    await readUntil(client, `response to ${target}.`);
  }
});

test('requests with and without bodies follow each other on a connection with not a byte lost', async (context) => {
  const { port, handled } = await serverOf(context);
  const client = await rawClient(context, port);
  const chunked = ['POST /2 HTTP/1.1', 'Host: a', 'Transfer-Encoding: chunked', '', '4', 'body', '0', '', ''];
  const sent = [get('/1'), chunked.join('\r\n'), get('/3')];
  for (const [index, bytes] of sent.entries()) {
    client.write(bytes);
    await eventually(() => handled.length === index + 1);
    const { inbound, respond } = handled[index] as Handled;
    const body = inbound.hasContent ? await new Response(inbound.body()).text() : '';
    respond(new Response(`${inbound.target}: ${body}.`));
    await readUntil(client, `/${index + 1}: ${index === 1 ? 'body' : ''}.`);
  }
});

test('a request that comes in pieces is read as if it had come whole, at whichever byte it is cut', async (context) => {
  const { port, handled } = await serverOf(context);
  const bytes = `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody`;
  for (let cut = 1; cut < bytes.length; cut++) {
    handled.length = 0;
    const client = await rawClient(context, port);
    client.write(bytes.slice(0, cut));
    // A record of TLS of its own.
    await setImmediate();
    client.write(bytes.slice(cut));
    await eventually(() => handled.length === 1);
    const [{ inbound, respond } = assert.fail()] = handled;
    respond(new Response(`${inbound.method} ${await new Response(inbound.body()).text()}.`));
    await readUntil(client, 'POST body.');
    client.destroy();
  }
});

test('a body that came with its head can be read by who is asked second', async (context) => {
  const { inbound } = await asked(context, 'POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody');
  assert.equal(inbound.bodySource?.isAwaited, false);
  assert.equal(Buffer.from(inbound.bodySource?.takeWhole() ?? []).toString(), 'body');
});

test('what follows a complete request and is no HTTP does not take the place of its response', async (context) => {
  const post = 'POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody';
  const { client, respond } = await asked(context, `${post}and more\r\n\r\n`);
  client.write('and still more');
  await setImmediate();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  respond(new Response(readable));
  const body = writable.getWriter();
  await body.write(Buffer.from('carried '));
  assert.match(await readUntil(client, 'carried '), /^HTTP\/1\.1 200 OK\r\n.*Connection: close\r\n/s);
  // Nor does it break the response off once that has begun.
  client.write('and more again');
  await setImmediate();
  await body.write(Buffer.from('out.'));
  await body.close();
  assert.match(await readToEnd(client), /out\./);
});

test('a client that is to be closed may send the rest of its upload, and gets its response', async (context) => {
  const head = 'POST /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n';
  const { client, respond } = await asked(context, head);
  // The client goes on although the router has ended its half.
  client.allowHalfOpen = true;
  const errors: Error[] = [];
  client.on('error', (error) => errors.push(error));
  respond(new Response('too large.', { status: 413 }));
  await readUntil(client, 'too large.');
  for (let sent = 0; sent < 10; sent++) {
    client.write('x'.repeat(100_000));
    await setImmediate();
  }
  await new Promise<void>((resolve) => client.end(() => resolve()));
  await readToEnd(client);
  assert.deepEqual(errors, []);
});

test('a client that goes away while it waits is told of at once, and nobody else is', async (context) => {
  const { port, handled } = await serverOf(context);
  const [leaving, staying] = [await rawClient(context, port), await rawClient(context, port)];
  leaving.write(get('/1'));
  staying.write(get('/2'));
  await eventually(() => handled.length === 2);
  const signals = new Map(handled.map(({ inbound }) => [inbound.target, inbound.signal]));
  leaving.destroy();
  await eventually(() => signals.get('/1')?.aborted === true);
  assert.equal(signals.get('/2')?.aborted, false);
  // Comes too late, and ends nothing else.
  for (const { respond } of handled) respond(new Response('answered'));
  await readUntil(staying, 'answered');
  staying.write(get('/3'));
  await eventually(() => handled.length === 3);
  assert.equal(signals.get('/2')?.aborted, false);
});

test('a client that says that it sends no more is gone', async (context) => {
  const { client, inbound } = await asked(context);
  client.end();
  await eventually(() => inbound.signal.aborted);
});

test('attack: a connection whose requests sent ahead take more memory than there is for them is ended', async (context) => {
  const { handled, client, inbound } = await asked(context, get('/1'), {
    clientCertificateOf: everyoneVerified,
    memory: new MemoryBudget(100_000),
    limits: { heldBytesInterval: 5 },
  });
  const large = get('/ahead', `X-Large: ${'x'.repeat(40 * 1024)}`);
  client.write(large + large + large);
  client.resume();
  await eventually(() => inbound.signal.aborted);
  await eventually(() => client.closed);
  assert.equal(handled.length, 1);
});

for (const [what, lines, status] of [
  ['the client has called the last', ['Connection: close'], 200],
  ['the router has called bad', [], 400],
] as const) {
  test(`what comes behind a request that ${what} is not carried out, be its response on its way or gone`, async (context) => {
    const { port, handled } = await serverOf(context);
    const client = await rawClient(context, port);
    client.write(get('/1', ...lines));
    client.write(get('/ahead'));
    await eventually(() => handled.length === 1);
    handled[0]?.respond(new Response('last.', { status }));
    await readUntil(client, 'last.');
    for (let late = 0; late < 3; late++) {
      client.write(get('/late'));
      await setImmediate();
    }
    client.resume();
    await eventually(() => client.closed);
    assert.deepEqual(
      handled.map(({ inbound }) => inbound.target),
      ['/1'],
    );
  });
}

test('a read whose time is over gets a 503, and one whose response has begun breaks off', async (context) => {
  let now = 0;
  const deadlines = new Deadlines({ timeout: 5_000, clock: () => now });
  context.after(() => deadlines.stop());
  const { port, handled } = await serverOf(context, { deadlines });
  const [early, late] = [await rawClient(context, port), await rawClient(context, port)];
  early.write(get('/early'));
  late.write(get('/late'));
  await eventually(() => handled.length === 2);
  for (const { inbound } of handled) {
    inbound.limitDuration();
    if (inbound.target !== '/late') continue;
    const sink = inbound.responseSink();
    sink.respond(200, []);
    sink.write(Buffer.from('begun'));
  }
  await readUntil(late, 'begun');
  now = 10_000;
  deadlines.check();
  await assert.rejects(readUntil(late, '0\r\n\r\n'));
  const text = await readUntil(early, '"code":503}');
  assert.match(text, /^HTTP\/1\.1 503 Service Unavailable\r\n.*\r\nAudit-ID: .*"reason":"Timeout"/is);
  // The connection takes the next request, and a response that comes too late is nobody's.
  for (const { respond } of handled) respond(new Response('too late'));
  early.write(get('/next'));
  await eventually(() => handled.length === 3);
  handled[2]?.respond(new Response('next.'));
  assert.doesNotMatch(await readUntil(early, 'next.'), /too late/);
});

test('a response that cannot be written ends its connection, not the process', async (context) => {
  const { client, respond } = await asked(context);
  const broken = new ReadableStream({ start: (controller) => controller.error(new Error('broken')) });
  respond(new Response(broken));
  assert.doesNotMatch(await readToEnd(client), /0\r\n\r\n$/);
});

test('a request that the router calls bad is the last of its connection', async (context) => {
  const { handled, client, respond } = await asked(context);
  client.write(get('/2'));
  respond(new Response('bad', { status: 400 }));
  assert.match(await readToEnd(client), /^HTTP\/1\.1 400 Bad Request\r\n.*\r\nConnection: close\r\n.*bad$/s);
  assert.equal(handled.length, 1);
});
