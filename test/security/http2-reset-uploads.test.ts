import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { type PeerIncoming, type PeerOutgoing, startPeer } from '../support/api-servers/node-exchange.ts';
import { ask } from '../support/clients/ask.ts';
import { frame, frameFlag, frameType, type RawHttp2, rawHttp2 } from '../support/clients/raw-http2.ts';
import { eventually } from '../support/eventually.ts';
import { type RouterUnderTest, startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';
import { apiServerPair } from '../support/security/certificates.ts';

/** RFC 9113 section 7. */
const noError = 0x0;
const cancel = 0x8;
/** Bytes that a stream and a connection may carry at first (RFC 9113 section 6.9.2). */
const initialWindow = 65_535;
/** Turns without a byte of room after which an upload counts as stalled. */
const stalledTurns = 100;

function post(path: string, lines: readonly string[] = []): string[] {
  return [':method', 'POST', ':scheme', 'https', ':authority', 'localhost', ':path', path, ...lines];
}

/** Bytes that the other end has room for beyond what was `sent` on stream 1, the only one that carries data. */
function room({ frames }: RawHttp2, sent: number): number {
  let connection = initialWindow;
  let stream = initialWindow;
  for (const { type, flags, stream: id, payload } of frames) {
    if (type === frameType.windowUpdate) {
      if (id === 0) connection += payload.readUInt32BE(0);
      else stream += payload.readUInt32BE(0);
    }
    if (type !== frameType.settings || flags !== frameFlag.none) continue;
    for (let at = 0; at < payload.length; at += 6) {
      // SETTINGS_INITIAL_WINDOW_SIZE
      if (payload.readUInt16BE(at) === 4) stream += payload.readUInt32BE(at + 2) - initialWindow;
    }
  }
  return Math.min(connection, stream) - sent;
}

/** Begins an upload on stream 1 and sends until nobody takes any more of it. */
async function uploadUntilStalled(raw: RawHttp2, lines: readonly string[]): Promise<void> {
  raw.request(1, lines, { endStream: false });
  let sent = 0;
  for (let turns = 0; turns < stalledTurns; turns++) {
    const length = Math.min(16_384, room(raw, sent));
    if (length > 0) {
      raw.write(frame(frameType.data, frameFlag.none, 1, Buffer.alloc(length)));
      sent += length;
      turns = 0;
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

function reset(raw: RawHttp2, code: number): void {
  raw.write(frame(frameType.rstStream, frameFlag.none, 1, Buffer.from([0, 0, 0, code])));
}

interface StuckRouter extends RouterUnderTest {
  /** Lets the local server read on, for HTTP/1.1 notices nothing on a connection that it does not read. */
  readOn(): void;
  /** Uploads whose end, short of their last byte, the local server has seen. */
  broken(): number;
}

/** The local server reads nothing of an upload, and no more than one change at a time is let in. */
async function startStuckRouter(
  context: TestContext,
  destinations: 'h2' | 'http/1.1',
  onUpload: (outgoing: PeerOutgoing) => void = () => {},
): Promise<StuckRouter> {
  const uploads: PeerIncoming[] = [];
  let broken = 0;
  const handle = (incoming: PeerIncoming, outgoing: PeerOutgoing): void => {
    incoming.on('error', () => {});
    outgoing.on('error', () => {});
    if (incoming.method !== 'POST') {
      outgoing.end('{}');
      return;
    }
    incoming.pause();
    incoming.once('aborted', () => {
      broken++;
    });
    uploads.push(incoming);
    onUpload(outgoing);
  };
  const stuck = await startPeer(context, destinations, handle, { pair: apiServerPair });
  const router = await startRouterUnderTest(context, {
    destinations,
    flags: {
      'local-server': [`https://127.0.0.1:${stuck.port}`],
      'max-mutating-requests-inflight': ['1'],
    },
  });
  return {
    ...router,
    readOn() {
      for (const upload of uploads) upload.resume();
    },
    broken: () => broken,
  };
}

async function changeStatus(router: RouterUnderTest): Promise<number> {
  return (await ask(router.port, { method: 'DELETE', path: `${targets.local}/one` })).status;
}

/** The one place there is for changes is taken, and then free again. */
async function assertSlotFreedBy(router: RouterUnderTest, end: () => void): Promise<void> {
  assert.equal(await changeStatus(router), 429);
  end();
  for (let tries = 0; (await changeStatus(router)) !== 200; tries++) {
    assert.ok(tries < 100, 'the place of the upload was never free again');
  }
}

const ways: Readonly<Record<string, readonly string[]>> = {
  'a plain path': post(targets.local),
  'a plain path, with an expectation': post(targets.local, ['expect', '100-continue']),
  'an escaped path': post(`${targets.local}/a%2Db`),
};

for (const destinations of protocols) {
  for (const [way, lines] of Object.entries(ways)) {
    for (const [name, code] of Object.entries({ NO_ERROR: noError, CANCEL: cancel })) {
      test(`S11: a stalled upload that is reset with ${name} frees its place and ends at a server on ${destinations}, by ${way}`, async (context) => {
        const router = await startStuckRouter(context, destinations);
        const raw = await rawHttp2(context, router.port);
        await uploadUntilStalled(raw, lines);

        await assertSlotFreedBy(router, () => reset(raw, code));
        router.readOn();
        await eventually(() => router.broken() === 1);
      });
    }
  }

  test(`S11: a stalled upload that is reset once its answer has begun frees its place and ends at a server on ${destinations}`, async (context) => {
    const router = await startStuckRouter(context, destinations, (outgoing) => outgoing.write('{'));
    const raw = await rawHttp2(context, router.port);
    await uploadUntilStalled(raw, post(targets.local));
    assert.ok(raw.frames.some(({ type, stream }) => type === frameType.data && stream === 1));

    await assertSlotFreedBy(router, () => reset(raw, noError));
    router.readOn();
    await eventually(() => router.broken() === 1);
  });
}

test('attack: an answer that is whole and not read holds no place, whatever becomes of its upload', async (context) => {
  // All of it is in before the client has any window for its end.
  const answer = Buffer.alloc(initialWindow + 1);
  const router = await startStuckRouter(context, 'h2', (outgoing) => outgoing.end(answer));
  const raw = await rawHttp2(context, router.port);
  await uploadUntilStalled(raw, post(targets.local));

  for (let tries = 0; (await changeStatus(router)) !== 200; tries++) {
    assert.ok(tries < 100, 'the place of the upload was never free');
  }
  reset(raw, noError);
});
