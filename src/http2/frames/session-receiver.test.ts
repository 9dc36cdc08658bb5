import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { frameFlag, frameType } from '../../../test/support/security/raw-http2.ts';
import { serverFrameRules } from '../client/client-session.ts';
import { Http2Error } from './frame.ts';
import { FrameOutput } from './frame-output.ts';
import { type ReceivingStream, SessionReceiver } from './session-receiver.ts';

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
