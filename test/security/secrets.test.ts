import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { ask } from '../support/clients/ask.ts';
import { rawHttp1, sendAndReadToEnd } from '../support/clients/raw-http1.ts';
import {
  clusterSnapshot,
  pushText,
  startRouterUnderTest,
  targets,
} from '../support/routers/router-under-test.ts';
import {
  assertNoSecretIn,
  basicPassword,
  bearerToken,
  cookieSecret,
  opaqueToken,
  websocketToken,
} from '../support/security/secrets.ts';

/** Every kind of credential at once. Which of two `Authorization` lines counts is for whoever reads them. */
const credentials = [
  ...['authorization', `Bearer ${bearerToken}`, 'authorization', `Bearer ${opaqueToken}`],
  ...['cookie', `session=${cookieSecret}`, 'x-auth-token', opaqueToken],
  ...['proxy-authorization', `Basic ${Buffer.from(`user:${basicPassword}`).toString('base64')}`],
  ...['sec-websocket-protocol', `base64url.bearer.authorization.k8s.io.${websocketToken}, v4.channel.k8s.io`],
];

test('S18: whatever fails, no credential and no key is in a log line or in the body of a failure', async (context) => {
  const router = await startRouterUnderTest(context);
  // `ask` and the router under test search every failure and every log line; this drives them through all of them.
  const query = `?token=${opaqueToken}&access_token=${bearerToken}`;
  for (const protocol of protocols) {
    for (const client of ['nobody', 'alice', 'otherFrontProxy', 'frontProxy'] as const) {
      for (const path of [
        ...Object.values(targets),
        '/apis',
        '/.mixed-version-proxy/v1/status',
        '/.x/../y',
      ]) {
        const request = { protocol, client, path: `${path}${query}`, headers: credentials } as const;
        await ask(router.port, request);
        await ask(router.port, { ...request, method: 'POST', body: bearerToken });
      }
    }
  }
  // Destinations that break off, talk nonsense, or cannot be reached.
  router.peer.answer = (outgoing) => {
    outgoing.writeHead(200);
    outgoing.write('half');
    setImmediate(() => destroy(outgoing));
  };
  await ask(router.port, { path: targets.peer + query, headers: credentials }).catch(() => {});
  const unreachable = clusterSnapshot({ peer: { port: 1 } }, { generation: 2 });
  assert.equal((await router.push(unreachable)).status, 200);
  for (const path of Object.values(targets)) {
    const answer = await ask(router.port, { client: 'alice', path: path + query, headers: credentials });
    if (path !== targets.local) assert.equal(answer.status, 503);
  }
  // Refused credentials with nothing beside them that an API server could judge.
  const basic = credentials.filter((_, index) => credentials[index - (index % 2)] === 'proxy-authorization');
  const refused = { client: 'otherFrontProxy', path: targets.peer + query, headers: basic } as const;
  assert.equal((await ask(router.port, refused)).status, 401);
  // Lines that are no HTTP at all, with credentials in them.
  for (const line of [
    `Authorization : Bearer ${bearerToken}`,
    `X\0: ${opaqueToken}`,
    `Content-Length: ${opaqueToken}`,
  ]) {
    const bytes = `GET ${targets.peer}${query} HTTP/1.1\r\nHost: localhost\r\n${line}\r\n\r\n`;
    assertNoSecretIn((await sendAndReadToEnd(context, router.port, bytes)).received, 'a 400');
  }
  await pushText(router.port, bearerToken);
  await pushText(router.port, `${bearerToken}.${opaqueToken}.${opaqueToken}`);

  // The search has shown something only if there was something to be found.
  for (const message of ['Unauthorized', 'A destination did not respond', 'A pushed snapshot was refused']) {
    assert.ok(
      router.logLines.some((line) => line.includes(message)),
      `${message} was not logged:\n${router.logLines.join('')}`,
    );
  }
  for (const line of router.logLines) assertNoSecretIn(line, 'a log line');
});

test('S18: the search finds what it is meant to find', () => {
  for (const secret of [bearerToken, opaqueToken, basicPassword, cookieSecret, websocketToken]) {
    assert.throws(() => assertNoSecretIn(`{"msg":"… ${secret} …"}`, 'a planted line'));
  }
});

test('S18: an upgrade of an authenticated caller takes no token along either', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp1(context, router.port, 'alice');
  raw.write(
    `GET ${targets.peer}/a/attach HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Authorization: Bearer ${bearerToken}\r\nSec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${websocketToken}, v4.channel.k8s.io\r\n\r\nhello`,
  );
  await raw.until((received) => received.endsWith('HELLO'));
  const { headers } = router.peer.only();
  assert.deepEqual(allHeaders(headers, 'authorization'), []);
  assert.deepEqual(allHeaders(headers, 'sec-websocket-protocol'), ['v4.channel.k8s.io']);
});

function destroy(outgoing: object): void {
  if ('destroy' in outgoing && typeof outgoing.destroy === 'function') outgoing.destroy();
}
