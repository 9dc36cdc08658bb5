import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { Http2Error } from '../frames/frame.ts';
import { openSessionWithPeer, openSessionWithRequest } from '../test/client-session.ts';
import { eventually } from '../test/eventually.ts';
import { frame, frameFlag, frameType, uint32 } from '../test/raw-http2.ts';
import { dataFrame, headFrame, okFrames, settingsFrame } from '../test/raw-http2-peer.ts';

const { none, endStream } = frameFlag;
const ok = [':status', '200'];

const goAway = (lastStream: number, code: number): Buffer =>
  frame(frameType.goAway, none, 0, Buffer.concat([uint32(lastStream, code), Buffer.from('why')]));

test('a connection begins with the preface, our settings, and a window as large as was asked for', async (context) => {
  const { peer } = await openSessionWithPeer(context);
  await peer.settled();
  assert.equal(peer.preface, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const [settings, window] = peer.frames;
  assert.equal(settings?.type, frameType.settings);
  // ENABLE_PUSH 0, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE (RFC 9113 section 6.5.2).
  assert.deepEqual(settings.payload, settingsFrame(2, 0, 4, 65_536, 5, 256 * 1024, 6, 64 * 1024).subarray(9));
  assert.equal(window?.type, frameType.windowUpdate);
  assert.equal(window.stream, 0);
  assert.deepEqual(window.payload, uint32(10 * 65_536 - 65_535));
});

test('a quiet server is pinged', async (context) => {
  const { peer, session } = await openSessionWithPeer(context);
  session.ping();
  await peer.settled();
  const asked = peer.of(frameType.ping).filter(({ flags }) => flags === none);
  assert.equal(asked.length, 1);
  assert.equal(asked[0]?.payload.length, 8);
});

describe('GOAWAY', () => {
  test('fails the streams above the last as refused, and those below go on', async (context) => {
    const { peer, ask, session, events } = await openSessionWithPeer(context);
    const [first, second, third] = [ask(), ask(), ask()];
    await peer.settled();
    peer.write(headFrame(1, ok), goAway(3, 0));
    assert.equal((await third.response.failure()).errorCode, 0x0);
    assert.equal(third.response.refused, true);
    assert.equal(session.isOpen, false);
    assert.throws(() => ask(), /accepts no more requests/);
    assert.equal(session.streams, 2);
    peer.write(dataFrame(1, 'first', endStream), okFrames(3, 'second'));
    assert.equal(await first.response.whole(), 'first');
    assert.equal(await second.response.whole(), 'second');
    assert.equal(events[0], 'goaway');
    // Nobody asked for it: on the wire the refused one is not reset.
    assert.deepEqual(peer.of(frameType.rstStream), []);
  });

  test('in two steps, as kube-apiserver sends it, refuses only what the second one names', async (context) => {
    const { peer, ask } = await openSessionWithPeer(context);
    const [first, second] = [ask(), ask()];
    await peer.settled();
    peer.write(goAway(2 ** 31 - 1, 0));
    await peer.settled();
    assert.equal(second.response.endings, 0);
    peer.write(goAway(1, 0));
    assert.equal((await second.response.failure()).errorCode, 0x0);
    assert.equal(second.response.refused, true);
    peer.write(okFrames(1, 'first'));
    assert.equal(await first.response.whole(), 'first');
  });

  test('with an error code names it to the streams that the connection then breaks under', async (context) => {
    const { peer, ask } = await openSessionWithPeer(context);
    const [below, above] = [ask(), ask()];
    await peer.settled();
    peer.write(goAway(1, 0xb));
    peer.socket.end();
    const failure = await below.response.failure();
    assert.equal(failure.scope, 'connection');
    assert.equal(failure.errorCode, 0xb);
    assert.match(failure.message, /ENHANCE_YOUR_CALM/);
    assert.equal(failure.isInvalidResponse, false);
    assert.equal(below.response.refused, false);
    await above.response.failure();
    assert.equal(above.response.refused, true);
  });

  test('above which an upload was under way stops it', async (context) => {
    const { peer, ask } = await openSessionWithPeer(context);
    const source = new PassThrough();
    const { response } = ask({ method: 'POST', content: source });
    await peer.settled();
    peer.write(goAway(0, 0));
    await response.failure();
    assert.equal(source.listenerCount('data'), 0);
    source.end('late');
    await eventually(() => peer.socket.closed);
    assert.deepEqual(peer.of(frameType.data), []);
  });
});

describe('RST_STREAM', () => {
  for (const [name, code, refused] of [
    ['NO_ERROR', 0x0, false],
    ['INTERNAL_ERROR', 0x2, false],
    ['REFUSED_STREAM', 0x7, true],
    ['CANCEL', 0x8, false],
    ['a code that nobody knows', 0xfafafafa, false],
  ] as const) {
    test(`with ${name} fails its stream${refused ? ', which was not processed' : ''}; behind a head it was processed`, async (context) => {
      const { peer, ask, session } = await openSessionWithPeer(context);
      const [first, second, other] = [ask(), ask(), ask()];
      await peer.settled();
      peer.write(
        frame(frameType.rstStream, none, 1, uint32(code)),
        headFrame(3, ok),
        dataFrame(3, 'half'),
        frame(frameType.rstStream, none, 3, uint32(code)),
        okFrames(5, 'other'),
      );
      for (const { response } of [first, second]) {
        const failure = await response.failure();
        assert.equal(failure.scope, 'stream');
        assert.equal(failure.errorCode, code);
        assert.equal(failure.isInvalidResponse, false);
      }
      assert.equal(first.response.refused, refused);
      assert.equal(second.response.refused, false);
      assert.equal(await other.response.whole(), 'other');
      assert.ok(session.isOpen);
      await peer.settled();
      assert.deepEqual(peer.of(frameType.rstStream), []);
    });
  }

  test('behind a whole response changes nothing', async (context) => {
    const { peer, response } = await openSessionWithRequest(context);
    peer.write(okFrames(1, 'whole'), frame(frameType.rstStream, none, 1, uint32(0)));
    assert.equal(await response.whole(), 'whole');
    await peer.settled();
    assert.equal(response.endings, 1);
  });
});

describe('a connection that breaks in the middle of responses', () => {
  for (const [name, cut] of [
    ['at once', 'destroy'],
    ['in good order', 'end'],
  ] as const) {
    test(`${name} fails each of them, and none passes for whole`, async (context) => {
      const { peer, ask, session, events } = await openSessionWithPeer(context);
      const asked = [ask(), ask(), ask({ method: 'POST', content: new PassThrough() })];
      await peer.settled();
      peer.write(headFrame(1, [...ok, 'content-length', '8']), dataFrame(1, 'half'));
      await peer.settled();
      peer.socket[cut]();
      for (const { response } of asked) {
        await eventually(() => response.endings > 0);
        assert.ok(response.error);
        assert.equal(response.refused, false);
      }
      await eventually(() => events.at(-1) === 'closed');
      assert.equal(asked[0]?.response.content, 'half');
      assert.equal(session.streams, 0);
      assert.equal(session.isOpen, false);
    });
  }

  test('in the middle of a frame loses nothing of what came before', async (context) => {
    const { peer, ask } = await openSessionWithPeer(context);
    const [first, second] = [ask(), ask()];
    await peer.settled();
    peer.write(okFrames(3, 'second'), headFrame(1, ok), dataFrame(1, 'cut off', endStream).subarray(0, 12));
    peer.socket.end();
    assert.equal(await second.response.whole(), 'second');
    await assert.rejects(first.response.whole());
    assert.equal(first.response.content, 'cut');
  });
});

test('a request that cannot be sent sends nothing, uses up no stream, and harms no other', async (context) => {
  const { peer, ask, session } = await openSessionWithPeer(context);
  assert.throws(() => ask({ headers: ['x-test', 'a\nb'] }));
  assert.throws(() => ask({ target: '/a b' }));
  const { stream, response } = ask();
  assert.equal(stream.id, 1);
  assert.equal(session.streams, 1);
  await peer.settled();
  assert.equal(peer.of(frameType.headers).length, 1);
  peer.write(okFrames(1, 'whole'));
  assert.equal(await response.whole(), 'whole');
});

test('requests that are given up are reset with their code, and a second time nothing happens', async (context) => {
  const { peer, ask, session } = await openSessionWithPeer(context);
  const { stream, response } = ask();
  stream.reset(0x8, new Error('given up'));
  stream.reset(0x2, new Error('again'));
  await assert.rejects(response.whole(), /given up/);
  assert.equal(await peer.resetCode(1), 0x8);
  await peer.settled();
  assert.equal(peer.of(frameType.rstStream).length, 1);
  assert.equal(session.streams, 0);
});

test('end() sends GOAWAY and closes; destroy() fails each stream with the reason', async (context) => {
  const ended = await openSessionWithPeer(context);
  ended.session.close();
  assert.equal(await ended.peer.goAwayCode(), 0);
  await eventually(() => ended.peer.socket.closed && ended.events.at(-1) === 'closed');
  const destroyed = await openSessionWithPeer(context);
  const { response } = destroyed.ask();
  const reason = new Error('given up');
  destroyed.session.destroy(reason);
  await assert.rejects(response.whole(), reason);
  await eventually(() => destroyed.peer.socket.closed);
});

test('a request that had not left when its connection ended counts as not processed', async (context) => {
  const { peer, ask, session } = await openSessionWithPeer(context);
  const sent = ask();
  await peer.settled();
  const unsent = [ask(), ask({ method: 'POST', content: Buffer.from('body') })];
  const reason = new Error('given up');
  session.destroy(reason);
  for (const { response } of [sent, ...unsent]) await assert.rejects(response.whole(), reason);
  assert.equal(sent.response.refused, false);
  assert.deepEqual(
    unsent.map(({ response }) => response.refused),
    [true, true],
  );
  await eventually(() => peer.socket.closed);
  assert.equal(peer.of(frameType.headers).length, 1);
});

test('a server that reads nothing makes the session full, and one that reads again makes room', async (context) => {
  const { peer, ask, session, rooms } = await openSessionWithPeer(context);
  await peer.settled();
  peer.socket.pause();
  const headers = ['x-large', 'v'.repeat(60_000)];
  let requests = 0;
  while (!session.isFull) {
    ask({ headers });
    requests++;
    assert.ok(requests < 1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const before = rooms();
  peer.socket.resume();
  await eventually(() => rooms() > before);
  assert.equal(session.isFull, false);
  await peer.settled();
  assert.equal(peer.of(frameType.headers).length, requests);
});

test('a request that is repeated after GOAWAY is refused on the same connection', async (context) => {
  const { peer, ask, session } = await openSessionWithPeer(context, { first: settingsFrame(3, 1) });
  const { response } = ask();
  let asked: unknown;
  const fail = response.fail.bind(response);
  response.fail = (error, refused) => {
    fail(error, refused);
    try {
      ask();
    } catch (thrown) {
      asked = thrown;
    }
  };
  await peer.settled();
  peer.write(goAway(0, 0));
  assert.ok((await response.failure()) instanceof Http2Error);
  assert.ok(asked instanceof Error);
  assert.equal(session.streams, 0);
});
