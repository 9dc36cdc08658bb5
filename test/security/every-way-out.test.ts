import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allHeaders, type RawHeaders } from '../../src/apimachinery/raw-headers.ts';
import { type ApiServerDouble, protocols } from '../support/api-servers/api-server-double.ts';
import { ask } from '../support/clients/ask.ts';
import { rawHttp1 } from '../support/clients/raw-http1.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import {
  clusterSnapshot,
  type RouterUnderTest,
  startRouterUnderTest,
  targets,
} from '../support/routers/router-under-test.ts';
import { credentialIdOf } from '../support/security/certificates.ts';
import {
  assertExactIdentity,
  configuredNames,
  forgedHeaders,
  forgedHttp2Headers,
  type Identity,
  impersonation,
  nominations,
  reroutedMarks,
} from '../support/security/forged-headers.ts';
import { bearerToken } from '../support/security/secrets.ts';

const alice = [
  'x-remote-user',
  'alice',
  'x-remote-group',
  'dev',
  'x-remote-group',
  'system:authenticated',
] as const;

/** Callers, and the lines that must arrive of each whatever he sends besides. */
const identities: Readonly<Record<string, Identity>> = {
  'a user with a client certificate': {
    client: 'alice',
    headers: forgedHeaders,
    arrives: [...alice, ...credentialIdOf('alice')],
    presentsFrontProxyCertificate: true,
    authorization: [],
  },
  'a user with a client certificate and a token, which does not travel': {
    client: 'alice',
    headers: [...forgedHeaders, 'Authorization', `Bearer ${bearerToken}`],
    arrives: [...alice, ...credentialIdOf('alice')],
    presentsFrontProxyCertificate: true,
    authorization: [],
  },
  'a caller whose token only an API server can check': {
    client: 'nobody',
    headers: [...forgedHeaders, 'Authorization', `Bearer ${bearerToken}`],
    arrives: [],
    presentsFrontProxyCertificate: false,
    authorization: [`Bearer ${bearerToken}`],
  },
  'an anonymous caller': {
    client: 'nobody',
    headers: forgedHeaders,
    arrives: [],
    presentsFrontProxyCertificate: false,
    authorization: [],
  },
  'a front proxy that speaks for a user': {
    client: 'frontProxy',
    headers: [
      ...[
        'X-Remote-User',
        'carol',
        'X-Remote-Uid',
        'carol-uid',
        'X-Remote-Group',
        'a, b',
        'X-Remote-Group',
        'c',
      ],
      ...[
        'X-Remote-Extra-Scopes',
        'view',
        'x_remote_user',
        'root',
        'X_Remote_Group',
        'root',
        'x_custom_uid',
        'root',
      ],
    ],
    arrives: [
      ...[
        'x-remote-user',
        'carol',
        'x-remote-uid',
        'carol-uid',
        'x-remote-group',
        'a, b',
        'x-remote-group',
        'c',
      ],
      ...['x-remote-group', 'system:authenticated', 'x-remote-extra-scopes', 'view'],
    ],
    presentsFrontProxyCertificate: true,
    authorization: [],
  },
};

/** Header lines as a client sends them over this protocol. */
function asCarried(protocol: string, headers: RawHeaders): RawHeaders {
  if (protocol === 'http/1.1') return headers;
  return headers === forgedHeaders
    ? forgedHttp2Headers
    : headers.map((line, index) => (index % 2 === 0 ? line.toLowerCase() : line));
}

/** Where a way out leads and by which request it is taken. */
interface WayOut {
  readonly destination: (router: RouterUnderTest) => ApiServerDouble;
  readonly path: string;
  readonly marks: readonly string[];
  /** Where callers whom the router did not authenticate go instead. */
  readonly forUnauthenticated?: (router: RouterUnderTest) => ApiServerDouble;
}

const waysOut: Readonly<Record<string, WayOut>> = {
  local: { destination: ({ local }) => local, path: targets.local, marks: [] },
  peer: { destination: ({ peer }) => peer, path: targets.peer, marks: ['true'] },
  'merged discovery, for which the local server is asked': {
    destination: ({ local }) => local,
    path: '/apis',
    marks: [],
  },
  'what nobody serves': { destination: ({ local }) => local, path: '/apis/none/v1/things', marks: [] },
};

for (const protocol of protocols) {
  for (const destinations of protocols) {
    test(`S6 S7 S8 S9: every way out from ${protocol} to ${destinations} carries exactly the established identity`, async (context) => {
      const router = await startRouterUnderTest(context, { destinations, flags: configuredNames });
      for (const [wayName, way] of Object.entries(waysOut)) {
        for (const [who, identity] of Object.entries(identities)) {
          await context.test(`${wayName}: ${who}`, async () => {
            for (const backend of [router.local, router.peer, router.stranger]) backend.clear();
            await ask(router.port, {
              protocol,
              client: identity.client,
              path: way.path,
              headers: [...asCarried(protocol, identity.headers), ...asCarried(protocol, impersonation)],
            });

            const reached = identity.presentsFrontProxyCertificate
              ? way.destination(router)
              : (way.forUnauthenticated ?? way.destination)(router);
            assert.equal(router.allRequests().length, 1);
            assertExactIdentity(reached.only(), identity);
            assert.deepEqual(reroutedMarks(reached.only()), way.marks);
            assertImpersonates(reached.only().headers);
          });
        }
      }
    });
  }
}

test('S8: nominations by Connection remove nothing that the router adds, on any way out', async (context) => {
  const router = await startRouterUnderTest(context, { flags: configuredNames });
  for (const [wayName, way] of Object.entries(waysOut)) {
    for (const [who, identity] of Object.entries(identities)) {
      await context.test(`${wayName}: ${who}`, async () => {
        for (const backend of [router.local, router.peer, router.stranger]) backend.clear();
        await ask(router.port, {
          client: identity.client,
          path: way.path,
          headers: ['Connection', `close, ${nominations}`, ...identity.headers, ...impersonation],
        });

        const [request] = router.allRequests();
        assert.ok(request !== undefined);
        assertExactIdentity(request, identity);
        assertImpersonates(request.headers);
        assert.equal(allHeaders(request.headers, 'x-forwarded-for').length, 1);
        assert.equal(allHeaders(request.headers, 'via').length, 1);
        assert.ok(!allHeaders(request.headers, 'connection').some((value) => /remote/i.test(value)));
      });
    }
  }
});

test('S7: a second try carries the same identity as the first', async (context) => {
  const router = await startRouterUnderTest(context, { flags: configuredNames });
  // Another peer for the same resource, at a port where nobody listens.
  const snapshot = clusterSnapshot(router, { generation: 2 });
  const [first] = snapshot.servers.filter(({ id }) => id === 'peer');
  assert.ok(first !== undefined);
  const dead = { ...first, id: 'dead-peer', address: `127.0.0.1:${await freePort()}` };
  assert.equal((await router.push({ ...snapshot, servers: [...snapshot.servers, dead] })).status, 200);

  for (const [who, identity] of Object.entries(identities)) {
    // The choice between the two is a draw, and a dead one is avoided for a while.
    await context.test(who, async () => {
      for (let round = 0; round < 8; round++) {
        router.peer.clear();
        const { client, headers } = identity;
        const answer = await ask(router.port, { client, path: targets.peer, headers });
        assert.equal(answer.status, 200);
        assertExactIdentity(router.peer.only(), identity);
        assert.deepEqual(reroutedMarks(router.peer.only()), ['true']);
      }
    });
  }
  assert.ok(
    router.logLines.some((line) => line.includes('"destination":"dead-peer"')),
    'no first try failed: the test has shown nothing',
  );
});

for (const [wayName, path] of [
  ['local', `${targets.local}/a/exec`],
  ['peer', `${targets.peer}/a/attach`],
] as const) {
  test(`S7 S8: an upgrade to ${wayName} carries exactly the established identity`, async (context) => {
    const router = await startRouterUnderTest(context, { flags: configuredNames });
    const backend = router[wayName];
    for (const [who, identity] of Object.entries(identities)) {
      await context.test(who, async (context) => {
        backend.clear();
        const raw = await rawHttp1(context, router.port, identity.client);
        raw.write(
          `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, ${nominations}\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n` +
            `${asText(identity.headers)}${asText(impersonation)}\r\nhello`,
        );
        await raw.until((received) => received.endsWith('HELLO'));

        assertExactIdentity(backend.only(), identity);
        assert.deepEqual(reroutedMarks(backend.only()), wayName === 'peer' ? ['true'] : []);
        assertImpersonates(backend.only().headers);
        assert.equal(router.allRequests().length, 1);
      });
    }
  });
}

test('S6: the router’s own paths believe no header either, and no server hears of them', async (context) => {
  const router = await startRouterUnderTest(context, { flags: configuredNames });
  for (const protocol of protocols) {
    for (const path of ['/.mixed-version-proxy/v1/snapshot', '/.mixed-version-proxy/v1/status', '/readyz']) {
      const open = path === '/readyz';
      const headers = asCarried(protocol, forgedHeaders);
      const anonymous = await ask(router.port, { protocol, path, headers });
      assert.equal(anonymous.status, open ? 200 : 403);
      const alice = await ask(router.port, { protocol, path, headers, client: 'alice' });
      assert.equal(alice.status, open ? 200 : 403);
      const admin = await ask(router.port, { protocol, path, headers, client: 'admin' });
      assert.equal(admin.status, 200);
    }
  }
  assert.deepEqual(router.allRequests(), []);
});

test('S7: what the router asks on its own account carries its own name', async (context) => {
  const flags = { ...configuredNames, 'health-check-interval': ['10s'] };
  const router = await startRouterUnderTest(context, { flags });
  for (const backend of [router.local, router.peer]) {
    await eventually(() => backend.ownRequests.length > 0);
    for (const request of backend.ownRequests) {
      assertExactIdentity(request, {
        client: 'nobody',
        headers: [],
        arrives: ['x-remote-user', 'system:mixed-version-proxy', 'x-remote-group', 'system:authenticated'],
        presentsFrontProxyCertificate: true,
        authorization: [],
      });
      assert.deepEqual(reroutedMarks(request), backend === router.peer ? ['true'] : []);
    }
  }
});

function asText(headers: RawHeaders): string {
  let text = '';
  for (let index = 0; index + 1 < headers.length; index += 2)
    text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return text;
}

function assertImpersonates(headers: RawHeaders): void {
  const lines = headers.map((line, index) => (index % 2 === 0 ? line.toLowerCase() : line));
  const sent = impersonation.map((line, index) => (index % 2 === 0 ? line.toLowerCase() : line));
  const isAbout = (index: number): boolean => lines[index - (index % 2)]?.startsWith('impersonate') === true;
  assert.deepEqual(
    lines.filter((_, index) => isAbout(index)),
    sent,
  );
}
