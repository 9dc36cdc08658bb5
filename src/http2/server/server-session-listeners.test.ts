import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createServer } from 'node:tls';
import { eventually } from '../../../test/support/eventually.ts';
import { rawClient } from '../../../test/support/node-clients.ts';
import { servingTls } from '../../../test/support/node-server.ts';
import { FrameClient, preface, requestLines } from '../../../test/support/raw-http2-client.ts';
import { settingsFrame } from '../../../test/support/raw-http2-peer.ts';
import { MemoryBudget } from '../sockets/held-bytes.ts';
import { AddressResets } from './client-budgets.ts';
import { defaultHttp2ServerLimits, ServerSession } from './server-session.ts';

test('a listener that throws at the end of its stream does not disturb other streams or the server', async (context) => {
  const streams: number[] = [];
  const closed: number[] = [];
  const failures: unknown[] = [];
  const ended = Promise.withResolvers<void>();
  const issue = new Error('an error of ours');
  const server = createServer({ ...servingTls, ALPNProtocols: ['h2'] }, (socket) => {
    socket.once('close', () => ended.resolve());
    new ServerSession(socket, {
      limits: defaultHttp2ServerLimits,
      addresses: new AddressResets(),
      isVerified: () => false,
      shareOf: () => new MemoryBudget(1_000_000).others,
      headTooLarge: () => {},
      requested(stream) {
        streams.push(stream.id);
        stream.writer = {
          onRoom: () => {},
          onClosed() {
            closed.push(stream.id);
            if (stream.id === 1) throw issue;
          },
        };
      },
      failed: (error) => failures.push(error),
    });
  });
  context.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = await rawClient(context, (server.address() as AddressInfo).port, 'h2');
  const client = new FrameClient(socket);
  client.write(preface);
  client.write(settingsFrame());
  for (const stream of [1, 3, 5]) client.request(stream, requestLines());
  await eventually(() => streams.length === 3);
  socket.destroy();
  await ended.promise;
  assert.deepEqual(closed, [1, 3, 5]);
  assert.deepEqual(failures, [issue]);
});
