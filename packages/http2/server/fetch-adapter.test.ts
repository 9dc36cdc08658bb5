import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Stream, constants, type OutgoingHttpHeaders } from 'node:http2';
import { describe, test } from 'node:test';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { settled, startAdapter } from '../test/adapter.ts';
import { eventually } from '../test/eventually.ts';
import { askHttp2, http2Client } from '../test/node-client.ts';
import type { Http2Bindings } from './fetch-adapter.ts';

test('the fetch handler gets a request whose parts are there when they are asked for', async (context) => {
  const { port } = await startAdapter(context, async (request) => {
    assert.ok(request instanceof Request);
    const { method, url, headers } = request;
    const copy = request.clone();
    const text = await request.text();
    assert.equal(await copy.text(), text);
    assert.equal(request.bodyUsed, true);
    return Response.json({ method, url, header: headers.get('x-test'), text });
  });
  const { body } = await askHttp2(http2Client(context, port), {
    method: 'PUT',
    path: '/other?a=%2F',
    headers: ['x-test', 'a', 'x-test', 'b'],
    body: 'content',
  });
  assert.deepEqual(JSON.parse(body.toString()), {
    method: 'PUT',
    url: `https://localhost:${port}/other?a=%2F`,
    header: 'a, b',
    text: 'content',
  });
});

test('a URL names the host that the client asks for, or the one of the options, and the target as it came', async (context) => {
  const tellUrl = (request: Request) => new Response(request.url);
  const { port } = await startAdapter(context, tellUrl);
  const session = http2Client(context, port);
  const ask = async (asked: typeof session, headers: Record<string, string>): Promise<string> => {
    const stream = asked.request(headers).setEncoding('utf8');
    return (await stream.toArray()).join('');
  };
  assert.equal(
    await ask(session, { ':path': '/a/../b\\c', ':authority': 'Host.example:8443' }),
    'https://Host.example:8443/a/../b\\c',
  );
  assert.equal(
    await ask(session, { ':method': 'OPTIONS', ':path': '*', ':authority': '[::1]' }),
    'https://[::1]/',
  );
  const fixed = await startAdapter(context, tellUrl, { host: 'localhost' });
  assert.equal(
    await ask(http2Client(context, fixed.port), { ':path': '/', ':authority': 'a:b' }),
    'https://localhost/',
  );
});

test('a method that `Request` does not take, or spells its own way, is told as it came', async (context) => {
  const { port } = await startAdapter(context, (request) => {
    const { method } = request;
    return new Response(request.headers.has('x-test') ? `${method} ${request.method}` : '');
  });
  for (const method of ['TRACE', 'get', 'PROPFIND']) {
    const { body } = await askHttp2(http2Client(context, port), { method, headers: ['x-test', 'a'] });
    assert.equal(body.toString(), `${method} ${method}`);
  }
});

test('the signal is aborted when the client resets its stream, not when it has its response', async (context) => {
  const signals: AbortSignal[] = [];
  const asked = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const { port } = await startAdapter(context, async (request) => {
    const { signal } = request;
    signals.push(signal);
    if (!request.url.endsWith('/reset')) return new Response('answered');
    signal.addEventListener('abort', () => aborted.resolve());
    asked.resolve();
    await aborted.promise;
    return new Response('too late');
  });
  const session = http2Client(context, port);
  const stream = session.request({ ':path': '/reset' });
  stream.on('error', () => {});
  await asked.promise;
  stream.close(constants.NGHTTP2_CANCEL);
  await aborted.promise;
  assert.equal((await askHttp2(session)).body.toString(), 'answered');
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false],
  );
});

test('a body whose client takes it back fails, and does not pass for the whole', async (context) => {
  const begun = Promise.withResolvers<void>();
  const read = Promise.withResolvers<unknown>();
  const { port } = await startAdapter(context, async (request) => {
    const reader = request.body?.getReader();
    await reader?.read();
    begun.resolve();
    read.resolve(await reader?.read().catch((error: unknown) => error));
    return new Response(null);
  });
  const session = http2Client(context, port);
  const stream = session.request({ ':method': 'POST' }, { endStream: false });
  stream.on('error', () => {});
  stream.write('a part');
  await begun.promise;
  // A stream that is closed by itself Node ends in good order first.
  session.destroy();
  assert.ok((await read.promise) instanceof Error);
});

/** The code that a stream was reset with, once it is over. */
async function resetCode(stream: ClientHttp2Stream): Promise<number | undefined> {
  stream.on('error', () => {}).resume();
  await new Promise((resolve) => stream.once('close', resolve));
  return stream.rstCode;
}

describe('bodies', () => {
  test('pass both ways piece by piece, while the request has not ended', async (context) => {
    const { port } = await startAdapter(context, (request) => new Response(request.body));
    const stream = http2Client(context, port).request({ ':method': 'POST' }, { endStream: false });
    for (const piece of ['one', 'two', 'three']) {
      stream.write(piece);
      assert.equal(String((await once(stream, 'data'))[0]), piece);
    }
    stream.end();
    await once(stream, 'end');
  });

  test('are read no faster than the client takes them, and arrive whole', async (context) => {
    const pieces = 200;
    let pulled = 0;
    const { port } = await startAdapter(context, () => {
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (pulled === pieces) controller.close();
          else controller.enqueue(Buffer.alloc(16_384, ++pulled));
        },
      });
      return new Response(body);
    });
    const session = http2Client(context, port);
    const stream = session.request({ ':path': '/' });
    await once(stream, 'response');
    await settled(session);
    // The client's window has 64 KiB; some more is on the way.
    assert.ok(pulled < 20, `${pulled} pieces were read for a client that reads nothing`);
    const content = Buffer.concat(await stream.toArray());
    assert.equal(content.length, pieces * 16_384);
    for (let index = 0; index < pieces; index++) assert.equal(content[index * 16_384], (index + 1) % 256);
  });

  test('of requests come no faster than they are read', async (context) => {
    const go = Promise.withResolvers<void>();
    const { port } = await startAdapter(context, async (request) => {
      await go.promise;
      return new Response(String((await request.bytes()).length));
    });
    const session = http2Client(context, port);
    const stream = session.request({ ':method': 'POST' }, { endStream: false });
    stream.end(Buffer.alloc(2_000_000));
    await settled(session);
    assert.ok((session.state.remoteWindowSize ?? 0) > 0, 'the connection is open for others');
    assert.equal(stream.state.state, constants.NGHTTP2_STREAM_STATE_OPEN, 'it has not been sent whole');
    go.resolve();
    assert.equal((await stream.setEncoding('utf8').toArray()).join(''), '2000000');
  });

  test('are cancelled when the client goes away', async (context) => {
    const cancelled = Promise.withResolvers<void>();
    const failures: unknown[] = [];
    const fetch = () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(Buffer.from('a beginning')),
          cancel: () => cancelled.resolve(),
        }),
      );
    const onFailure = (...failure: unknown[]) => failures.push(failure);
    const { port } = await startAdapter(context, fetch, { onFailure });
    const stream = http2Client(context, port).request({ ':path': '/' });
    await once(stream, 'data');
    stream.close(constants.NGHTTP2_CANCEL);
    await cancelled.promise;
    assert.deepEqual(failures, []);
  });

  test('are cancelled unread if the client has gone before the response', async (context) => {
    const cancelled = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const { port } = await startAdapter(context, async (_request, { incoming }) => {
      const gone = new Promise<void>((resolve) => incoming.follow({ onClosed: resolve }));
      asked.resolve();
      await gone;
      return new Response(new ReadableStream({ cancel: () => cancelled.resolve() }));
    });
    const stream = http2Client(context, port).request({ ':path': '/' });
    stream.on('error', () => {});
    await asked.promise;
    stream.close(constants.NGHTTP2_CANCEL);
    await cancelled.promise;
  });
});

describe('a fetch handler that fails', () => {
  const kinds: Readonly<Record<string, () => Response | Promise<Response>>> = {
    'at once': () => {
      throw new Error('an error');
    },
    'by its promise': () => Promise.reject(new Error('an error')),
    'to return a response': () => undefined as never,
  };
  for (const [how, fail] of Object.entries(kinds)) {
    test(`${how}: gets 500, or the error handler’s response, and the connection stays open`, async (context) => {
      const plain = await startAdapter(context, (request) =>
        request.url.endsWith('/fail') ? fail() : new Response('fine'),
      );
      const session = http2Client(context, plain.port);
      const failed = await askHttp2(session, { path: '/fail' });
      assert.equal(failed.status, 500);
      assert.equal(failed.body.length, 0);
      assert.equal((await askHttp2(session)).body.toString(), 'fine');
      const worded = await startAdapter(context, fail, {
        errorHandler: async (error) => new Response(`sorry: ${error instanceof Error}`, { status: 503 }),
      });
      const { status, body } = await askHttp2(http2Client(context, worded.port));
      assert.deepEqual([status, body.toString()], [503, 'sorry: true']);
    });
  }

  test('after the head of its response: the stream is reset, so that a part does not pass for the whole', async (context) => {
    const { port } = await startAdapter(context, async (_request, { incoming }) => {
      incoming.respond(200, []);
      incoming.write(Buffer.from('a part'));
      throw new Error('an error');
    });
    const stream = http2Client(context, port).request({ ':path': '/' });
    assert.equal(await resetCode(stream), constants.NGHTTP2_INTERNAL_ERROR);
  });

  const responses: Readonly<Record<string, () => Response>> = {
    'a body that fails': () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(Buffer.from('a part')),
          pull: (controller) => controller.error(new Error('an error')),
        }),
      ),
    'a body of something else than bytes': () =>
      new Response(new ReadableStream({ pull: (controller) => controller.enqueue('text' as never) })),
    'a body that somebody has read': () => {
      const response = new Response('read');
      response.body?.getReader();
      return response;
    },
  };
  for (const [what, response] of Object.entries(responses)) {
    test(`with ${what}: resets the stream, reports the error, and the connection stays open`, async (context) => {
      const failures: unknown[] = [];
      const { port } = await startAdapter(
        context,
        (request) => (request.url.endsWith('/fail') ? response() : new Response('fine')),
        { onFailure: (kind) => failures.push(kind) },
      );
      const session = http2Client(context, port);
      assert.equal(await resetCode(session.request({ ':path': '/fail' })), constants.NGHTTP2_INTERNAL_ERROR);
      assert.deepEqual(failures, ['response']);
      assert.equal((await askHttp2(session)).body.toString(), 'fine');
    });
  }

  test('in its error handler, too: the stream is reset', async (context) => {
    const fail = (): never => {
      throw new Error('an error');
    };
    const { port } = await startAdapter(context, fail, { errorHandler: fail });
    const stream = http2Client(context, port).request({ ':path': '/' });
    assert.equal(await resetCode(stream), constants.NGHTTP2_INTERNAL_ERROR);
  });
});

type Environment = { Bindings: Http2Bindings };

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
        onGone() {},
      };
      setImmediate(() => {
        incoming.attach(writer);
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

  test('a verified client may have longer heads', async (context) => {
    const { port } = await startAdapter(context, () => new Response('fine'), {
      identityOf: () => 'everyone',
    });
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
