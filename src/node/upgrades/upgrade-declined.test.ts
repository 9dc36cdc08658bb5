import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { askHttp1, readToEnd } from '../../../test/support/node-clients.ts';
import { destinationAt, startPeer, startRawPeer } from '../../../test/support/node-exchange.ts';
import { startRouter } from '../../../test/support/node-router.ts';
import {
  connect,
  echo,
  startDestination,
  switching,
  upgradeRequest,
} from '../../../test/support/node-upgrade.ts';
import { sendAndReadToEnd } from '../../../test/support/security/raw-http1.ts';
import { startRouterUnderTest } from '../../../test/support/security/router-under-test.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import { ownResponse } from '../../request/transport.ts';

describe('CVE-2018-1002105: after anything but 101 no byte of the client reaches the destination', () => {
  const smuggled = 'GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\nX-Remote-User: admin\r\n\r\n';
  for (const [what, response, status, body] of [
    ['403', 'HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\nAudit-ID: 7\r\n\r\nforbidden', 403, 'forbidden'],
    ['200', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 200, 'ok'],
    [
      '200 with an Upgrade line',
      'HTTP/1.1 200 OK\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\nok',
      200,
      'ok',
    ],
    [
      '1xx, then 400',
      'HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\nbad',
      400,
      'bad',
    ],
    [
      '500 in chunks',
      'HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n4\r\noops\r\n0\r\n\r\n',
      500,
      'oops',
    ],
  ] as const) {
    test(`${what}: relayed, and both connections end`, async (context) => {
      const destination = await startDestination(context, response);
      const router = await startRouter(context, { destination: destination.destination });
      const client = await connect(context, router, upgradeRequest('SPDY/3.1') + smuggled);
      client.on('data', () => client.write(smuggled));
      const text = await readToEnd(client);
      assert.ok(text.startsWith(`HTTP/1.1 ${status} `), text);
      assert.match(text, /\r\nConnection: close\r\n/);
      assert.doesNotMatch(text, /\r\nUpgrade:/);
      assert.ok(text.endsWith(`\r\n\r\n${body}`), text);
      await destination.closed;
      assert.equal(destination.arrived(), '');
    });
  }

  test('a response without a length ends with its connection', async (context) => {
    const destination = await startDestination(context, 'HTTP/1.1 403 Forbidden\r\n\r\nforbidden', (socket) =>
      socket.end(),
    );
    const router = await startRouter(context, { destination: destination.destination });
    const client = await connect(context, router, upgradeRequest('SPDY/3.1') + smuggled);
    assert.ok((await readToEnd(client)).endsWith('\r\n\r\nforbidden'));
    assert.equal(destination.arrived(), '');
  });

  test('a 101 without Upgrade is no response, nothing goes through', async (context) => {
    const destination = await startDestination(context, 'HTTP/1.1 101 Switching Protocols\r\n\r\n', echo);
    const router = await startRouter(context, { destination: destination.destination });
    const client = await connect(context, router, upgradeRequest('SPDY/3.1') + smuggled);
    assert.match(await readToEnd(client), /^HTTP\/1\.1 503 /);
    assert.equal(destination.arrived(), '');
    assert.equal(router.failures[0]?.code, 'InvalidResponse');
  });
});

test('CVE-2020-8559: a redirect is neither followed nor passed on: 503', async (context) => {
  let followed = 0;
  const elsewhere = await startPeer(context, 'http/1.1', () => {
    followed++;
  });
  const location = `https://127.0.0.1:${elsewhere.port}/`;
  const response = `HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`;
  const destination = await startDestination(context, response);
  const router = await startRouter(context, { destination: destination.destination });
  const client = await connect(context, router, upgradeRequest('SPDY/3.1'));
  const text = await readToEnd(client);
  assert.match(text, /^HTTP\/1\.1 503 /);
  assert.match(text, /"reason":"ServiceUnavailable"/);
  assert.doesNotMatch(text, /127\.0\.0\.1/);
  await destination.closed;
  assert.equal(followed, 0);
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

test('`Upgrade` without `Connection: upgrade` is no upgrade: an ordinary request without the line', async (context) => {
  let upgrade: string | undefined = 'not asked';
  const peer = await startPeer(context, 'http/1.1', (incoming, outgoing) => {
    upgrade = incoming.headers.upgrade;
    outgoing.end('ordinary');
  });
  const router = await startRouter(context, { destination: peer.destination });
  const response = await askHttp1(router.port, { headers: ['upgrade', 'websocket'] });
  assert.equal(response.body.toString(), 'ordinary');
  assert.equal(upgrade, undefined);
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
    upgradeHeadTimeout: 100,
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
