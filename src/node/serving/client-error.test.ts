import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { askHttp1 } from '../../../test/support/node-clients.ts';
import { mirror, startServer } from '../../../test/support/node-server.ts';

test('HTTP without TLS is answered as Go’s servers do, and the connection ends', async (context) => {
  const { port } = await startServer(context, mirror);
  for (const request of ['GET /version HTTP/1.1\r\nHost: a\r\n\r\n', 'POST / HTTP/1.0\r\n\r\n']) {
    // It keeps its own half open: the router ends the connection all the same.
    const client = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    context.after(() => client.destroy());
    client.write(request);
    assert.equal(
      await text(client),
      'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n',
    );
  }
  assert.equal((await askHttp1(port)).status, 200);
});

test('what is neither TLS nor HTTP gets no HTTP', async (context) => {
  const { port } = await startServer(context, mirror);
  const client = connect({ host: '127.0.0.1', port });
  context.after(() => client.destroy());
  client.on('error', () => {});
  client.end('SSH-2.0-OpenSSH_9.2\r\n');
  assert.ok(!(await text(client).catch(() => '')).includes('HTTP/'));
});
