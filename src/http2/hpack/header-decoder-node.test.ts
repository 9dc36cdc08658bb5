import assert from 'node:assert/strict';
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { test } from 'node:test';
import fc from 'fast-check';
import { openSession } from '../../../test/support/http2-client-session.ts';
import { listenOnLoopback } from '../../../test/support/listen-on-loopback.ts';
import { peerPair } from '../../../test/support/node-exchange.ts';

/** Names and values of which many come again and again, as in responses, and some are new each time. */
const name = fc.oneof(
  fc.constantFrom('audit-id', 'cache-control', 'content-type', 'etag', 'x-kubernetes-pf-flowschema-uid'),
  fc.stringMatching(/^x-[a-z0-9-]{1,30}$/),
);
const value = fc.oneof(
  fc.constantFrom('no-cache, private', 'application/json', '', '41b0a3c8-9a44-4a7c-8a6e-6f6f4d1a2b3c'),
  fc.stringMatching(/^[!-~]([ -~]{0,200}[!-~])?$/),
  fc
    .uint8Array({ minLength: 1, maxLength: 60, min: 0x80 })
    .map((bytes) => Buffer.from(bytes).toString('latin1')),
);

/** Node's types leave `sendDate` out. */
const withoutDate = { endStream: true, sendDate: false };

test('what a server of Node encodes is read as it was sent, over many responses that share its table', async (context) => {
  const unique = fc.uniqueArray(fc.tuple(name, value), { maxLength: 30, selector: ([name]) => name });
  const heads = fc.sample(unique, 300);
  const server = createSecureServer({ cert: peerPair.chain, key: peerPair.privateKey });
  let next = 0;
  server.on('stream', (stream: ServerHttp2Stream) => {
    const head = heads[next++] ?? [];
    stream.respond({ ':status': 200, ...Object.fromEntries(head) }, withoutDate);
  });
  const { port, stop } = await listenOnLoopback(server);
  context.after(stop);
  const { ask } = await openSession(context, port);
  for (const head of heads) {
    const { response } = ask();
    assert.equal(await response.whole(), '');
    assert.deepEqual(response.statuses, [200]);
    assert.deepEqual(response.lines, head.flat());
  }
  assert.equal(next, heads.length);
});
