import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createServer } from 'node:tls';
import { ask } from '../support/clients/ask.ts';
import { rawHttp1, sendAndReadToEnd } from '../support/clients/raw-http1.ts';
import { listenOnLoopback } from '../support/listen-on-loopback.ts';
import { clusterSnapshot, startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';
import { apiServerPair } from '../support/security/certificates.ts';
import { chunkedSmuggled, smuggled } from '../support/security/smuggling-vectors.ts';

interface LenientBackend {
  readonly port: number;
  /** Method, target and head of everything that it took for a request, in order. */
  readonly heads: string[];
}

/**
 * An HTTP/1.1 server as there are some: it expects no body on anything and takes whatever comes behind a head for
 * the next request. It does obey `Connection: close`. Each answer names the target that it answers.
 */
async function startLenientBackend(context: TestContext): Promise<LenientBackend> {
  const heads: string[] = [];
  const tls = { cert: apiServerPair.chain, key: apiServerPair.privateKey, ALPNProtocols: ['http/1.1'] };
  const server = createServer(tls, (socket) => {
    socket.on('error', () => {});
    let unread = '';
    let closing = false;
    socket.on('data', (chunk: Buffer) => {
      unread += chunk.toString('latin1');
      for (;;) {
        const head = /[A-Z]+ (\S+) HTTP\/1\.1\r\n[\s\S]*?\r\n\r\n/.exec(unread);
        if (head === null || closing) return;
        unread = unread.slice(head.index + head[0].length);
        heads.push(head[0]);
        closing = /^connection: close\r$/im.test(head[0]);
        const body = JSON.stringify({ answered: head[1] });
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
        if (!head[0].startsWith('HEAD ')) socket.write(body);
        if (closing) socket.end();
      }
    });
  });
  const { port, stop } = await listenOnLoopback(server);
  context.after(stop);
  return { port, heads };
}

const bodies = {
  'a body with a length': `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
  'a chunked body': `Transfer-Encoding: chunked\r\n\r\n${chunkedSmuggled}`,
};

for (const [what, body] of Object.entries(bodies)) {
  for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
    test(`S13: ${what} on ${method} is no request to a server that expects none, and poisons nobody’s connection`, async (context) => {
      const lenient = await startLenientBackend(context);
      const router = await startRouterUnderTest(context, {
        snapshot: () => clusterSnapshot({ peer: lenient }),
      });
      const raw = await rawHttp1(context, router.port, 'alice');
      raw.write(`${method} ${targets.peer} HTTP/1.1\r\nHost: localhost\r\n${body}`);
      await raw.until(() => raw.statuses.length === 1);

      for (const name of ['first', 'second']) {
        const victim = await ask(router.port, { path: `${targets.peer}/${name}`, client: 'admin' });
        assert.equal(victim.body, `{"answered":"${targets.peer}/${name}"}`, 'the victim gets its own answer');
      }
      assert.deepEqual(
        lenient.heads.map((head) => head.split(' ', 2).join(' ')),
        [`${method} ${targets.peer}`, `GET ${targets.peer}/first`, `GET ${targets.peer}/second`],
      );
      assert.ok(!lenient.heads.some((head) => head.includes('root')));
    });
  }
}

test('S13: an upgrade with a body is refused, and neither the upgrade nor the body goes anywhere', async (context) => {
  const router = await startRouterUnderTest(context);
  for (const body of Object.values(bodies)) {
    const { statuses } = await sendAndReadToEnd(
      context,
      router.port,
      `POST ${targets.local}/a/exec HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n${body}`,
      'alice',
    );
    assert.deepEqual(statuses, [400]);
  }
  assert.deepEqual(router.allRequests(), []);
  assert.equal(router.local.bytes, '');
});

test('S13: a client that breaks off its body leaves a connection to the peer that is not used again', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp1(context, router.port, 'alice');
  raw.write(`POST ${targets.peer} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nshort`);
  await router.peer.first();
  raw.socket.destroy();

  const answer = await ask(router.port, { path: `${targets.peer}/next`, client: 'admin' });
  assert.equal(answer.status, 200);
  assert.deepEqual(
    router.peer.requests.map(({ target, complete }) => ({ target, complete })),
    [
      { target: targets.peer, complete: false },
      { target: `${targets.peer}/next`, complete: true },
    ],
  );
});
