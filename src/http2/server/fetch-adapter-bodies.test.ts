import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Stream, constants } from 'node:http2';
import { describe, test } from 'node:test';
import { settled, startAdapter } from '../../../test/support/http2-adapter.ts';
import { askHttp2, http2Client } from '../../../test/support/node-clients.ts';

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
    // Its window has 64 KiB; some more is on the way.
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

  test('of responses to HEAD, and of a 304, are not sent', async (context) => {
    let cancelled = 0;
    const { port } = await startAdapter(context, (request) => {
      const body = request.method === 'HEAD' ? new ReadableStream({ cancel: () => void cancelled++ }) : null;
      const status = request.method === 'HEAD' ? 200 : 304;
      return new Response(body, { status, headers: { 'content-length': '12' } });
    });
    const session = http2Client(context, port);
    for (const method of ['HEAD', 'GET']) {
      const { headers, body } = await askHttp2(session, { method });
      assert.equal(headers[headers.indexOf('content-length') + 1], '12');
      assert.equal(body.length, 0);
    }
    assert.equal(cancelled, 1);
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
