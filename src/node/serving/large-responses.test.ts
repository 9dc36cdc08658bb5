import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { MemoryBudget } from '../../../packages/http2/index.ts';
import { type Protocol, startPeer } from '../../../test/support/api-servers/node-exchange.ts';
import { askHttp1, askHttp2, http2Client } from '../../../test/support/clients/node-clients.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';

const protocols: readonly Protocol[] = ['h2', 'http/1.1'];

/** The body of `/<seed>/<length>`: no two of them have the same bytes at the same place. */
function bodyOf(target: string): Buffer {
  const [, seed = '', length = '0'] = target.split('/');
  const block = createHash('sha512').update(seed).digest();
  const body = Buffer.allocUnsafe(Number(length));
  for (let offset = 0; offset < body.length; offset += block.length) {
    block.writeUInt32LE(offset, 0);
    block.copy(body, offset);
  }
  return body;
}

/** A router whose reads go over idle HTTP/1.1 connections, as those of a busy one do. */
async function busyRouter(context: TestContext) {
  let reads = 0;
  const peer = await startPeer(context, 'http/1.1', (incoming, outgoing) => {
    reads++;
    const target = incoming.url ?? '';
    const body = bodyOf(target);
    // Every other one in chunks.
    const isChunked = Number(target.split('/')[1]) % 2 === 0;
    outgoing.writeHead(200, isChunked ? {} : { 'content-length': String(body.length) });
    outgoing.end(body);
  });
  // Patient: on a busy machine all of it takes half a minute.
  const router = await startRouter(context, {
    destination: peer.destination,
    transport: { connectTimeout: 60_000, tlsHandshakeTimeout: 60_000 },
  });
  const session = http2Client(context, router.port);
  // Each connection takes 16 reads that find none idle.
  await eventually(async () => {
    await Promise.all(Array.from({ length: 32 }, () => askHttp2(session, { path: '/1/1' })));
    return reads >= 128;
  });
  return { router, session };
}

for (const client of protocols) {
  test(`attack: of large responses side by side no client on ${client} gets another's bytes, whoever leaves half-way`, async (context) => {
    const { router, session } = await busyRouter(context);
    const lengths = [5_000, 16_385, 70_000, 131_072, 300_001, 1_500_000];
    const asked = Array.from({ length: 48 }, async (_, index) => {
      const path = `/${index + 1}/${lengths[index % lengths.length]}`;
      if (index % 8 === 7) {
        const stream = session.request({ ':path': path });
        stream.on('error', () => {});
        await once(stream, 'data');
        stream.close(8);
        return;
      }
      const response =
        client === 'h2' ? await askHttp2(session, { path }) : await askHttp1(router.port, { path });
      assert.ok(response.body.equals(bodyOf(path)), path);
    });
    await Promise.all(asked);
  });
}

test('a client that reads slowly gets all of a large response', async (context) => {
  const { session } = await busyRouter(context);
  const path = '/3/3000000';
  const stream = session.request({ ':path': path });
  const pieces: Buffer[] = [];
  for await (const piece of stream) {
    pieces.push(piece);
    for (let turns = 0; turns < 5; turns++) await turn();
  }
  assert.ok(Buffer.concat(pieces).equals(bodyOf(path)));
});

test('attack: of large responses over HTTP/1.1 that a client does not take the oldest are reset, and what is read is whole', async (context) => {
  const peer = await startPeer(context, 'http/1.1', (incoming, outgoing) =>
    outgoing.end(bodyOf(incoming.url ?? '')),
  );
  // Clients without a certificate have half of it. Eight pieces on their way to the client are half of that.
  const server = { memory: new MemoryBudget(2_400_000) };
  const { port } = await startRouter(context, { destination: peer.destination, server });
  const session = http2Client(context, port);
  const unread = Array.from({ length: 8 }, (_, index) =>
    session.request({ ':path': `/${index}/3000000` }).on('error', () => {}),
  );
  await eventually(() => unread[0]?.destroyed === true);
  assert.equal(unread[0]?.rstCode, 0xb);
  const left = unread.findIndex(({ destroyed }) => !destroyed);
  assert.ok(left > 0, 'as many as there is memory for go on');
  const other = await askHttp2(session, { path: '/9/3000000' });
  assert.ok(other.body.equals(bodyOf('/9/3000000')));
});
