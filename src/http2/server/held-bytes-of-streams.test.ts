import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestLines, startWithFrames } from '../../../test/support/raw-http2-client.ts';
import type { NodeInboundRequest } from '../../node/exchange/node-inbound.ts';

const enhanceYourCalm = 0xb;
/** A client without a certificate may have half of it, and seven eighths of that. */
const server = { heldForOthers: 400_000 };

test('attack: of uploads that nobody reads the one without progress for the longest time is reset, and the others are served', async (context) => {
  const answers: ((response: Response) => void)[] = [];
  const { client } = await startWithFrames(
    context,
    () => new Promise<Response>((resolve) => answers.push(resolve)),
    { server },
  );
  const piece = Buffer.alloc(16_000);
  for (const stream of [1, 3, 5, 7]) {
    client.request(stream, requestLines('/', 'POST'), { endStream: false });
    for (let count = 0; count < 3; count++) client.data(stream, piece);
    await client.settled();
  }
  assert.equal(await client.resetCode(1), enhanceYourCalm);
  for (const answer of answers) answer(new Response('served'));
  for (const stream of [3, 5, 7]) assert.equal((await client.outcome(stream)).status, 200);
});

test('attack: of responses that the client does not take the oldest is reset, and the connection goes on', async (context) => {
  const large = new Uint8Array(100_000);
  const { client } = await startWithFrames(
    context,
    (request) => new Response(request.url.endsWith('small') ? 'small' : large),
    { server },
  );
  for (const stream of [1, 3, 5]) {
    client.request(stream, requestLines('/'));
    await client.settled();
  }
  assert.equal(await client.resetCode(1), enhanceYourCalm);
  assert.equal(client.isOver, false);
});

test('of the head of a request only what is still needed is kept once its response has begun', async (context) => {
  let inbound: NodeInboundRequest | undefined;
  const { client } = await startWithFrames(context, (_request, bindings) => {
    inbound = bindings.inbound;
    return new Response('begun');
  });
  client.request(1, [...requestLines('/'), 'x-large', 'a'.repeat(10_000), 'user-agent', 'kubectl']);
  await client.outcome(1);
  assert.deepEqual(inbound?.headers, ['user-agent', 'kubectl']);
});
