import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { rawClient, readToEnd } from '../../../test/support/node-clients.ts';
import { servingAuthority } from '../../../test/support/node-exchange.ts';
import { mirror, startServer as start } from '../../../test/support/node-server.ts';

describe('requests that Kubernetes clients do not send', () => {
  const smuggling: Record<string, string> = {
    'both Content-Length and Transfer-Encoding':
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'an obscured Transfer-Encoding':
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    'Transfer-Encoding twice':
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n',
    'two lengths': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
    'an empty length': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\n',
    'a signed length': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello',
    'a folded line': 'GET / HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n',
    'a bare line feed': 'GET / HTTP/1.1\r\nHost: x\r\nX-A: b\nX-B: c\r\n\r\n',
    'a NUL in a value': 'GET / HTTP/1.1\r\nHost: x\r\nX-A: b\0c\r\n\r\n',
    'a space before the colon': 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length : 5\r\n\r\nhello',
    'a prefixed chunk size':
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n',
  };
  for (const [what, bytes] of Object.entries(smuggling)) {
    test(`${what}: 400 and closed, what follows is never read`, async (context) => {
      const targets: string[] = [];
      const { port } = await start(context, async (_request, { inbound }) => {
        targets.push(inbound.target);
        await new Response(inbound.body()).text();
        return new Response('handled');
      });
      const client = await rawClient(context, port);
      client.write(`${bytes}GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n`, 'latin1');
      const text = await readToEnd(client);
      assert.match(text, /^HTTP\/1\.1 400 /);
      assert.doesNotMatch(text, /handled/);
      assert.ok(!targets.includes('/smuggled'));
    });
  }

  test('a request without Host gets a 400', async (context) => {
    const { port } = await start(context, mirror);
    const client = await rawClient(context, port);
    client.write('GET / HTTP/1.1\r\nConnection: close\r\n\r\n');
    assert.match(await readToEnd(client), /^HTTP\/1\.1 400 /);
  });

  test('garbage gets a 400 Status', async (context) => {
    const { port } = await start(context, mirror);
    const client = await rawClient(context, port);
    client.write('no http\r\n\r\n');
    const text = await readToEnd(client);
    assert.match(text, /^HTTP\/1\.1 400 Bad Request\r\n/);
    assert.match(text, /"kind":"Status".*"reason":"BadRequest"/);
  });

  test('header lines beyond a mebibyte are refused, and fewer are taken, also without a certificate', async (context) => {
    const { port } = await start(context, mirror, { heldForOthers: 2 ** 26 });
    const head = (count: number): string =>
      `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${`X-A: ${'a'.repeat(8_000)}\r\n`.repeat(count)}\r\n`;
    const refused = await rawClient(context, port);
    refused.write(head(140));
    assert.match(await readToEnd(refused), /^HTTP\/1\.1 431 .*"reason":"RequestHeaderFieldsTooLarge"/s);
    const taken = await rawClient(context, port);
    taken.write(head(130));
    assert.match(await readToEnd(taken), /^HTTP\/1\.1 200 /);
  });

  test('a backslash in the path reaches the handler as it came, which refuses it', async (context) => {
    const { port } = await start(context, mirror);
    const client = await rawClient(context, port);
    client.write('GET /api\\v1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.match(await readToEnd(client), /^HTTP\/1\.1 200 .*"target":"\/api\\\\v1"/s);
  });

  test('CONNECT and TLS 1.1 get no response', async (context) => {
    const { port } = await start(context, mirror);
    const client = await rawClient(context, port);
    client.write('CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.equal(await readToEnd(client), '');
    const old = connectTls({
      host: '127.0.0.1',
      port,
      ca: servingAuthority.certificate,
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    await assert.rejects(once(old, 'secureConnect'));
  });
});
