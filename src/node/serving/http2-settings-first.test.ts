import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPeer } from '../../../test/support/api-servers/node-exchange.ts';
import {
  okFrames,
  settingsFrame,
  startRawHttp2Server,
} from '../../../test/support/api-servers/raw-http2-peer.ts';
import { frameType } from '../../../test/support/clients/raw-http2.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { failureOf, newTransport, send } from '../../../test/support/routers/node-transport.ts';
import { inboundFromRequest } from '../../request/inbound.ts';

const write = (): ReturnType<typeof inboundFromRequest> =>
  inboundFromRequest(new Request('https://router/', { method: 'POST', body: '{}' }));
const nothing = Buffer.alloc(0);

test('a burst of uploads that exceeds what the destination takes on a connection is carried out, each of it once', async (context) => {
  let arrived = 0;
  const peer = await startPeer(
    context,
    'h2',
    (_incoming, outgoing) => {
      arrived++;
      setImmediate(() => outgoing.end('created'));
    },
    { maxConcurrentStreams: 10 },
  );
  const transport = newTransport(context);
  const uploads = Array.from({ length: 100 }, () => send(transport, peer.destination, write()));
  const responses = await Promise.all(uploads);
  assert.deepEqual(
    new Set(await Promise.all(responses.map((response) => response.text()))),
    new Set(['created']),
  );
  assert.equal(arrived, 100);
});

test('no request is sent before the settings of the destination are here', async (context) => {
  const server = await startRawHttp2Server(context, {
    first: nothing,
    onFrame: (peer, { type, stream }) => {
      if (type === frameType.headers) peer.write(okFrames(stream, 'created'));
    },
  });
  const transport = newTransport(context);
  const sending = send(transport, server.destination, write());
  await eventually(() => server.peers[0]?.of(frameType.windowUpdate).length === 1);
  const [peer] = server.peers;
  assert.equal(peer?.of(frameType.headers).length, 0);
  peer?.write(settingsFrame());
  assert.equal(await (await sending).text(), 'created');
});

test('a destination that ends its connections in front of its settings has not got the write', async (context) => {
  const server = await startRawHttp2Server(context, {
    first: nothing,
    onFrame: (peer, { type }) => {
      if (type === frameType.settings) peer.socket.destroy();
    },
  });
  const failure = await failureOf(send(newTransport(context), server.destination, write()));
  assert.equal(failure.code, 'ConnectionClosed');
  assert.equal(failure.mayHaveBeenProcessed, false);
  assert.equal(server.peers.length, 1, 'it is not dialled again and again');
  assert.equal(server.peers[0]?.of(frameType.headers).length, 0);
});

test('a destination whose settings do not come has not got the write', async (context) => {
  const server = await startRawHttp2Server(context, { first: nothing });
  const transport = newTransport(context, { connectTimeout: 1_000 });
  const failure = await failureOf(send(transport, server.destination, write()));
  assert.equal(failure.code, 'Timeout');
  assert.equal(failure.message, `https://127.0.0.1:${server.port}: no HTTP/2 settings within 1000 ms`);
  assert.equal(failure.mayHaveBeenProcessed, false);
  await eventually(() => server.peers[0]?.socket.closed === true);
  assert.equal(server.peers[0]?.of(frameType.headers).length, 0);
});

test('a transport that is closed while settings are awaited leaves no connection', async (context) => {
  const server = await startRawHttp2Server(context, { first: nothing });
  const transport = newTransport(context);
  const sending = failureOf(send(transport, server.destination, write()));
  await eventually(() => server.peers[0]?.preface !== undefined);
  transport.close();
  assert.equal((await sending).mayHaveBeenProcessed, false);
  await eventually(() => server.peers[0]?.socket.closed === true);
});
