import assert from 'node:assert/strict';
import { once } from 'node:events';
import { fstatSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { MemoryBudget } from '../../../packages/http2/index.ts';
import { get } from '../../../test/support/api-servers/responses-by-hand.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { startServer } from '../../../test/support/routers/node-server.ts';
import { memoryForOthers } from '../exchange/serving-limits.ts';
import { Followed, HeldByKernel, queuedBytes } from './held-by-kernel.ts';

const mebibyte = 1024 * 1024;

test('of the kernel’s tables queues and inodes are read, and sockets without a queue are passed over', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    ' 231: 0100007F:A19C 0100007F:87F1 01 0039E400:00000000 04:0000002A 00000000     0        0 1025314 3 00000000ceb9 25 4 30 5 -1',
    ' 426: 0100007F:87F1 0100007F:A19C 01 00000010:0001E800 00:00000000 00000000     0        0 77 1 0000000000000000 20 4 1 10 -1',
    '  12: 0100007F:87F1 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1025000 1 000000000 100 0 0 10 0',
    '',
  ].join('\n');
  const found = new Map<number, number>();
  queuedBytes(table, found);
  assert.deepEqual(
    [...found],
    [
      [1_025_314, 0x39e400],
      [77, 0x1e810],
    ],
  );
});

/** Takes no byte until it reads on. */
async function stoppedClient(context: TestContext, port: number, protocol: string): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: [protocol] });
  context.after(() => socket.destroy());
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  return socket;
}

function endless(): Response {
  const piece = new Uint8Array(64 * 1024);
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(piece) }));
}

describe('attack: a client that does not read a long response', () => {
  test('what the kernel holds for it is counted, and no more when it is gone', async (context) => {
    const { port } = await startServer(context, endless);
    const before = memoryForOthers.bytes;
    const client = await stoppedClient(context, port, 'http/1.1');
    client.write(get('/long'));
    await eventually(() => memoryForOthers.bytes - before > mebibyte);
    client.destroy();
    await eventually(() => memoryForOthers.bytes <= before);
  });

  test('where memory is short its connection ends, and one that reads goes on', async (context) => {
    const reliefs: string[] = [];
    const { port } = await startServer(context, endless, {
      memory: new MemoryBudget(4 * mebibyte),
      onRelief: (relief) => reliefs.push(relief),
    });
    const reading = await stoppedClient(context, port, 'http/1.1');
    let received = 0;
    reading.on('data', (piece: Buffer) => {
      received += piece.length;
    });
    reading.write(get('/long'));
    const clients: TLSSocket[] = [];
    for (let count = 0; count < 3; count++) {
      const client = await stoppedClient(context, port, 'http/1.1');
      client.write(get('/long'));
      clients.push(client);
    }
    await eventually(() => reliefs.includes('ended'));
    const before = received;
    await eventually(() => received > before + mebibyte);
    assert.equal(reading.destroyed, false);
    assert.ok(reliefs.length < 4);
    // A socket that is closed with a full queue has no inode, and keeps it.
    const queueWithoutSocket = new RegExp(
      `:${port.toString(16).padStart(4, '0')} \\S+ 0[45] 00[0-9A-F]*[1-9A-F]`,
      'i',
    );
    assert.doesNotMatch(readFileSync('/proc/self/net/tcp', 'utf8'), queueWithoutSocket);
  });
});

/** One end of a connection whose other end reads nothing. */
async function unreadConnection(context: TestContext): Promise<Socket> {
  const server = createServer({ pauseOnConnect: true });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = dial((server.address() as AddressInfo).port, '127.0.0.1');
  const [[other]] = await Promise.all([once(server, 'connection'), once(socket, 'connect')]);
  context.after(() => {
    socket.destroy();
    other.destroy();
    server.close();
  });
  return socket;
}

function accountIn(memory: MemoryBudget) {
  return memory.account({ name: 'alice', isVerified: true, connection: { giveUp: () => {} } });
}

test('a full queue is counted once it stands still, and no more when it moves', async (context) => {
  const memory = new MemoryBudget(4 * mebibyte);
  const account = accountIn(memory);
  const socket = await unreadConnection(context);
  const followed = new Followed(socket, () => account);
  const { _handle } = socket as Socket & { readonly _handle: { readonly fd: number } };
  const full = new Map([[fstatSync(_handle.fd).ino, 500_000]]);
  const bytesWhen = (found: ReadonlyMap<number, number>): number => {
    followed.look(found);
    return memory.bytes;
  };
  socket.write('moves');
  assert.equal(bytesWhen(full), 0);
  assert.equal(bytesWhen(full), 500_000);
  socket.write('moves again');
  assert.equal(bytesWhen(full), 0);
  assert.equal(bytesWhen(full), 500_000);
  assert.equal(bytesWhen(new Map()), 0);
});

test('what the kernel holds for the destination of a tunnel is counted until that is closed, although the client stays', async (context) => {
  const memory = new MemoryBudget(2 ** 28);
  const account = accountIn(memory);
  const destination = await unreadConnection(context);
  new HeldByKernel().follow(destination, () => account);
  // More than the kernel takes.
  destination.write(Buffer.alloc(32 * mebibyte));
  await eventually(() => memory.bytes > mebibyte / 2);
  destination.destroy();
  await eventually(() => memory.bytes === 0);
});
