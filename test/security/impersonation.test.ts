import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allHeaders, headerLines, type RawHeaders } from '../../src/apimachinery/raw-headers.ts';
import { ask } from '../support/security/ask.ts';
import { rawHttp1 } from '../support/security/raw-http1.ts';
import { protocols, type ReceivedRequest } from '../support/security/recording-backend.ts';
import {
  type RouterUnderTest,
  startRouterUnderTest,
  targets,
} from '../support/security/router-under-test.ts';
import { bearerToken } from '../support/security/secrets.ts';

/** As client-go writes them: groups and extra values line by line, doubles and commas included. */
const impersonation: RawHeaders = [
  'Impersonate-User',
  'jane',
  'Impersonate-Group',
  'dev',
  'Impersonate-Group',
  'a, b',
  'Impersonate-Group',
  'dev',
  'Impersonate-Uid',
  '42',
  'Impersonate-Extra-Scopes',
  'view',
  'Impersonate-Extra-Scopes',
  'edit',
  'Impersonate-Extra-Example.com%2fteam',
  'x',
];

/** Of a request as a server got it: only the lines about impersonation, names in lower case. */
function impersonationIn(headers: RawHeaders): string[][] {
  return [...headerLines(headers)]
    .map(([name, value]) => [name.toLowerCase(), value])
    .filter(([name]) => name?.startsWith('impersonate'));
}

/** The one request that a client made; the router asks servers for documents of its own accord. */
function received(router: RouterUnderTest): ReceivedRequest {
  const requests = router
    .allRequests()
    .filter(({ headers }) => allHeaders(headers, 'x-remote-user')[0] !== 'system:mixed-version-proxy');
  const [request] = requests;
  assert.ok(request !== undefined && requests.length === 1, `${requests.length} requests`);
  return request;
}

const expected = impersonationIn(impersonation);

for (const protocol of protocols) {
  describe(`a request to impersonate over ${protocol}`, () => {
    for (const [destination, path] of Object.entries(targets)) {
      it(`reaches the ${destination} server line by line, under the identity of the one who asks`, async (context) => {
        for (const destinations of protocols) {
          const router = await startRouterUnderTest(context, { destinations });
          const answer = await ask(router.port, { protocol, client: 'alice', path, headers: impersonation });
          assert.equal(answer.status, 200);
          const request = received(router);
          assert.deepEqual(impersonationIn(request.headers), expected);
          assert.deepEqual(allHeaders(request.headers, 'x-remote-user'), ['alice']);
          assert.deepEqual(allHeaders(request.headers, 'x-remote-group'), ['dev', 'system:authenticated']);
          assert.equal(request.clientCertificate, 'front-proxy-client');
        }
      });
    }

    it('keeps the token of a caller whom only the API server can authenticate', async (context) => {
      const router = await startRouterUnderTest(context);
      const headers = ['Authorization', `Bearer ${bearerToken}`, ...impersonation];
      await ask(router.port, { protocol, path: targets.peer, headers });
      const request = received(router);
      assert.deepEqual(impersonationIn(request.headers), expected);
      assert.deepEqual(allHeaders(request.headers, 'authorization'), [`Bearer ${bearerToken}`]);
      assert.deepEqual(allHeaders(request.headers, 'x-remote-user'), []);
      assert.equal(request.clientCertificate, undefined);
    });

    it('passes through from a front proxy, who speaks for the one who asks', async (context) => {
      const router = await startRouterUnderTest(context);
      const headers = ['X-Remote-User', 'dora', 'X-Remote-Group', 'ops', ...impersonation];
      await ask(router.port, { protocol, client: 'frontProxy', path: targets.peer, headers });
      const request = received(router);
      assert.deepEqual(impersonationIn(request.headers), expected);
      assert.deepEqual(allHeaders(request.headers, 'x-remote-user'), ['dora']);
    });

    it('never makes the impersonated user the asserted one', async (context) => {
      const router = await startRouterUnderTest(context);
      const asking = ['Impersonate-User', 'system:admin', 'Impersonate-Group', 'system:masters'];
      await ask(router.port, { protocol, client: 'alice', path: targets.local, headers: asking });
      const { headers } = received(router);
      const asserted = [...headerLines(headers)].filter(([name]) => /^x-remote/i.test(name));
      assert.ok(!JSON.stringify(asserted).includes('system:admin'));
      assert.ok(!JSON.stringify(asserted).includes('system:masters'));
    });
  });
}

it('a nomination by Connection does not strip the headers: the caller would act under its own rights', async (context) => {
  const router = await startRouterUnderTest(context);
  const nominated = 'close, Impersonate-User, impersonate-group, Impersonate-Uid, Impersonate-Extra-Scopes';
  const headers = [...impersonation, 'Connection', nominated];
  await ask(router.port, { client: 'alice', path: targets.peer, headers });
  assert.deepEqual(impersonationIn(received(router).headers), expected);
});

it('an upgrade (exec) carries them too', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp1(context, router.port, 'alice');
  const lines = [...headerLines(impersonation)].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const path = '/api/v1/namespaces/default/pods/a/exec?command=sh';
  raw.write(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n${lines}\r\n`,
  );
  await raw.until((bytes) => bytes.includes('\r\n\r\n'));
  assert.deepEqual(raw.statuses, [101]);
  const request = received(router);
  assert.deepEqual(impersonationIn(request.headers), expected);
  assert.deepEqual(allHeaders(request.headers, 'x-remote-user'), ['alice']);
});
