import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { http2Client, rawClient, readToEnd } from '../../../test/support/clients/node-clients.ts';
import { mirror, startServer as start } from '../../../test/support/routers/node-server.ts';

/** Hosts that the client names, each of them valid. */
const hosts = [
  '',
  'localhost:6443',
  'API.Example.COM:06443',
  'api.example.com.',
  '010.0.0.1:6443',
  '1.2.3.256',
  '[FD00::1]:443',
  '[fd00:0:0::1]:6443',
  '[0:0:0:0:0:0:0:1]',
  '[fe80::1%25eth0]:6443',
] as const;

describe('the host that a client names', () => {
  test('is not needed in HTTP/1.0, as load balancers ask for health', async (context) => {
    const { port } = await start(context, mirror);
    const client = await rawClient(context, port);
    client.write('GET /readyz HTTP/1.0\r\n\r\n');
    const text = await readToEnd(client);
    assert.match(text, /^HTTP\/1\.1 200 /);
    assert.match(text, /"target":"\/readyz","headers":\[\]/);
  });

  for (const host of hosts) {
    test(`is taken over HTTP/1.1 as it is spelled: ${JSON.stringify(host)}`, async (context) => {
      const { port } = await start(context, mirror);
      const client = await rawClient(context, port);
      client.write(`GET /api/v1/pods?limit=1 HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      const text = await readToEnd(client);
      assert.match(text, /^HTTP\/1\.1 200 /);
      const seen = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
      assert.equal(seen.target, '/api/v1/pods?limit=1');
      assert.deepEqual(seen.headers, ['Host', host, 'Connection', 'close']);
    });
  }

  for (const authority of ['localhost:6443', '[fd00:0:0::1]:6443', '[0:0:0:0:0:0:0:1]']) {
    test(`is taken over HTTP/2 as it is spelled: ${authority}`, async (context) => {
      const { port } = await start(context, mirror);
      for (const [name, headers] of [
        [':authority', []],
        ['host', ['host', authority]],
      ] as const) {
        const { status, body } = await askFor(http2Client(context, port), name, authority);
        assert.equal(status, 200);
        assert.deepEqual(JSON.parse(body), { target: '/api/v1/pods?limit=1', headers, hasBody: false });
      }
    });
  }

  for (const authority of ['user@localhost', 'localhost/api', 'localhost?a', 'a b']) {
    test(`is refused over HTTP/2 when it is more than a host: ${authority}`, async (context) => {
      let asked = 0;
      const { port } = await start(context, () => {
        asked++;
        return new Response();
      });
      await assert.rejects(askFor(http2Client(context, port), ':authority', authority), /PROTOCOL_ERROR/);
      assert.equal(asked, 0);
    });
  }

  for (const [what, lines] of Object.entries({
    'none in HTTP/1.1': 'GET / HTTP/1.1\r\n',
    'two of them': 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n',
    'two of them in HTTP/1.0': 'GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n',
    'a path in it': 'GET / HTTP/1.1\r\nHost: a/b\r\n',
    'a query in it': 'GET / HTTP/1.1\r\nHost: a?b\r\n',
  })) {
    test(`${what}: 400`, async (context) => {
      let asked = 0;
      const { port } = await start(context, () => {
        asked++;
        return new Response();
      });
      const client = await rawClient(context, port);
      client.write(`${lines}\r\n`);
      assert.match(await readToEnd(client), /^HTTP\/1\.1 400 /);
      assert.equal(asked, 0);
    });
  }
});

async function askFor(
  session: ReturnType<typeof http2Client>,
  name: ':authority' | 'host',
  authority: string,
): Promise<{ readonly status: number; readonly body: string }> {
  const stream = session.request({ ':path': '/api/v1/pods?limit=1', [name]: authority });
  const answered = Promise.withResolvers<number>();
  stream.once('response', (headers) => answered.resolve(Number(headers[':status'])));
  stream.once('error', answered.reject);
  const status = await answered.promise;
  return { status, body: Buffer.concat(await stream.toArray()).toString() };
}
