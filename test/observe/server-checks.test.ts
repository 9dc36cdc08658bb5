import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { firstHeader } from '../../src/apimachinery/raw-headers.ts';
import { ServerHealth } from '../../src/health/server-health.ts';
import { TransportError } from '../../src/request/destination.ts';
import type { OutboundRequest } from '../../src/request/transport.ts';
import type { Http1ApiServerDouble } from '../support/api-server-double.ts';
import { localId } from '../support/decision-rows.ts';
import { recordingTransport } from '../support/recording-transport.ts';
import { snapshotOf } from '../support/snapshot-builder.ts';
import { startRouterWithFiles } from '../support/started-router.ts';
import { testApp, userConnection } from '../support/test-app.ts';
import { askOverHttp2, openHttp2 } from '../support/tls-client.ts';

/** What kube-apiserver writes (k8s.io/apiserver pkg/server/healthz/healthz.go). */
function checks(endpoint: string, lines: readonly string[], passed: boolean): Response {
  const text = `${lines.join('\n')}\n${endpoint} check ${passed ? 'passed' : 'failed'}\n`;
  return new Response(text, {
    status: passed ? 200 : 500,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  });
}

/** An API server with these checks; `etcd` is down where it is said to fail. */
function apiServer({ target }: OutboundRequest, failing: readonly string[] = []): Response {
  const url = new URL(target, 'https://server');
  const endpoint = url.pathname.slice(1);
  const excluded = url.searchParams.getAll('exclude');
  const names = ['ping', 'log', 'etcd', 'poststarthook/start-apiserver-admission-initializer'];
  const isExcluded = (name: string) => excluded.includes(name);
  const lines = names.map((name) => {
    if (isExcluded(name)) return `[+]${name} excluded: ok`;
    return failing.includes(name) ? `[-]${name} failed: reason withheld` : `[+]${name} ok`;
  });
  const unknown = excluded.filter((name) => !names.includes(name)).map((name) => JSON.stringify(name));
  if (unknown.length > 0) {
    lines.push(`warn: some health checks cannot be excluded: no matches for ${unknown.join(',')}`);
  }
  return checks(endpoint, lines, failing.every(isExcluded));
}

const snapshot = snapshotOf({ [localId]: ['v1/pods'], 'peer-b': ['v1/pods'] });
const origin = 'https://router.example';

async function ask(app: { request(url: string): Response | Promise<Response> }, path: string) {
  const response = await app.request(`${origin}${path}`);
  return { status: response.status, lines: (await response.text()).trimEnd().split('\n') };
}

describe('health checks of the local server beside the router’s', () => {
  test('are shown with ?verbose, each name once, on all three endpoints', async () => {
    const transport = recordingTransport((outbound) => apiServer(outbound));
    const { app } = await testApp({ transport, snapshot });
    assert.deepEqual(await ask(app, '/livez?verbose'), {
      status: 200,
      lines: [
        '[+]ping ok',
        '[+]log ok',
        '[+]etcd ok',
        '[+]poststarthook/start-apiserver-admission-initializer ok',
        'livez check passed',
      ],
    });
    for (const endpoint of ['readyz', 'healthz']) {
      assert.deepEqual(await ask(app, `/${endpoint}?verbose`), {
        status: 200,
        lines: [
          '[+]ping ok',
          '[+]snapshot ok',
          '[+]log ok',
          '[+]etcd ok',
          '[+]poststarthook/start-apiserver-admission-initializer ok',
          `${endpoint} check passed`,
        ],
      });
    }
  });

  test('attack: anonymous callers cost the server one request a second, and none hears what another asked for', async () => {
    const transport = recordingTransport((outbound) => apiServer(outbound));
    let now = 0;
    const { app } = await testApp({ transport, snapshot, monotonicClock: () => now });
    const flood = Array.from({ length: 20 }, (_, index) =>
      app.request(`${origin}/readyz?verbose`, { headers: { 'impersonate-user': `u${index}` } }),
    );
    for (const response of await Promise.all(flood)) assert.match(await response.text(), /\[\+\]etcd ok/);
    assert.equal(transport.sent.length, 1);
    assert.equal(firstHeader(transport.sent[0]?.headers ?? [], 'impersonate-user'), undefined);
    now += 1_000;
    await ask(app, '/readyz?verbose');
    assert.equal(transport.sent.length, 2);
    // Exclusions of which there are any number are no way round.
    for (let index = 0; index < 100; index++) await ask(app, `/readyz?verbose&exclude=x${index}`);
    assert.ok(transport.sent.length <= 18);
  });

  test('cost a question that is not verbose nothing', async () => {
    const transport = recordingTransport((outbound) => apiServer(outbound));
    const { app } = await testApp({ transport, snapshot });
    for (const path of ['/livez', '/readyz', '/readyz?exclude=etcd', '/readyz/snapshot', '/livez/ping']) {
      assert.deepEqual(await ask(app, path), { status: 200, lines: ['ok'] });
    }
    assert.equal(transport.sent.length, 0);
  });

  test('can be excluded, and what neither has is told once', async () => {
    const transport = recordingTransport((outbound) => apiServer(outbound, ['etcd']));
    const { app } = await testApp({ transport, snapshot });
    const { status, lines } = await ask(app, '/readyz?verbose&exclude=etcd&exclude=snapshot&exclude=a%26b');
    assert.equal(status, 200);
    assert.deepEqual(lines, [
      '[+]ping ok',
      '[+]snapshot excluded: ok',
      '[+]log ok',
      '[+]etcd excluded: ok',
      '[+]poststarthook/start-apiserver-admission-initializer ok',
      'warn: some health checks cannot be excluded: no matches for "a&b"',
      'readyz check passed',
    ]);
  });

  test('do not change the result that a question without ?verbose gets', async () => {
    const transport = recordingTransport((outbound) => apiServer(outbound, ['etcd']));
    const { app } = await testApp({ transport, snapshot });
    const { status, lines } = await ask(app, '/readyz?verbose');
    assert.equal(status, (await ask(app, '/readyz')).status);
    assert.ok(lines.includes('[-]etcd failed: reason withheld'));
    assert.ok(lines.includes('warn: the API server failed its own readyz checks: etcd'));
  });

  test('that are excluded leave a server that passes without them, though it is not ready as a whole', async () => {
    const transport = recordingTransport((outbound) => apiServer(outbound, ['etcd']));
    const health = new ServerHealth({ rise: 1, fall: 1, slowStart: 0 });
    health.follow(localId);
    health.probed(localId, 'not-ready', 1);
    for (const { id } of snapshot.servers) {
      health.follow(id);
      health.probed(id, 'not-ready', 1);
    }
    const { app } = await testApp({ transport, snapshot, health });
    assert.equal((await ask(app, '/readyz')).status, 500);
    assert.equal(transport.sent.length, 0);
    assert.deepEqual(await ask(app, '/readyz?exclude=etcd'), { status: 200, lines: ['ok'] });
    assert.equal((await ask(app, '/readyz?exclude=log')).status, 500);
  });

  test('each have a path of their own, which is the server’s to answer', async () => {
    const transport = recordingTransport((outbound) => new Response(outbound.target));
    const { app } = await testApp({ transport, snapshot });
    for (const path of ['/readyz/etcd', '/livez/poststarthook/start-apiserver-admission-initializer']) {
      assert.deepEqual(await ask(app, path), { status: 200, lines: [path] });
    }
  });

  test('are asked for in the name of the caller, and with the caller’s own credentials where those pass through', async () => {
    const transport = recordingTransport((outbound) => apiServer(outbound));
    const known = await testApp({ transport, snapshot, connection: userConnection('alice', ['dev']) });
    await known.app.request(`${origin}/readyz?verbose`, {
      headers: { 'x-remote-user': 'root', range: 'bytes=0-1' },
    });
    const unknown = await testApp({ transport, snapshot });
    await unknown.app.request(`${origin}/readyz?verbose`, {
      headers: { authorization: 'Bearer token-of-bob' },
    });
    const [asAlice, asBob] = transport.sent;
    assert.ok(asAlice !== undefined && asBob !== undefined);
    assert.equal(firstHeader(asAlice.headers, 'x-remote-user'), 'alice');
    assert.equal(firstHeader(asAlice.headers, 'range'), undefined);
    assert.equal(firstHeader(asBob.headers, 'authorization'), 'Bearer token-of-bob');
    assert.equal(firstHeader(asBob.headers, 'x-remote-user'), undefined);
  });

  test('that the server does not show to the caller are not shown', async () => {
    const transport = recordingTransport(() => new Response('[+]secret ok\n', { status: 403 }));
    const { app } = await testApp({ transport, snapshot });
    const { status, lines } = await ask(app, '/livez?verbose');
    assert.equal(status, 200);
    assert.deepEqual(lines, [
      '[+]ping ok',
      'warn: the API server did not show its livez checks: not to this caller',
      'livez check passed',
    ]);
  });

  test('say that a server cannot be reached where probes do not reach it either, whoever responds in its place', async () => {
    const transport = recordingTransport((outbound) => {
      if (outbound.destination.id !== localId) return apiServer(outbound);
      throw new TransportError('ConnectFailed', 'refused', { mayHaveBeenProcessed: false });
    });
    const health = new ServerHealth({ rise: 1, fall: 1, slowStart: 0 });
    for (const id of [localId, 'peer-b']) health.follow(id);
    health.probed(localId, 'unreachable', 1);
    health.probed('peer-b', 'ready', 1);
    const { app } = await testApp({ transport, snapshot, health });
    const { lines } = await ask(app, '/readyz?verbose');
    assert.ok(
      lines.includes('warn: the API server did not show its readyz checks: it cannot be reached'),
      lines.join('\n'),
    );
  });

  test('are nothing but lines of checks: whatever else an answer holds is left out', async () => {
    const transport = recordingTransport(() =>
      checks(
        'livez',
        ['[+]etcd ok', '<script>', '[-]log failed: dial tcp 10.0.0.7:2379', '[+]a b ok'],
        false,
      ),
    );
    const { app } = await testApp({ transport, snapshot });
    const { lines } = await ask(app, '/livez?verbose');
    assert.deepEqual(lines, [
      '[+]ping ok',
      '[+]etcd ok',
      '[-]log failed: reason withheld',
      'warn: the API server failed its own livez checks: log',
      'livez check passed',
    ]);
  });

  test('of a server that hangs are waited for two seconds', async (context) => {
    const asked = Promise.withResolvers<void>();
    const transport = recordingTransport(() => {
      asked.resolve();
      return new Promise<never>(() => {});
    });
    const { app } = await testApp({ transport, snapshot });
    // Not before: on a busy machine the snapshot is read in slices, with a timer between two.
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const answer = ask(app, '/livez?verbose');
    await asked.promise;
    context.mock.timers.tick(2_000);
    const { status, lines } = await answer;
    assert.equal(status, 200);
    assert.match(
      lines.join('\n'),
      /^\[\+\]ping ok\nwarn: the API server did not show its livez checks: no response in time\n/,
    );
  });

  test('are not asked for by more than eight questions at once: the others are answered without', async (context) => {
    const transport = recordingTransport(() => new Promise<never>(() => {}));
    const { app } = await testApp({ transport, snapshot });
    // The router's own part of the app is loaded by the first request for it.
    await ask(app, '/livez');
    context.mock.timers.enable({ apis: ['setTimeout'] });
    // Each with credentials of its own: anonymous callers share one question.
    const headers = { authorization: 'Bearer opaque' };
    const question = async () => app.request(`${origin}/livez?verbose`, { headers });
    const held = Array.from({ length: 8 }, question);
    while (transport.sent.length < 8) await new Promise((resolve) => setImmediate(resolve));
    const ninth = await question();
    assert.deepEqual([ninth.status, (await ninth.text()).split('\n')[0]], [200, '[+]ping ok']);
    assert.equal(transport.sent.length, 8);
    context.mock.timers.tick(2_000);
    await Promise.all(held);
  });
});

describe('a gateway', () => {
  const servers = snapshotOf({ a: ['v1/pods'], b: ['v1/pods'], c: ['v1/pods'] });
  const gateway = (answer: (outbound: OutboundRequest) => Response | Promise<Response>) => {
    const transport = recordingTransport(answer);
    return testApp({ transport, snapshot: servers, local: undefined });
  };

  test('shows its servers, and of each check whether it passes anywhere', async () => {
    const { app } = await gateway((outbound) => {
      if (outbound.destination.id === 'c') throw new Error('no such host');
      return apiServer(outbound, outbound.destination.id === 'b' ? ['etcd', 'log'] : ['log']);
    });
    assert.deepEqual(await ask(app, '/readyz?verbose&exclude=ping'), {
      status: 200,
      lines: [
        '[+]ping excluded: ok',
        '[+]snapshot ok',
        '[-]log failed: reason withheld',
        '[+]etcd ok',
        '[+]poststarthook/start-apiserver-admission-initializer ok',
        'warn: API server a failed its own readyz checks: log',
        'warn: API server b failed its own readyz checks: log,etcd',
        'warn: API server c did not show its readyz checks: no response that names them',
        'readyz check passed',
      ],
    });
    const all = await gateway((outbound) => apiServer(outbound));
    const { lines } = await ask(all.app, '/livez?verbose');
    for (const id of ['a', 'b', 'c']) assert.ok(lines.includes(`[+]server/${id} ok`), id);
  });
});

test('over TLS: the checks of a real connection, asked for with the caller’s identity', async (context) => {
  const { authorities, port, apiServer, user } = await startRouterWithFiles(context, {
    protocol: 'http/1.1',
  });
  (apiServer as Http1ApiServerDouble).answer = (incoming, outgoing) => {
    assert.equal(incoming.url, '/livez?verbose&exclude=log');
    const lines = ['[+]ping ok', '[+]log excluded: ok', '[+]etcd ok', 'livez check passed'];
    outgoing.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(`${lines.join('\n')}\n`);
  };
  const pair = await user('alice', ['developers']);
  const session = openHttp2(context, { port, ca: authorities.cluster.certificate, pair });
  const { status, text } = await askOverHttp2(session, '/livez?verbose&exclude=log');
  assert.equal(status, 200);
  assert.equal(text, '[+]ping ok\n[+]log excluded: ok\n[+]etcd ok\nlivez check passed\n');
  const [seen] = apiServer.requests;
  assert.equal(seen?.clientName, 'front-proxy-client');
  assert.equal(firstHeader(seen?.headers ?? [], 'x-remote-user'), 'alice');
});
