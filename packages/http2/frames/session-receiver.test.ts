import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { serverFrameRules } from '../client/client-session.ts';
import { frameFlag, frameType } from '../test/raw-http2.ts';
import { Http2Error } from './frame.ts';
import { FrameOutput } from './frame-output.ts';
import { type ReceivingStream, SessionReceiver, StreamTable } from './session-receiver.ts';

const newStream = (id: number): { readonly id: number } => ({ id });

/** As a client opens them: ascending, none twice. */
const identifiers = Array.from({ length: 40 }, (_, index) => 2 * index + 1);

test('whatever comes and goes, it holds what a Map would, the oldest first', () => {
  // A number closes that stream, if it is there.
  const steps = fc.array(fc.oneof(fc.constant('open' as const), fc.constantFrom(...identifiers)), {
    maxLength: 80,
  });
  fc.assert(
    fc.property(steps, (steps) => {
      const expected = new Map<number, { readonly id: number }>();
      const table = new StreamTable();
      let opened = 0;
      for (const step of steps) {
        if (step === 'open') {
          const stream = newStream(identifiers[opened++ % identifiers.length] ?? 1);
          if (expected.has(stream.id)) continue;
          expected.set(stream.id, stream);
          table.add(stream);
        } else {
          expected.delete(step);
          table.delete(step);
        }
        assert.equal(table.size, expected.size);
        for (const id of identifiers) assert.equal(table.get(id), expected.get(id));
        assert.deepEqual(
          table.all().map(({ id }) => id),
          [...expected.keys()].sort((one, other) => one - other),
        );
      }
    }),
  );
});

test('stream 0, the connection itself, is never in it, nor is what was closed', () => {
  const table = new StreamTable();
  table.add(newStream(1));
  table.add(newStream(3));
  table.delete(1);
  assert.equal(table.get(0), undefined);
  assert.equal(table.get(1), undefined);
  table.delete(1);
  assert.equal(table.size, 1);
});

test('streams may be closed and opened while all are gone through', () => {
  const table = new StreamTable();
  for (const id of [1, 3, 5]) table.add(newStream(id));
  const met: number[] = [];
  for (const { id } of table.all()) {
    met.push(id);
    table.delete(id);
    table.add(newStream(id + 6));
  }
  assert.deepEqual(met, [1, 3, 5]);
  assert.deepEqual(
    table.all().map(({ id }) => id),
    [7, 9, 11],
  );
});

test('thousands of streams come and go, and those that are open are found', () => {
  const table = new StreamTable();
  for (let id = 1; id < 20_001; id += 2) {
    table.add(newStream(id));
    if (id > 4) table.delete(id - 4);
  }
  assert.deepEqual(
    table.all().map(({ id }) => id),
    [19_997, 19_999],
  );
  assert.equal(table.get(19_999)?.id, 19_999);
});

const { none } = frameFlag;

/** A receiver without streams, that has its server's settings; what it grants the connection is noted. */
function newReceiver(context: TestContext, window: number) {
  const granted: number[] = [];
  const nothing = (): void => {};
  const output = new FrameOutput({ write: () => true }, { onFailure: assert.ifError });
  context.mock.method(output, 'windowUpdate', (streamId: number, increment: number) => {
    assert.equal(streamId, 0);
    granted.push(increment);
  });
  const receiver = new SessionReceiver(
    {
      stateOf: () => 'closed by us',
      count: nothing,
      refuseStream: nothing,
      headersReceived: nothing,
      goAwayReceived: nothing,
    },
    {
      peer: 'server',
      window,
      limits: { maximumLines: 10, maximumSize: 1_000 },
      rules: serverFrameRules,
      output,
    },
  );
  receiver.frame(frameType.settings, none, 0, Buffer.alloc(0));
  return { receiver, granted };
}

function receiveData(receiver: SessionReceiver<ReceivingStream>, length: number): void {
  receiver.dataBegins(none, 1, length);
  if (length > 0) receiver.dataPiece(Buffer.alloc(length));
  receiver.dataEnds();
}

// A session grants anew at once: only a window smaller than a frame can be overrun at all.
test('attack: more data than all streams together were granted ends the connection', (context) => {
  const { receiver } = newReceiver(context, 10_000);
  receiveData(receiver, 10_000);
  assert.throws(
    () => receiveData(receiver, 10_001),
    (error) => error instanceof Http2Error && error.scope === 'connection' && error.errorCode === 0x3,
  );
});

test('data for closed streams is granted again, half a window at a time', (context) => {
  const { receiver, granted } = newReceiver(context, 10_000);
  for (let count = 0; count < 10; count++) receiveData(receiver, 2_500);
  assert.deepEqual(granted, [5_000, 5_000, 5_000, 5_000, 5_000]);
});

test('attack: empty DATA frames grant nothing, however many come', (context) => {
  const { receiver, granted } = newReceiver(context, 10_000);
  for (let count = 0; count < 10_000; count++) receiveData(receiver, 0);
  assert.deepEqual(granted, []);
});
