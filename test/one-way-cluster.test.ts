// Every request of kubectl and of a client that lists, watches and writes passes the Hono app once, by its adapter, and
// leaves by a dispatcher: counted over the embedded cluster, and in the Worker's handler.
import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { Pool } from 'undici';
import type { PreparedWorker } from '../src/edge/worker/worker-app.ts';
import { passages } from './support/counting-app.ts';
import { findKubectls, kubectlMissing, overHttp1, runInContext } from './support/kubectl.ts';
import { snapshotOf } from './support/snapshot-builder.ts';
import { receiverHolding } from './support/test-app.ts';

// Behind the counting app, which takes the place of the app that these import.
const { startDemo } = await import('./support/running-demo.ts');
const { Http2Pool } = await import('../src/http2/client/http2-pool.ts');
const { NodeInboundRequest } = await import('../src/node/exchange/node-inbound.ts');
const { Http2Inbound } = await import('../src/node/serving/http2-server.ts');
const { createWorkerApp } = await import('../src/edge/worker/worker-app.ts');
const { silentLogger } = await import('../src/runtime/logger.ts');

/** Who has sent a request, by its User-Agent: probes and the sync job ask as well. */
function sentBy(agent: string, lines: readonly unknown[]): boolean {
  return lines.some(
    (line, index) =>
      String(line).toLowerCase() === 'user-agent' && String(lines[index + 1]).startsWith(agent),
  );
}

/** What passed by now. */
interface Counts {
  /** HTTP/1.1 requests that Node's parser has read, of all servers in this process. */
  parsed: number;
  /** Requests that the app was given by @hono/node-server, and by the adapter of `src/http2/`. */
  byHttp1Adapter: number;
  byHttp2Adapter: number;
  /** Requests that a dispatcher was given, for a server on HTTP/2 or on HTTP/1.1. */
  dispatched: number;
}

describe('over the embedded cluster', () => {
  let agent = '';
  const counts: Counts = { parsed: 0, byHttp1Adapter: 0, byHttp2Adapter: 0, dispatched: 0 };
  let running: Awaited<ReturnType<typeof startDemo>>;
  const routerPorts = new Set<number>();
  const restore: (() => void)[] = [];

  function countParsed(message: unknown): void {
    const { request } = message as { request: IncomingMessage };
    if (!routerPorts.has(request.socket.localPort ?? 0)) return;
    if (sentBy(agent, request.rawHeaders)) counts.parsed++;
  }

  before(async () => {
    // Peers are asked at the addresses of their servers: a request meets one router.
    running = await startDemo({ routerFlags: { 'advertise-address': [] } });
    for (const { origin } of running.demo.routers) routerPorts.add(Number(new URL(origin).port));
    channel('http.server.request.start').subscribe(countParsed);
    restore.push(() => channel('http.server.request.start').unsubscribe(countParsed));
    for (const { prototype } of [Http2Pool, Pool]) {
      const { dispatch } = prototype;
      prototype.dispatch = function (options, handler) {
        const lines = Array.isArray(options.headers) ? options.headers : [];
        if (sentBy(agent, lines)) counts.dispatched++;
        return dispatch.call(this, options, handler);
      };
      restore.push(() => {
        prototype.dispatch = dispatch;
      });
    }
  });
  after(async () => {
    for (const undo of restore) undo();
    await running.stop();
  });

  /** @returns what passed while `work` was done, of requests by this user agent */
  async function counted(userAgent: string, work: () => Promise<void>): Promise<Counts> {
    agent = userAgent;
    Object.assign(counts, { parsed: 0, byHttp1Adapter: 0, byHttp2Adapter: 0, dispatched: 0 });
    passages.length = 0;
    await work();
    for (const { environment } of passages) {
      const { inbound, incoming } = environment as { inbound: unknown; incoming?: unknown };
      assert.ok(inbound instanceof NodeInboundRequest, 'no adapter has given it');
      if (!sentBy(agent, inbound.headers)) continue;
      if (inbound instanceof Http2Inbound) counts.byHttp2Adapter++;
      else {
        assert.ok(incoming !== undefined, 'not from @hono/node-server');
        counts.byHttp1Adapter++;
      }
    }
    return { ...counts };
  }

  const pods = '/api/v1/namespaces/default/pods';
  const pod = (name: string) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers: [] } });
  /** A list, a write, a read of what was written, a watch that sees it, and its end; each for one server. */
  const requests = (name: string) => [
    { method: 'GET', path: pods },
    { method: 'POST', path: pods, body: pod(name) },
    { method: 'GET', path: `${pods}/${name}` },
    { method: 'GET', path: `${pods}?watch=true&timeoutSeconds=1` },
    { method: 'GET', path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies' },
    { method: 'DELETE', path: `${pods}/${name}` },
  ];
  const tls = () => {
    const { clusterCa, admin } = running.demo.certificates;
    const [ca, cert, key] = [clusterCa, admin.certificate, admin.privateKey].map((file) =>
      readFileSync(file),
    );
    return { ca, cert, key };
  };

  test('a client that lists, watches and writes over HTTP/2', async () => {
    const passed = await counted('one-way-http2', async () => {
      const session = connect(running.demo.routers[0]?.origin ?? '', tls());
      for (const { method, path, body = '' } of requests('over-http2')) {
        const headers = { ':method': method, ':path': path, 'user-agent': 'one-way-http2' };
        const stream = session.request({ ...headers, 'content-type': 'application/json' });
        if (body !== '') stream.end(body);
        const [head] = await Promise.all([
          new Promise<Record<string, unknown>>((resolve) => stream.once('response', resolve)),
          stream.toArray(),
        ]);
        assert.ok(Number(head[':status']) < 300, `${method} ${path}: ${head[':status']}`);
      }
      session.close();
    });
    assert.deepEqual(passed, { parsed: 0, byHttp1Adapter: 0, byHttp2Adapter: 6, dispatched: 6 });
  });

  test('the same over HTTP/1.1', async () => {
    const passed = await counted('one-way-http1', async () => {
      for (const { method, path, body = '' } of requests('over-http1')) {
        const headers = { 'user-agent': 'one-way-http1', 'content-type': 'application/json' };
        const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
          const url = `${running.demo.routers[0]?.origin}${path}`;
          const outgoing = httpsRequest(url, { method, headers, ...tls() }, resolve);
          outgoing.on('error', reject);
          outgoing.end(body);
        });
        await incoming.toArray();
        assert.ok((incoming.statusCode ?? 0) < 300, `${method} ${path}: ${incoming.statusCode}`);
      }
    });
    assert.deepEqual(passed, { parsed: 6, byHttp1Adapter: 6, byHttp2Adapter: 0, dispatched: 6 });
  });

  const newest = findKubectls().at(-1);
  const spoken = newest === undefined ? [] : [newest, overHttp1(newest)];
  describe('kubectl', { skip: newest === undefined && kubectlMissing }, () => {
    for (const [index, kubectl] of spoken.entries()) {
      test(`gets, creates and deletes over ${index === 0 ? 'HTTP/2' : 'HTTP/1.1'}`, async () => {
        const place = { home: running.home, kubeconfig: running.demo.kubeconfig };
        const run = async (args: readonly string[], input?: string): Promise<void> => {
          const { code, stderr } = await runInContext(kubectl, place, 'v1.25', args, input);
          assert.equal(code, 0, stderr);
        };
        // Its discovery is kept on disk: what is counted is what it does then.
        await run(['get', 'pods']);
        const { parsed, byHttp1Adapter, byHttp2Adapter, dispatched } = await counted('kubectl', async () => {
          await run(['get', 'pods']);
          await run(['create', '--validate=false', '-f', '-'], pod(`by-kubectl-${index}`));
          await run(['get', 'validatingadmissionpolicies.v1.admissionregistration.k8s.io']);
          await run(['delete', 'pod', `by-kubectl-${index}`, '--wait=false']);
        });
        const passed = byHttp1Adapter + byHttp2Adapter;
        assert.ok(passed >= 4, `${passed} requests`);
        assert.equal(index === 0 ? byHttp2Adapter : byHttp1Adapter, passed);
        assert.equal(parsed, byHttp1Adapter, 'each that was read passed the adapter and the app once');
        assert.equal(dispatched, passed, 'each went to one server, by a dispatcher');
      });
    }
  });
});

test("each request of the Worker's handler passes the app once, and is fetched once", async () => {
  let fetched = 0;
  const answer = () => {
    fetched++;
    return Promise.resolve(new Response('{}'));
  };
  const worker = createWorkerApp(
    {
      configuration: {
        local: {
          kind: 'local',
          id: 'local',
          origin: 'https://10.0.0.1:6443',
          serverName: '10.0.0.1',
          trust: { kind: 'peer-ca' },
        },
        destinations: { fetch: answer },
        frontProxy: { fetch: answer },
        snapshot: {},
      },
      receiver: await receiverHolding(
        snapshotOf({ local: { serves: ['v1/pods'] }, peer: { serves: ['v1/pods', 'batch/v1/jobs'] } }),
      ),
      certificateOf: () => ({}),
      authenticators: [],
      pseudonym: 'worker-under-test',
      beforeRequest: () => Promise.resolve(),
    } as unknown as PreparedWorker,
    silentLogger,
  );
  passages.length = 0;
  const context = { waitUntil: () => {} };
  for (const [path, method] of [
    ['/api/v1/pods', 'GET'],
    ['/apis/batch/v1/jobs', 'GET'],
    ['/apis/batch/v1/jobs', 'POST'],
  ] as const) {
    const init = method === 'POST' ? { method, body: '{}' } : { method };
    const response = await worker.fetch(new Request(`https://router${path}`, init), context);
    assert.equal(response.status, 200);
  }
  assert.equal(passages.length, 3);
  assert.equal(fetched, 3);
});
