import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { type Dispatcher, errors, FormData, fetch, interceptors, Pool, request } from 'undici';
import { serving, trusting } from '../test/certificate.ts';
import { eventually } from '../test/eventually.ts';
import { listenOnLoopback } from '../test/listen-on-loopback.ts';
import { type PeerIncoming, type PeerOutgoing, startPeer } from '../test/peer.ts';
import { startRawHttp2Server } from '../test/raw-http2-peer.ts';
import { RequestHeadTooLargeError } from './client-session.ts';
import { Http2Pool, type Http2PoolOptions } from './http2-pool.ts';

function connectTo(port: number): Http2PoolOptions['connect'] {
  return async (onread) => {
    const socket: TLSSocket = connect({
      port,
      ...trusting,
      ALPNProtocols: ['h2', 'http/1.1'],
      ...{ onread },
    });
    await once(socket, 'secureConnect');
    return socket;
  };
}

/** A pool to a server; destroyed at the end of the test. */
function poolTo(
  context: TestContext,
  { port }: { readonly port: number },
  options: Partial<Http2PoolOptions> = {},
) {
  const pool = new Http2Pool(`https://127.0.0.1:${port}`, { connect: connectTo(port), ...options });
  context.after(() => pool.destroy());
  return pool;
}

/** Says what it was asked, in JSON. */
async function echo(incoming: PeerIncoming, outgoing: PeerOutgoing): Promise<void> {
  const { method, url, headers } = incoming;
  outgoing.setHeader('x-served', ['one', 'two']);
  outgoing.setHeader('set-cookie', ['a=1', 'b=2']);
  outgoing.end(JSON.stringify({ method, url, header: headers['x-asked'], body: await text(incoming) }));
}

test('fetch of undici goes over it, bodies of every kind and headers with it', async (context) => {
  const peer = await startPeer(context, 'h2', echo);
  const dispatcher = poolTo(context, peer);
  const url = `https://127.0.0.1:${peer.port}/a?b=c`;
  const bodies = ['text', Buffer.from('bytes'), new Blob(['blob']), new Response('stream').body];
  for (const [index, body] of bodies.entries()) {
    const init = { dispatcher, method: 'POST', headers: { 'x-asked': 'yes' }, body, duplex: 'half' } as const;
    const response = await fetch(url, init as Parameters<typeof fetch>[1]);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-served'), 'one, two');
    assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2']);
    const sent = ['text', 'bytes', 'blob', 'stream'][index];
    assert.deepEqual(await response.json(), { method: 'POST', url: '/a?b=c', header: 'yes', body: sent });
  }
  assert.equal(peer.connections(), 1);
});

test('request of undici goes over it, with headers as pairs, as an object or as an iterable', async (context) => {
  const peer = await startPeer(context, 'h2', echo);
  const dispatcher = poolTo(context, peer);
  const kinds = [['x-asked', 'yes'], { 'x-asked': 'yes' }, new Map([['x-asked', 'yes']])];
  for (const headers of kinds) {
    const {
      statusCode,
      headers: answered,
      body,
    } = await request(`https://127.0.0.1:${peer.port}/`, {
      dispatcher,
      headers,
    });
    assert.equal(statusCode, 200);
    assert.equal(answered['x-served'], 'one, two');
    assert.equal(((await body.json()) as { header: string }).header, 'yes');
  }
});

test('a query that undici takes apart from the path is sent with it, and a second one is refused', async (context) => {
  const dispatcher = poolTo(context, await startPeer(context, 'h2', echo));
  const { body } = await dispatcher.request({
    path: '/a',
    method: 'GET',
    query: { b: ['c', 'd'], e: 'f g' },
  });
  assert.equal(((await body.json()) as { url: string }).url, '/a?b=c&b=d&e=f%20g');
  const twice = dispatcher.request({ path: '/a?b=c', method: 'GET', query: { d: 'e' } });
  await assert.rejects(twice, errors.InvalidArgumentError);
});

test('a stream of strings is a body, and one of anything else fails its request only', async (context) => {
  const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
    incoming.on('error', () => {});
    incoming.on('data', (piece: Buffer) => outgoing.write(piece)).on('end', () => outgoing.end());
  });
  const dispatcher = poolTo(context, peer);
  const post = (pieces: unknown[]) =>
    dispatcher.request({ path: '/', method: 'POST', body: Readable.from(pieces) });
  assert.equal(await (await post(['a', '', 'bç', Buffer.from('d')])).body.text(), 'abçd');
  await assert.rejects(post([{ no: 'bytes' }]), TypeError);
  assert.equal((await post([])).statusCode, 200);
  assert.equal(peer.connections(), 1);
});

test('interceptors of undici work with it', async (context) => {
  let asked = 0;
  const peer = await startPeer(context, 'h2', (_incoming, outgoing) => {
    asked++;
    outgoing.writeHead(asked === 1 ? 503 : 200);
    outgoing.end('body');
  });
  const retried = poolTo(context, peer).compose(interceptors.retry({ minTimeout: 1 }));
  const response = await fetch(`https://127.0.0.1:${peer.port}/`, { dispatcher: retried });
  assert.deepEqual([response.status, await response.text(), asked], [200, 'body', 2]);
});

describe('a handler', () => {
  /** Records the events of one request; `during` is called with each. */
  function recorder(during: (event: string, controller: Dispatcher.DispatchController) => void = () => {}) {
    const events: string[] = [];
    const ended = Promise.withResolvers<void>();
    const tell = (event: string, controller: Dispatcher.DispatchController): void => {
      events.push(event);
      during(event, controller);
    };
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (controller) => tell('start', controller),
      onResponseStart: (controller, status) => tell(`status ${status}`, controller),
      onResponseData: (controller, chunk) => tell(`data ${chunk}`, controller),
      onResponseEnd: (controller) => {
        tell('end', controller);
        ended.resolve();
      },
      onResponseError: (controller, error) => {
        tell(`error ${error.message}`, controller);
        ended.resolve();
      },
    };
    return { events, handler, ended: ended.promise };
  }
  const get = { path: '/', method: 'GET' } as const;

  test('is told what happens in its order, once each', async (context) => {
    const peer = await startPeer(context, 'h2', (_incoming, outgoing) => outgoing.end('body'));
    const { events, handler, ended } = recorder();
    // Nothing is connected yet: the request waits.
    assert.equal(poolTo(context, peer).dispatch(get, handler), false);
    await ended;
    assert.deepEqual(events, ['start', 'status 200', 'data body', 'end']);
  });

  test('that aborts before the request is written has nothing sent', async (context) => {
    let asked = 0;
    const peer = await startPeer(context, 'h2', (_incoming, outgoing) => {
      asked++;
      outgoing.end();
    });
    const pool = poolTo(context, peer);
    const { events, handler, ended } = recorder((event, controller) => {
      if (event === 'start') controller.abort(new Error('changed my mind'));
    });
    pool.dispatch(get, handler);
    await ended;
    assert.deepEqual(events, ['start', 'error changed my mind']);
    assert.equal((await fetch(`https://127.0.0.1:${peer.port}/`, { dispatcher: pool })).status, 200);
    assert.equal(asked, 1);
  });

  test('that throws ends its own request, and nothing beside it', async (context) => {
    const outgoings: PeerOutgoing[] = [];
    const peer = await startPeer(context, 'h2', (_incoming, outgoing) => {
      outgoings.push(outgoing);
      outgoing.write('first');
    });
    const pool = poolTo(context, peer);
    const other = await fetch(`https://127.0.0.1:${peer.port}/`, { dispatcher: pool });
    for (const thrownAt of ['status 200', 'data first']) {
      const { events, handler, ended } = recorder((event) => {
        if (event === thrownAt) throw new Error('broken');
      });
      pool.dispatch(get, handler);
      await ended;
      assert.equal(events.at(-1), 'error broken');
    }
    outgoings[0]?.end(' last');
    assert.equal(await other.text(), 'first last');
    assert.equal(peer.connections(), 1);
  });

  test('that pauses gets nothing more until it resumes', async (context) => {
    const peer = await startPeer(context, 'h2', (_incoming, outgoing) => outgoing.end('body'));
    const paused = Promise.withResolvers<Dispatcher.DispatchController>();
    const { events, handler, ended } = recorder((event, controller) => {
      if (event !== 'status 200') return;
      controller.pause();
      paused.resolve(controller);
    });
    poolTo(context, peer).dispatch(get, handler);
    const controller = await paused.promise;
    await setImmediate();
    assert.deepEqual([controller.paused, events.at(-1)], [true, 'status 200']);
    controller.resume();
    await ended;
    assert.deepEqual(events.slice(-2), ['data body', 'end']);
  });

  test('gets an error for what cannot be sent: an upgrade, a body that is none, a head beyond the limit', async (context) => {
    const peer = await startPeer(context, 'h2', (_incoming, outgoing) => outgoing.end());
    const pool = poolTo(context, peer);
    const large = ['x-large', 'a'.repeat(1024 * 1024)];
    for (const [options, expected] of [
      [{ ...get, upgrade: 'websocket' }, errors.NotSupportedError],
      [{ ...get, method: 'CONNECT' }, errors.NotSupportedError],
      [{ ...get, body: 42 as unknown as string }, errors.InvalidArgumentError],
      [{ ...get, headers: large }, RequestHeadTooLargeError],
    ] as const) {
      const failed = Promise.withResolvers<Error>();
      const { headers, ...rest } = { headers: null, ...options };
      pool.dispatch(
        { ...rest, headers: headers === null ? null : [...headers] },
        { onResponseError: (_controller, error) => failed.resolve(error) },
      );
      assert.ok((await failed.promise) instanceof expected);
    }
  });
});

test('drain is emitted when waiting requests have a connection', async (context) => {
  const peer = await startPeer(context, 'h2', (_incoming, outgoing) => outgoing.end());
  const pool = poolTo(context, peer);
  const drained = once(pool, 'drain');
  assert.equal(pool.dispatch({ path: '/', method: 'GET' }, {}), false);
  await drained;
  assert.equal(pool.dispatch({ path: '/', method: 'GET' }, {}), true);
});

test('drain is emitted when waiting requests have failed, too', async (context) => {
  const connect = async (): Promise<never> => Promise.reject(new Error('no connection'));
  const pool = poolTo(context, { port: 1 }, { connect });
  const drained = once(pool, 'drain');
  const failed = Promise.withResolvers<Error>();
  const handler = { onResponseError: (_controller: unknown, error: Error) => failed.resolve(error) };
  assert.equal(pool.dispatch({ path: '/', method: 'GET' }, handler), false);
  assert.match((await failed.promise).message, /no connection/);
  await drained;
});

test('who waits behind a full connection fails when no further one can be opened, and the full one goes on', async (context) => {
  const held: PeerOutgoing[] = [];
  const peer = await startPeer(context, 'h2', (_incoming, outgoing) => void held.push(outgoing));
  let dials = 0;
  const dial = connectTo(peer.port);
  const connect: Http2PoolOptions['connect'] = (onread) =>
    dials++ === 0 ? dial(onread) : Promise.reject(new Error('no connection'));
  const dispatcher = poolTo(context, peer, { connect, streamsPerConnection: 1 });
  const url = `https://127.0.0.1:${peer.port}/`;
  const first = request(url, { dispatcher });
  await eventually(() => held.length === 1);
  await assert.rejects(request(url, { dispatcher }), /no connection/);
  held[0]?.end('answered');
  assert.equal(await (await first).body.text(), 'answered');
});

describe('a server that agrees on HTTP/1.1 only', () => {
  test('fails a request if `http1` is not given', async (context) => {
    const peer = await startPeer(context, 'http/1.1', (_incoming, outgoing) => outgoing.end());
    const url = `https://127.0.0.1:${peer.port}/`;
    await assert.rejects(request(url, { dispatcher: poolTo(context, peer) }), /did not agree on HTTP\/2/);
    await eventually(() => peer.openConnections() === 0);
  });

  test('gets each kind of body', async (context) => {
    const peer = await startPeer(context, 'http/1.1', async (incoming, outgoing) => {
      outgoing.end(await text(incoming));
    });
    const origin = `https://127.0.0.1:${peer.port}`;
    const tls = { servername: trusting.servername, ca: trusting.ca };
    const dispatcher = poolTo(context, peer, {
      http1: () => new Pool(origin, { allowH2: false, connect: tls }),
    });
    const form = new FormData();
    form.set('name', 'sent');
    for (const body of [
      'sent',
      Buffer.from('sent'),
      Readable.from(['sent']),
      new Blob(['sent']).stream(),
      form,
    ]) {
      const response = await request(origin, { dispatcher, method: 'POST', body: body as Readable });
      assert.match(await response.body.text(), /sent/);
    }
  });

  test('sees the whole handshake of the connection that shows it', async (context) => {
    const told: string[] = [];
    const server = createServer({ ...serving, ALPNProtocols: ['http/1.1'] });
    server.on('secureConnection', () => told.push('connected'));
    server.on('tlsClientError', ({ message }) => told.push(message));
    const { port, stop } = await listenOnLoopback(server, 0);
    context.after(stop);
    for (let round = 0; round < 5; round++) {
      await assert.rejects(request(`https://127.0.0.1:${port}/`, { dispatcher: poolTo(context, { port }) }));
    }
    await eventually(() => told.length >= 5);
    assert.deepEqual(told, Array(5).fill('connected'));
  });
});

describe('when it is closed', () => {
  test('requests in flight and waiting ones end first, then the connections', async (context) => {
    const outgoings: PeerOutgoing[] = [];
    const peer = await startPeer(context, 'h2', (_incoming, outgoing) => {
      outgoings.push(outgoing);
      outgoing.write('first');
    });
    const pool = poolTo(context, peer);
    const url = `https://127.0.0.1:${peer.port}/`;
    const pending = fetch(url, { dispatcher: pool });
    const closed = pool.close();
    assert.equal(pool.closed, true);
    await assert.rejects(request(url, { dispatcher: pool }), errors.ClientClosedError);
    const response = await pending;
    outgoings[0]?.end(' last');
    assert.equal(await response.text(), 'first last');
    await closed;
    await eventually(() => peer.openConnections() === 0);
  });

  test('destroy(error) fails all of them at once with that error', async (context) => {
    const peer = await startPeer(context, 'h2', (_incoming, outgoing) => outgoing.write('first'));
    const pool = poolTo(context, peer);
    const url = `https://127.0.0.1:${peer.port}/`;
    const response = await fetch(url, { dispatcher: pool });
    await pool.destroy();
    assert.equal(pool.destroyed, true);
    await assert.rejects(response.text());
    await assert.rejects(request(url, { dispatcher: pool }), errors.ClientDestroyedError);
    await eventually(() => peer.openConnections() === 0);
  });
});

test('without settings in time the request fails, and the connection is closed', async (context) => {
  const peer = await startRawHttp2Server(context, { first: Buffer.alloc(0) });
  const pool = poolTo(context, peer, { settingsTimeout: 20 });
  await assert.rejects(request(`https://127.0.0.1:${peer.port}/`, { dispatcher: pool }), {
    code: 'ETIMEDOUT',
  });
});
