import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http2';
import { describe, test } from 'node:test';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { eventually } from '../../../test/support/eventually.ts';
import { settled, startAdapter } from '../../../test/support/http2-adapter.ts';
import { askHttp2, http2Client } from '../../../test/support/node-clients.ts';
import type { Http2Bindings } from './fetch-adapter.ts';

type Environment = { Bindings: Http2Bindings };

describe('a Hono app served by the adapter', () => {
  test('serves many streams of one connection by its routes', async (context) => {
    const app = new Hono<Environment>();
    app.get('/hello/:name', (it) => it.text(`hello ${it.req.param('name')}`));
    app.post('/sum', async (it) => {
      const { numbers } = await it.req.json<{ numbers: number[] }>();
      return it.json({ sum: numbers.reduce((sum, each) => sum + each, 0) }, 201, { 'x-added': 'yes' });
    });
    app.get('/from', (it) => it.text(it.env.incoming.socket.remoteAddress ?? ''));
    const { port } = await startAdapter(context, app.fetch);
    const session = http2Client(context, port);
    const names = Array.from({ length: 50 }, (_, index) => `name-${index}`);
    const responses = await Promise.all(names.map((name) => askHttp2(session, { path: `/hello/${name}` })));
    assert.deepEqual(
      responses.map(({ body }) => body.toString()),
      names.map((name) => `hello ${name}`),
    );
    const sum = await askHttp2(session, { method: 'POST', path: '/sum', body: '{"numbers":[1,2,3]}' });
    assert.equal(sum.status, 201);
    assert.ok(sum.headers.includes('x-added'));
    assert.deepEqual(JSON.parse(sum.body.toString()), { sum: 6 });
    assert.equal((await askHttp2(session, { path: '/none' })).status, 404);
    assert.equal((await askHttp2(session, { path: '/from' })).body.toString(), '127.0.0.1');
  });

  test('sends what its middleware sets, several Set-Cookie lines included', async (context) => {
    const app = new Hono();
    app.use(async (it, next) => {
      await next();
      it.header('set-cookie', 'a=1', { append: true });
      it.header('set-cookie', 'b=2', { append: true });
    });
    app.get('/', (it) => it.body(null, 204));
    const { port } = await startAdapter(context, app.fetch);
    const { status, headers } = await askHttp2(http2Client(context, port));
    assert.equal(status, 204);
    const cookies = headers.filter((_, index) => headers[index - 1] === 'set-cookie');
    assert.deepEqual(cookies, ['a=1', 'b=2']);
  });
});

describe('a response that the handler writes into the stream', () => {
  test('is sent at once; the returned marker adds nothing', async (context) => {
    const app = new Hono<Environment>();
    app.get('/', ({ env: { incoming } }) => {
      assert.equal(incoming.head.target, '/?a=%2F');
      incoming.respond(207, ['X-Twice', '1', 'x-twice', '2', 'connection', 'close']);
      incoming.write(Buffer.from('written by '));
      setImmediate(() => {
        incoming.write(Buffer.from('hand'));
        incoming.end();
      });
      return RESPONSE_ALREADY_SENT;
    });
    const { port } = await startAdapter(context, app.fetch);
    const session = http2Client(context, port);
    const { status, headers, body } = await askHttp2(session, { path: '/?a=%2F' });
    assert.equal(status, 207);
    assert.deepEqual(headers.slice(0, 4), ['x-twice', '1', 'x-twice', '2']);
    assert.ok(!headers.includes('connection'));
    assert.equal(body.toString(), 'written by hand');
    // Hono hands back a response of its own for HEAD.
    const head = await askHttp2(session, { method: 'HEAD', path: '/?a=%2F' });
    assert.deepEqual([head.status, head.body.length], [207, 0]);
  });

  test('may begin after the marker was returned, and is told when there is room again', async (context) => {
    const size = 1_000_000;
    const { port } = await startAdapter(context, (_request, { incoming }) => {
      let left = size;
      const writer = {
        onRoom() {
          while (left > 0) {
            const piece = Buffer.alloc(Math.min(left, 30_000));
            left -= piece.length;
            if (!incoming.write(piece)) return;
          }
          incoming.end();
        },
        onClosed() {},
      };
      setImmediate(() => {
        incoming.writer = writer;
        incoming.respond(200, []);
        writer.onRoom();
      });
      return RESPONSE_ALREADY_SENT;
    });
    assert.equal((await askHttp2(http2Client(context, port))).body.length, size);
  });

  test('needs exactly one head, before its content', async (context) => {
    const { port } = await startAdapter(context, (_request, { incoming }) => {
      assert.throws(() => incoming.write(Buffer.from('x')), TypeError);
      assert.throws(() => incoming.end(), TypeError);
      assert.throws(() => incoming.respond(200, ['x-broken', 'a\nb']), TypeError);
      incoming.respond(201, []);
      assert.throws(() => incoming.respond(200, []), TypeError);
      incoming.end();
      return RESPONSE_ALREADY_SENT;
    });
    assert.equal((await askHttp2(http2Client(context, port))).status, 201);
  });
});

describe('requests that do not reach the fetch handler', () => {
  const refused: Readonly<Record<number, OutgoingHttpHeaders>> = {
    400: { ':authority': 'a:b' },
    405: { ':method': 'CONNECT', ':authority': 'elsewhere:443' },
    417: { ':method': 'POST', expect: 'something-else' },
    431: { 'x-test': Array.from({ length: 2_000 }, () => '01234567890123') },
  };
  for (const [status, headers] of Object.entries(refused)) {
    test(`${status}: has the body that the options give, and the connection stays open`, async (context) => {
      let asked = 0;
      const fetch = () => {
        asked++;
        return new Response('fine');
      };
      const statuses: number[] = [];
      const refusal = (code: number): Response => {
        statuses.push(code);
        return new Response(`refused: ${code}`, { status: code });
      };
      const limits = { maximumHeaderLines: 1_000 };
      const { port } = await startAdapter(context, fetch, { refusal, limits });
      const session = http2Client(context, port);
      const stream = session.request(headers);
      const [head] = await once(stream, 'response');
      assert.equal(head[':status'], Number(status));
      assert.equal((await stream.setEncoding('utf8').toArray()).join(''), `refused: ${status}`);
      assert.deepEqual([asked, statuses], [0, [Number(status)]]);
      assert.equal((await askHttp2(session)).body.toString(), 'fine');
      const plain = await startAdapter(context, fetch, { limits });
      const bare = http2Client(context, plain.port).request(headers);
      assert.equal((await once(bare, 'response'))[0][':status'], Number(status));
      assert.equal((await bare.toArray()).length, 0);
    });
  }

  test('a client that expects 100-continue gets 100', async (context) => {
    const { port } = await startAdapter(context, async (request) => new Response(await request.text()));
    const stream = http2Client(context, port).request(
      { ':method': 'POST', expect: '100-continue' },
      { endStream: false },
    );
    await once(stream, 'continue');
    stream.end('content');
    assert.equal((await stream.setEncoding('utf8').toArray()).join(''), 'content');
  });

  test('a verified client may have longer heads', async (context) => {
    const { port } = await startAdapter(context, () => new Response('fine'), { isVerified: () => true });
    const headers = ['x-large', 'x'.repeat(100_000)];
    assert.equal((await askHttp2(http2Client(context, port), { headers })).status, 200);
  });
});

describe('the end of connections', () => {
  test('close() sends GOAWAY, lets responses end, and resolves when no connection is left', async (context) => {
    const response = Promise.withResolvers<Response>();
    let asked = 0;
    const { port, http2 } = await startAdapter(context, () => {
      asked++;
      return response.promise;
    });
    const busy = http2Client(context, port);
    const idle = http2Client(context, port);
    const answered = askHttp2(busy);
    await eventually(() => asked === 1);
    await settled(idle);
    const goneAway = [busy, idle].map((session) => once(session, 'goaway'));
    let isClosed = false;
    const closed = http2.close().then(() => {
      isClosed = true;
    });
    assert.deepEqual(
      (await Promise.all(goneAway)).map(([code]) => code),
      [0, 0],
    );
    if (!idle.closed) await once(idle, 'close');
    assert.equal(isClosed, false);
    response.resolve(new Response('in time'));
    assert.equal((await answered).body.toString(), 'in time');
    await closed;
  });

  test('a connection that is accepted after close() gets one response, and GOAWAY with it', async (context) => {
    const { port, http2 } = await startAdapter(context, () => new Response('fine'));
    await http2.close();
    const session = http2Client(context, port);
    const goneAway = once(session, 'goaway');
    assert.equal((await askHttp2(session)).body.toString(), 'fine');
    await goneAway;
    await http2.close();
  });

  test('a handler may close the connection of its request, after the requests in flight', async (context) => {
    const { port } = await startAdapter(context, (_request, { incoming }) => {
      incoming.closeConnection();
      return new Response('the last one');
    });
    const session = http2Client(context, port);
    const goneAway = once(session, 'goaway');
    assert.equal((await askHttp2(session)).body.toString(), 'the last one');
    await goneAway;
  });

  test('an idle connection ends after its time-out; one with a request does not', async (context) => {
    context.mock.timers.enable({ apis: ['setInterval'] });
    const response = Promise.withResolvers<Response>();
    let asked = 0;
    const { port } = await startAdapter(
      context,
      () => {
        asked++;
        return response.promise;
      },
      { limits: { keepAliveTimeout: 40_000 } },
    );
    const busy = http2Client(context, port);
    const idle = http2Client(context, port);
    let isToldSo = false;
    busy.on('goaway', () => {
      isToldSo = true;
    });
    const answered = askHttp2(busy);
    await eventually(() => asked === 1);
    await settled(idle);
    const goneAway = once(idle, 'goaway');
    context.mock.timers.tick(40_000);
    await settled(idle);
    context.mock.timers.tick(10_000);
    await goneAway;
    context.mock.timers.tick(100_000);
    await settled(busy);
    assert.equal(isToldSo, false);
    response.resolve(new Response('in time'));
    assert.equal((await answered).body.toString(), 'in time');
  });

  test('destroy() ends everything at once', async (context) => {
    let asked = 0;
    const { port, http2 } = await startAdapter(context, () => {
      asked++;
      return new Promise(() => {});
    });
    const answered = assert.rejects(askHttp2(http2Client(context, port)));
    await eventually(() => asked === 1);
    http2.destroy();
    await answered;
    await http2.close();
  });
});
