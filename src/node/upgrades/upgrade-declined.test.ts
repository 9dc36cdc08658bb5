import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { destinationAt, startRawPeer } from '../../../test/support/api-servers/node-exchange.ts';
import { readToEnd } from '../../../test/support/clients/node-clients.ts';
import {
  connect,
  startDestination,
  switching,
  upgradeRequest,
} from '../../../test/support/clients/node-upgrade.ts';
import { sendAndReadToEnd } from '../../../test/support/clients/raw-http1.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';
import { startRouterUnderTest } from '../../../test/support/routers/router-under-test.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import { ownResponse } from '../../request/transport.ts';

test('a declined upgrade whose response is without a length ends with its connection', async (context) => {
  const destination = await startDestination(context, 'HTTP/1.1 403 Forbidden\r\n\r\nforbidden', (socket) =>
    socket.end(),
  );
  const router = await startRouter(context, { destination: destination.destination });
  const client = await connect(context, router, upgradeRequest('SPDY/3.1'));
  assert.ok((await readToEnd(client)).endsWith('\r\n\r\nforbidden'));
  assert.equal(destination.arrived(), '');
});

describe('refused before the destination sees anything', () => {
  for (const [what, request] of [
    ['an upgrade with a length', `${upgradeRequest('websocket', 'Content-Length: 5\r\n')}hello`],
    [
      'an upgrade with chunks',
      `${upgradeRequest('websocket', 'Transfer-Encoding: chunked\r\n')}5\r\nhello\r\n0\r\n\r\n`,
    ],
    [
      'an upgrade with two lengths',
      `${upgradeRequest('websocket', 'Content-Length: 0\r\nContent-Length: 5\r\n')}hello`,
    ],
    [
      'an upgrade with chunks that never end',
      `${upgradeRequest('websocket', 'Transfer-Encoding: chunked\r\n')}5\r\nhe`,
    ],
  ] as const) {
    test(`${what}: 400 Status, closed`, async (context) => {
      const destination = await startDestination(context, switching('websocket'));
      const router = await startRouter(context, { destination: destination.destination });
      const text = await readToEnd(await connect(context, router, request));
      assert.match(text, /^HTTP\/1\.1 400 /);
      assert.match(text, /connection: close/i);
      assert.match(text, /"kind":"Status".*"reason":"BadRequest"/);
      assert.equal(destination.connections(), 0);
    });
  }

  test('a caller that the router refuses gets that response, and no connection is dialled', async (context) => {
    const destination = await startDestination(context, switching('websocket'));
    const router = await startRouter(context, {
      destination: destination.destination,
      identify: () => ownResponse(statusResponse('Unauthorized', 'Unauthorized')),
    });
    const text = await readToEnd(await connect(context, router, upgradeRequest('websocket')));
    assert.match(text, /^HTTP\/1\.1 401 Unauthorized\r\n/);
    assert.match(text, /"reason":"Unauthorized"/);
    assert.equal(destination.connections(), 0);
  });
});

test('a destination that cannot be reached: 503 Status, the connection ends', async (context) => {
  const peer = await startRawPeer(context, () => {});
  await peer.stop();
  const router = await startRouter(context, { destination: peer.destination });
  const text = await readToEnd(await connect(context, router, upgradeRequest('SPDY/3.1')));
  assert.match(text, /^HTTP\/1\.1 503 /);
  assert.equal(router.failures[0]?.code, 'ConnectFailed');
  assert.equal(router.failures[0]?.mayHaveBeenProcessed, false);
});

test('a destination with the wrong name gets no upgrade request', async (context) => {
  const destination = await startDestination(context, switching('SPDY/3.1'));
  const { origin } = destination.destination;
  const router = await startRouter(context, {
    destination: destinationAt(origin, { serverName: 'other.example' }),
  });
  const text = await readToEnd(await connect(context, router, upgradeRequest('SPDY/3.1')));
  assert.match(text, /^HTTP\/1\.1 503 /);
  assert.equal(router.failures[0]?.code, 'TLSFailed');
  assert.equal(destination.head(), '');
});

test('a destination that never answers: 503 after the wait, and its connection ends', async (context) => {
  const destination = await startDestination(context, '');
  const router = await startRouter(context, {
    destination: destination.destination,
    upgradeHeadTimeout: 1_000,
  });
  const text = await readToEnd(await connect(context, router, upgradeRequest('SPDY/3.1')));
  assert.match(text, /^HTTP\/1\.1 503 /);
  assert.equal(router.failures[0]?.code, 'Timeout');
  await destination.closed;
});

test('a 404 to an upgrade while there has been no snapshot is a 503, as for every request', async (context) => {
  const router = await startRouterUnderTest(context, { snapshot: () => undefined });
  router.local.answerUpgrade = (socket) => {
    socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nnay');
  };
  const { received } = await sendAndReadToEnd(
    context,
    router.port,
    upgradeRequest('websocket', '', 'GET'),
    'admin',
  );
  assert.match(received, /^HTTP\/1\.1 503 /);
  assert.match(received, /\r\nretry-after: 1\r\n/i);
  assert.match(received, /it is not known yet which API server serves this resource/);
  assert.doesNotMatch(received, /nay/);
  assert.equal(router.local.requests.length, 1);
});

test('a 404 to an upgrade is the client’s when there is a snapshot', async (context) => {
  const router = await startRouterUnderTest(context);
  router.local.answerUpgrade = (socket) => {
    socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nnay');
  };
  const bytes = upgradeRequest('websocket', '', 'GET');
  const { received } = await sendAndReadToEnd(context, router.port, bytes, 'admin');
  assert.match(received, /^HTTP\/1\.1 404 .*nay$/s);
});

describe('an exec that a server refuses because it ends is asked of another server', () => {
  const text = 'The apiserver is shutting down, please try again later.\n';
  for (const [what, content] of [
    ['what it says is read', text],
    ['and passed on where it says something else', text.replace('shutting down', 'melting down')],
  ] as const) {
    test(what, async (context) => {
      const router = await startRouterUnderTest(context);
      router.local.answerUpgrade = (socket) => {
        socket.end(
          `HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 5\r\nContent-Length: ${content.length}\r\n\r\n${content}`,
        );
      };
      router.peer.answerUpgrade = (socket) => {
        socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nnay');
      };
      const bytes = upgradeRequest('websocket', '', 'GET');
      const { received } = await sendAndReadToEnd(context, router.port, bytes, 'admin');
      const isItsWord = content === text;
      assert.match(
        received,
        isItsWord ? /^HTTP\/1\.1 403 .*nay$/s : /^HTTP\/1\.1 429 .*melting down, please.*\n$/s,
      );
      assert.deepEqual([router.local.requests.length, router.peer.requests.length], [1, isItsWord ? 1 : 0]);
    });
  }
});
