import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { clientTls } from '../../../test/support/security/certificates.ts';
import { startRouterUnderTest } from '../../../test/support/security/router-under-test.ts';

const path = '/.mixed-version-proxy/v1/snapshot';

/** 30 MB, far above what a snapshot may have, handed on as fast as they are taken. */
function upload(): Readable {
  const chunk = Buffer.alloc(16 * 1024, 'x');
  return Readable.from(Array.from({ length: 1_900 }, () => chunk));
}

function assertTooLarge(status: unknown, body: readonly Buffer[]): void {
  assert.equal(status, 413);
  assert.match(Buffer.concat(body).toString(), /"reason":"RequestEntityTooLarge"/);
}

test('a client that uploads far too large a snapshot over HTTP/2 is told so, and its connection lives on', async (context) => {
  const { port } = await startRouterUnderTest(context);
  const session = connect(`https://127.0.0.1:${port}`, { servername: 'localhost', ...clientTls('admin') });
  context.after(() => session.destroy());
  const stream = session.request({ ':method': 'PUT', ':path': path });
  upload().pipe(stream);
  const body: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => body.push(chunk));
  const closed = once(stream, 'close');
  const [head] = await once(stream, 'response');
  await closed;
  assertTooLarge(head[':status'], body);
  assert.equal(await statusOf(session, '/.mixed-version-proxy/v1/status'), 200);
});

test('a client that uploads far too large a snapshot over HTTP/1.1 is told so', async (context) => {
  const { port } = await startRouterUnderTest(context);
  const outgoing = httpsRequest({
    host: '127.0.0.1',
    port,
    method: 'PUT',
    path,
    agent: false,
    servername: 'localhost',
    ...clientTls('admin'),
  });
  const answered = once(outgoing, 'response');
  upload().pipe(outgoing);
  const [incoming] = (await answered) as [IncomingMessage];
  assertTooLarge(incoming.statusCode, await incoming.toArray());
  outgoing.destroy();
});

async function statusOf(session: ClientHttp2Session, target: string): Promise<unknown> {
  const stream = session.request({ ':path': target });
  const [head] = await once(stream, 'response');
  stream.destroy();
  return head[':status'];
}
