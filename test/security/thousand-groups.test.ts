import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { ask } from '../support/clients/ask.ts';
import { rawHttp1 } from '../support/clients/raw-http1.ts';
import { startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';

/** As long as directory names are: about 100 KB of header in all. */
const groups = Array.from(
  { length: 1_000 },
  (_, index) => `cn=team-${index},ou=platform engineering,ou=groups,dc=production,dc=example,dc=com`,
);
const asserted = ['x-remote-user', 'carol', ...groups.flatMap((group) => ['x-remote-group', group])];
const arrives = [...groups, 'system:authenticated'];

for (const protocol of protocols) {
  for (const destinations of protocols) {
    test(`a user in 1,000 groups works from ${protocol} to servers on ${destinations}`, async (context) => {
      const router = await startRouterUnderTest(context, { destinations });
      for (const way of ['local', 'peer'] as const) {
        const request = { protocol, client: 'frontProxy', path: targets[way], headers: asserted } as const;
        assert.equal((await ask(router.port, request)).status, 200);
        assert.deepEqual(allHeaders(router[way].only().headers, 'x-remote-group'), arrives);
      }
    });
  }

  test(`a caller with 1,000 groups to impersonate works over ${protocol}`, async (context) => {
    const router = await startRouterUnderTest(context);
    const headers = ['impersonate-user', 'carol', ...groups.flatMap((group) => ['impersonate-group', group])];
    const answer = await ask(router.port, { protocol, client: 'admin', path: targets.peer, headers });
    assert.equal(answer.status, 200);
    assert.deepEqual(allHeaders(router.peer.only().headers, 'impersonate-group'), groups);
  });
}

test('a user in 1,000 groups can exec', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp1(context, router.port, 'frontProxy');
  const lines = groups.map((group) => `X-Remote-Group: ${group}\r\n`).join('');
  raw.write(
    `POST ${targets.peer}/a/attach HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n` +
      `Content-Length: 0\r\nX-Remote-User: carol\r\n${lines}\r\nhello`,
  );
  await raw.until((received) => received.endsWith('HELLO'));
  assert.deepEqual(allHeaders(router.peer.only().headers, 'x-remote-group'), arrives);
});

test('a server that cannot take 1,000 groups costs an answer with a clear status, not a dead stream', async (context) => {
  const router = await startRouterUnderTest(context);
  // As Node's servers answer by default.
  router.peer.answer = (outgoing) => {
    outgoing.writeHead(431);
    outgoing.end();
  };
  for (const protocol of protocols) {
    const request = { protocol, client: 'frontProxy', path: targets.peer, headers: asserted } as const;
    assert.equal((await ask(router.port, request)).status, 431);
  }
});
