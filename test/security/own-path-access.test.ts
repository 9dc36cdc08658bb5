import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { firstHeader } from '../../src/apimachinery/raw-headers.ts';
import { sealedMediaType } from '../../src/snapshot/receiving/snapshot-endpoint.ts';
import { sealSnapshot } from '../../src/snapshot/signing/seal.ts';
import { ask, type WireAnswer } from '../support/security/ask.ts';
import type { Client } from '../support/security/certificates.ts';
import { rawHttp1, sendAndReadToEnd } from '../support/security/raw-http1.ts';
import { protocols } from '../support/security/recording-backend.ts';
import {
  clusterSnapshot,
  type RouterUnderTest,
  snapshotKey,
  startRouterUnderTest,
} from '../support/security/router-under-test.ts';

const prefix = '/.mixed-version-proxy';
const paths = [`${prefix}/v1/snapshot`, `${prefix}/v1/status`, `${prefix}/v1/explain?url=/api/v1/pods`];

interface StatusBody {
  readonly kind: string;
  readonly apiVersion: string;
  readonly code: number;
  readonly reason: string;
  readonly message: string;
}

/** A router in front of servers whose RBAC lets these users use its paths; they let nobody ask without credentials. */
async function startRouter(context: TestContext, users: readonly string[] = []): Promise<RouterUnderTest> {
  const router = await startRouterUnderTest(context);
  router.local.lets = users;
  return router;
}

function statusOf({ body }: WireAnswer): StatusBody {
  const status = JSON.parse(body);
  assert.equal(status.kind, 'Status');
  assert.equal(status.apiVersion, 'v1');
  return status;
}

for (const protocol of protocols) {
  describe(`own paths over ${protocol}`, () => {
    it('are closed to callers without credentials: 403 as a Status, on every path and method', async (context) => {
      const router = await startRouter(context);
      for (const path of [...paths, prefix, `${prefix}/`, `${prefix}/nosuch`]) {
        for (const method of ['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS']) {
          const answer = await ask(router.port, { protocol, method, path });
          assert.equal(answer.status, 403, `${method} ${path}`);
          assert.match(statusOf(answer).message, /^forbidden: User "system:anonymous" cannot /);
        }
        const head = await ask(router.port, { protocol, method: 'HEAD', path });
        assert.equal(head.status, 403);
        assert.equal(head.body, '');
      }
      assert.deepEqual(router.allRequests(), []);
    });

    it('take nothing from the headers of a caller who is not a front proxy', async (context) => {
      const router = await startRouter(context);
      const headers = [
        'X-Remote-User',
        'root',
        'X-Remote-Group',
        'system:masters',
        'Authorization',
        'Bearer x',
      ];
      const forged = (client: Client) =>
        ask(router.port, { protocol, client, path: paths[1] ?? '', headers });
      assert.equal((await forged('nobody')).status, 401);
      assert.equal((await forged('alice')).status, 403);
      assert.equal((await forged('rogue')).status, 401);
      assert.equal((await forged('otherFrontProxy')).status, 401);
    });

    it('are closed to authenticated callers who are not allowed: 403, worded as Kubernetes does', async (context) => {
      const router = await startRouter(context);
      for (const path of paths) {
        for (const method of ['GET', 'PUT', 'OPTIONS']) {
          const answer = await ask(router.port, { protocol, client: 'alice', method, path });
          assert.equal(answer.status, 403, `${method} ${path}`);
          const { reason, message } = statusOf(answer);
          assert.equal(reason, 'Forbidden');
          const shown = path.replace(/\?.*/, '');
          assert.equal(message, `forbidden: User "alice" cannot ${method.toLowerCase()} path "${shown}"`);
        }
      }
      assert.deepEqual(router.allRequests(), []);
    });

    it('are open to super-users and to whom RBAC lets in, also through a front proxy', async (context) => {
      const router = await startRouter(context, ['alice', 'dora']);
      const asDora = ['X-Remote-User', 'dora'];
      for (const path of paths) {
        assert.equal((await ask(router.port, { protocol, client: 'admin', path })).status, 200, path);
        assert.equal((await ask(router.port, { protocol, client: 'alice', path })).status, 200, path);
        const proxied = await ask(router.port, { protocol, client: 'frontProxy', path, headers: asDora });
        assert.equal(proxied.status, 200, path);
        const head = await ask(router.port, { protocol, client: 'admin', method: 'HEAD', path });
        assert.equal(head.status, 200, path);
        assert.equal(head.body, '');
      }
      const snapshot = clusterSnapshot(router, { generation: 2 });
      const pushed = await ask(router.port, {
        protocol,
        client: 'alice',
        method: 'PUT',
        path: paths[0] ?? '',
        headers: ['content-type', sealedMediaType],
        body: await sealSnapshot(snapshot, snapshotKey),
      });
      assert.equal(pushed.status, 200, pushed.body);
      assert.deepEqual(router.allRequests(), []);
    });

    it('are closed to an anonymous caller that a front proxy vouches for, unless RBAC lets anonymous callers in', async (context) => {
      const router = await startRouter(context);
      const headers = ['X-Remote-User', 'system:anonymous', 'X-Remote-Group', 'system:unauthenticated'];
      const asked = { protocol, client: 'frontProxy', path: paths[1] ?? '', headers } as const;
      assert.equal((await ask(router.port, asked)).status, 403);
    });

    it('are opened to no super-user who asks to be another: the server says what that other may', async (context) => {
      const router = await startRouter(context);
      for (const name of [
        'Impersonate-User',
        'impersonate-group',
        'Impersonate-Uid',
        'Impersonate-Extra-scopes',
        'Impersonate-Something-New',
        'IMPERSONATE_USER',
      ]) {
        const path = paths[1] ?? '';
        const answer = await ask(router.port, { protocol, client: 'admin', path, headers: [name, 'jane'] });
        assert.equal(answer.status, 403, name);
        assert.equal(firstHeader(router.local.reviews.at(-1)?.headers ?? [], name), 'jane');
      }
    });

    it('are refused in every other spelling, and never reach an API server', async (context) => {
      const router = await startRouter(context);
      for (const path of [
        '/%2emixed-version-proxy/v1/status',
        '/.mixed-version-proxy%2Fv1%2Fstatus',
        '/.mixed-version-proxy/v1/%73tatus',
        '//.mixed-version-proxy/v1/status',
        '/.mixed-version-proxy//v1/status',
        '/.mixed-version-proxy/../.mixed-version-proxy/v1/status',
        '/.mixed-version-proxy/../../api/v1/pods',
        '/.mixed-version-proxy/%2e%2e/api/v1/pods',
        '/api/../.mixed-version-proxy/v1/status',
        '/.mixed-version-proxy/./v1/status',
        '/.mixed-version-proxy\\v1\\status',
        '/.mixed-version-proxy/v1/status%00',
      ]) {
        for (const client of ['nobody', 'alice', 'admin'] as const) {
          const answer = await ask(router.port, { protocol, client, path });
          assert.equal(answer.status, 400, `${client} ${path}`);
          assert.equal(statusOf(answer).reason, 'BadRequest');
        }
      }
      assert.deepEqual(router.allRequests(), []);
    });

    it('have no handler behind a trailing slash or another word', async (context) => {
      const router = await startRouter(context);
      for (const path of ['v1/status/', 'v1/STATUS', 'v1/statusx', 'v2/status', 'v1']) {
        const answer = await ask(router.port, { protocol, client: 'admin', path: `${prefix}/${path}` });
        assert.equal(answer.status, 404, path);
      }
      assert.deepEqual(router.allRequests(), []);
    });

    it('are not what merely looks like them: that is an unknown path of the local API server', async (context) => {
      const router = await startRouter(context);
      const lookalikes = [
        '/.mixed-version-proxyx/v1/status',
        '/.mixed-version-proxy;x/v1/status',
        '/.Mixed-Version-Proxy/v1/status',
        '/%252emixed-version-proxy/v1/status',
        '/apis/.mixed-version-proxy/v1/status',
      ];
      for (const path of lookalikes) {
        const answer = await ask(router.port, { protocol, client: 'alice', path });
        assert.equal(answer.body, '{"answeredBy":"local"}', path);
      }
      assert.deepEqual(
        router.allRequests().map(({ target }) => target),
        lookalikes,
      );
    });
  });
}

it('an own path in the Host header is no way to one', async (context) => {
  const router = await startRouter(context);
  for (const host of [
    `localhost${prefix}/v1/status?`,
    `localhost${prefix}/v1/status#`,
    `${prefix}/v1/status?`,
  ]) {
    const bytes = `GET /api/v1/pods HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    const { statuses } = await sendAndReadToEnd(context, router.port, bytes, 'admin');
    assert.deepEqual(statuses, [400], host);
  }
  assert.deepEqual(router.allRequests(), []);
});

it('an absolute-form target is no way to an own path', async (context) => {
  const router = await startRouter(context);
  const bytes = `GET https://localhost${prefix}/v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  const { statuses } = await sendAndReadToEnd(context, router.port, bytes, 'admin');
  assert.deepEqual(statuses, [400]);
  assert.deepEqual(router.allRequests(), []);
});

it('an upgrade request to an own path, in any spelling, reaches no handler and no API server', async (context) => {
  const router = await startRouter(context);
  for (const [client, status] of [
    ['nobody', 400],
    ['alice', 400],
    ['admin', 400],
    ['rogue', 401],
  ] as const) {
    for (const path of [
      `${prefix}/v1/status`,
      prefix,
      '//.mixed-version-proxy/v1/status',
      '/%2emixed-version-proxy',
    ]) {
      const raw = await rawHttp1(context, router.port, client);
      raw.write(
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      );
      await raw.untilEnd();
      assert.deepEqual(raw.statuses, [status], `${client} ${path}`);
      assert.ok(!raw.received.includes('"serverId"'));
    }
  }
  assert.deepEqual(router.allRequests(), []);
});
