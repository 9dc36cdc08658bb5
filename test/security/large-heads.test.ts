import assert from 'node:assert/strict';
import type { ServerOptions } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse, SecureServerOptions } from 'node:http2';
import { createSecureServer } from 'node:http2';
import { type TestContext, test } from 'node:test';
import { ask, type WireAnswer } from '../support/clients/ask.ts';
import { type RawHttp1, rawHttp1 } from '../support/clients/raw-http1.ts';
import { listenOnLoopback } from '../support/listen-on-loopback.ts';
import {
  clusterSnapshot,
  type RouterUnderTest,
  startRouterUnderTest,
  targets,
} from '../support/routers/router-under-test.ts';
import { apiServerPair } from '../support/security/certificates.ts';

/** More than a Node server takes on an HTTP/2 connection (some 140 KB), and less than the router does. */
const tooMuch = 160_000;
/** More than any request has that the router makes itself. */
const largeFrom = 8_000;

interface WatchedServer {
  readonly port: number;
  /** Protocol and header bytes of the requests with a large head. */
  readonly requests: { readonly httpVersion: string; readonly size: number }[];
  /** Sends another event on the watch. */
  sendEvent(): void;
}

/** A server on which a watch is open; without `settings` it does not announce how large a head may be. */
async function startWatchedServer(
  context: TestContext,
  options: SecureServerOptions,
): Promise<WatchedServer> {
  const requests: WatchedServer['requests'] = [];
  const watches: Http2ServerResponse[] = [];
  // Missing in the type that http1Options has.
  const http1Options: ServerOptions = { maxHeaderSize: 1024 * 1024 };
  const server = createSecureServer(
    {
      cert: apiServerPair.chain,
      key: apiServerPair.privateKey,
      maxHeaderListPairs: 5_000,
      http1Options,
      ...options,
    },
    (incoming: Http2ServerRequest, outgoing: Http2ServerResponse) => {
      outgoing.on('error', () => {});
      outgoing.writeHead(200, { 'content-type': 'application/json' });
      if (incoming.url.endsWith('?watch=true')) {
        watches.push(outgoing);
        outgoing.write('FIRST');
        return;
      }
      const size = incoming.rawHeaders.join('').length + incoming.url.length;
      if (size > largeFrom) requests.push({ httpVersion: incoming.httpVersion, size });
      outgoing.end('{}');
    },
  );
  // Option of the server's HTTP/1.1 side, which its type does not have.
  Object.assign(server, { maxHeadersCount: 5_000 });
  server.on('sessionError', () => {});
  const { port, stop } = await listenOnLoopback(server);
  context.after(stop);
  return {
    port,
    requests,
    sendEvent: () => {
      for (const watch of watches) watch.write('SECOND');
    },
  };
}

interface Scene {
  readonly router: RouterUnderTest;
  readonly server: WatchedServer;
  readonly watch: RawHttp1;
}

/** A router in front of a peer, on whose shared connection an administrator watches. */
async function startScene(context: TestContext, options: SecureServerOptions): Promise<Scene> {
  const server = await startWatchedServer(context, options);
  const router = await startRouterUnderTest(context, {
    snapshot: () => clusterSnapshot({ peer: server }),
  });
  const watch = await rawHttp1(context, router.port, 'admin');
  watch.write(`GET ${targets.peer}?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await watch.until((received) => received.includes('FIRST'));
  return { router, server, watch };
}

async function assertGoesOn({ server, watch }: Scene): Promise<void> {
  server.sendEvent();
  await watch.until((received) => received.includes('SECOND'));
  assert.equal(watch.ended, false);
}

function assertRefused(answer: WireAnswer): void {
  assert.equal(answer.status, 431, answer.body);
  const { kind, reason, code, message } = JSON.parse(answer.body);
  assert.deepEqual(
    { kind, reason, code },
    { kind: 'Status', reason: 'RequestHeaderFieldsTooLarge', code: 431 },
  );
  assert.doesNotMatch(message, /127\.0\.0\.1/);
}

const large = {
  line: { headers: ['x-large', 'a'.repeat(tooMuch)] },
  'multitude of lines': {
    headers: Array.from({ length: 3_200 }, (_, index) => [`x-${index}`, 'z'.repeat(50)]).flat(),
  },
};

for (const [what, request] of Object.entries(large)) {
  for (const [server, options] of Object.entries({
    'has announced that it takes less': { settings: { maxHeaderListSize: 100_000 } },
    'has not announced how much it takes': {},
    'has not announced it, and speaks HTTP/1.1 as well': { allowHTTP1: true },
  })) {
    test(`attack: a large ${what} ends no watch on a server that ${server}: its sender gets a 431`, async (context) => {
      const scene = await startScene(context, options);
      for (let time = 1; time <= 2; time++) {
        assertRefused(await ask(scene.router.port, { client: 'admin', path: targets.peer, ...request }));
      }
      assert.deepEqual(scene.server.requests, []);
      await assertGoesOn(scene);
      // The server is as good as before.
      assert.equal((await ask(scene.router.port, { client: 'admin', path: targets.peer })).status, 200);
    });
  }
}

test('a large head arrives beside a watch on a server that has announced to take it, as those in Go do, body and all', async (context) => {
  const scene = await startScene(context, { settings: { maxHeaderListSize: 1024 * 1024 } });
  const line = 'a'.repeat(50_000);
  const headers = ['x-large', line, 'x-larger', line, 'content-type', 'application/json'];
  const request = { client: 'admin', method: 'POST', path: targets.peer, headers, body: '{}' } as const;
  assert.equal((await ask(scene.router.port, request)).status, 200);
  assert.deepEqual(
    scene.server.requests.map(({ httpVersion, size }) => [httpVersion, size > 100_000]),
    [['2.0', true]],
  );
  await assertGoesOn(scene);
});

for (const [what, headers] of Object.entries({
  'one line': ['x-large', '~'.repeat(64_000)],
  'many lines': Array.from({ length: 700 }, (_, index) => [`x-${index}`, '~'.repeat(50)]).flat(),
})) {
  test(`the largest head for a server that has announced nothing, in ${what}, ends nothing on its connection`, async (context) => {
    const scene = await startScene(context, { allowHTTP1: true });
    const answer = await ask(scene.router.port, { client: 'admin', path: targets.peer, headers });
    assert.equal(answer.status, 200, answer.body);
    assert.deepEqual(
      scene.server.requests.map(({ httpVersion }) => httpVersion),
      ['2.0'],
    );
    await assertGoesOn(scene);
  });
}

test('a small head is refused, too, where a server has announced that it takes less', async (context) => {
  const scene = await startScene(context, { settings: { maxHeaderListSize: 8_192 } });
  const headers = ['x-large', 'a'.repeat(8_192)];
  assertRefused(await ask(scene.router.port, { client: 'admin', path: targets.peer, headers }));
  assert.equal((await ask(scene.router.port, { client: 'admin', path: targets.peer })).status, 200);
  await assertGoesOn(scene);
});

test('a large head to a server that speaks HTTP/1.1 only arrives, of who has shown a certificate', async (context) => {
  const router = await startRouterUnderTest(context);
  for (const way of ['local', 'peer'] as const) {
    const answer = await ask(router.port, { client: 'admin', path: targets[way], ...large.line });
    assert.equal(answer.status, 200, answer.body);
    assert.ok(router[way].only().headers.includes('a'.repeat(tooMuch)));
    router[way].requests.length = 0;
    const refused = await ask(router.port, { client: 'nobody', path: targets[way], ...large.line });
    assert.equal(refused.status, 431, refused.body);
    assert.equal(router[way].requests.length, 0);
  }
});
