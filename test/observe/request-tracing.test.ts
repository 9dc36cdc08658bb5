import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { firstHeader } from '../../src/apimachinery/raw-headers.ts';
import { type ObservedRouter, startObservedRouter } from '../support/observed-router.ts';
import { snapshotOf } from '../support/snapshot-builder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { askOverHttp2, openHttp2 } from '../support/tls-client.ts';

/** A span as OTLP's JSON encoding has it (opentelemetry-proto trace/v1). */
interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number };
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: Pick<CollectedSpan, 'attributes'>;
    readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[];
  }[];
}

interface TraceCollector {
  readonly port: number;
  readonly spans: CollectedSpan[];
  /** What the senders say of themselves. */
  readonly resources: Readonly<Record<string, unknown>>[];
}

/** Takes OTLP over HTTP, as JSON. Closed at the end of the test. @param status what it answers. */
async function startTraceCollector(context: TestContext, status = 200): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const resources: Readonly<Record<string, unknown>>[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await incoming.toArray()).toString();
    const isExport = incoming.method === 'POST' && incoming.url === '/v1/traces';
    if (isExport && status === 200) {
      for (const { resource, scopeSpans } of (JSON.parse(body) as ExportRequest).resourceSpans) {
        resources.push(attributesOf(resource));
        for (const scope of scopeSpans) spans.push(...scope.spans);
      }
    }
    outgoing.writeHead(isExport ? status : 404, { 'content-type': 'application/json' }).end('{}');
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, spans, resources };
}

/** Attributes by name; whole numbers as numbers. */
function attributesOf({ attributes }: Pick<CollectedSpan, 'attributes'>): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      'intValue' in value ? Number(value['intValue']) : Object.values(value)[0],
    ]),
  );
}

const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';

async function tracedRouter(
  context: TestContext,
  { samplingRatePerMillion, port }: { readonly samplingRatePerMillion: number; readonly port: number },
): Promise<ObservedRouter> {
  const folder = await temporaryDirectory(context);
  const file = join(folder, 'tracing.json');
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'TracingConfiguration',
    endpoint: `127.0.0.1:${port}`,
    samplingRatePerMillion,
  };
  await writeFile(file, JSON.stringify(configuration));
  const router = await startObservedRouter(context, { 'tracing-config-file': [file] });
  const alive = `127.0.0.1:${router.peer.port}`;
  await router.push(
    snapshotOf({
      'cp-a': { serves: ['v1/pods'], address: '127.0.0.1:1' },
      'cp-b': { serves: ['batch/v1/jobs'], address: alive },
      // Nobody listens on port 1.
      'cp-c': { serves: ['batch/v1/jobs'], address: '127.0.0.1:1' },
    }),
  );
  return router;
}

/** Asks until the server that does not respond was asked first, and another one in its place. */
async function secondTryOf(router: ObservedRouter): Promise<void> {
  for (let tries = 0; tries < 60; tries++) {
    await router.ask('/apis/batch/v1/namespaces/shop/jobs/pay?limit=1&access_token=hunter2', {
      headers: ['user-agent', 'kubectl/v1.33'],
    });
    if (router.started.logs.some(({ message }) => message === 'A destination did not respond')) return;
  }
  assert.fail('the dead server was never chosen');
}

describe('traces', () => {
  it('of a request with a second try hold the decision and both tries, and reach the collector', async (context) => {
    const collector = await startTraceCollector(context);
    const router = await tracedRouter(context, { samplingRatePerMillion: 1_000_000, port: collector.port });
    await secondTryOf(router);
    await router.started.router.close(0);

    const failed = collector.spans.find((each) => attributesOf(each)['error.type'] === 'ConnectFailed');
    assert.notEqual(failed, undefined, 'the first try');
    const ofTrace = collector.spans.filter(({ traceId }) => traceId === failed?.traceId);
    const server = ofTrace.find(({ kind }) => kind === 2);
    assert.equal(server?.name, 'GET /apis/batch/v1/namespaces/{:namespace}/jobs/{:name}');
    assert.equal(server?.parentSpanId, undefined);
    const children = ofTrace.filter((each) => each !== server).sort(byStart);
    assert.deepEqual(
      children.map(({ name, kind, parentSpanId }) => [name, kind, parentSpanId]),
      [
        ['decide', 1, server?.spanId],
        ['try peer', 3, server?.spanId],
        ['try peer', 3, server?.spanId],
      ],
    );
    const [decision, first, second] = children.map(attributesOf);
    assert.equal(decision?.['mixed_version_proxy.reason'], 'ServedByPeer');
    assert.equal(decision?.['mixed_version_proxy.candidates'], 2);
    assert.equal(first?.['mixed_version_proxy.destination.id'], 'cp-c');
    assert.equal(second?.['mixed_version_proxy.destination.id'], 'cp-b');
    assert.equal(second?.['http.response.status_code'], 200);
    assert.equal(second?.['http.request.resend_count'], 1);
    const whole = attributesOf(server ?? assert.fail('there is a server span'));
    assert.equal(whole['http.response.status_code'], 200);
    assert.equal(whole['url.path'], '/apis/batch/v1/namespaces/shop/jobs/pay');
    assert.equal(whole['user_agent.original'], 'kubectl/v1.33');
    assert.doesNotMatch(JSON.stringify(collector.spans), /hunter2/);
    assert.equal(collector.resources[0]?.['service.name'], 'mixed-version-proxy');
    assert.equal(collector.resources[0]?.['service.instance.id'], 'cp-a');

    // The peer goes on with the second try's span, under the same audit ID.
    const arrived = router.peer.requests.find(
      ({ headers }) => firstHeader(headers, 'audit-id') === whole['audit-id'],
    );
    const parent = firstHeader(arrived?.headers ?? [], 'traceparent');
    assert.equal(parent, `00-${failed?.traceId}-${children[2]?.spanId}-01`);
  });

  it("go on with a privileged caller's trace, and only name that of anyone else", async (context) => {
    const collector = await startTraceCollector(context);
    const router = await tracedRouter(context, { samplingRatePerMillion: 0, port: collector.port });
    const lines = ['traceparent', `00-${trace}-${span}-01`, 'tracestate', 'vendor=1', 'audit-id'];
    await router.ask('/api/v1/pods', { headers: [...lines, 'privileged'] });
    const { started } = router;
    const pair = await started.user('someone', ['dev']);
    const options = { port: started.port, ca: started.authorities.cluster.certificate, pair };
    await askOverHttp2(openHttp2(context, options), '/api/v1/pods', { headers: [...lines, 'other'] });
    await started.router.close(0);

    const server = collector.spans.filter(({ kind }) => kind === 2);
    assert.deepEqual(
      server.map((each) => [attributesOf(each)['audit-id'], each.traceId, each.parentSpanId]),
      [['privileged', trace, span]],
      'the other one did not get itself traced',
    );
    const [privileged = [], other = []] = ['privileged', 'other'].map(
      (id) => started.apiServer.requests.find(({ headers }) => headers.includes(id))?.headers,
    );
    assert.match(firstHeader(privileged, 'traceparent') ?? '', new RegExp(`^00-${trace}-[\\da-f]{16}-01$`));
    assert.equal(firstHeader(privileged, 'tracestate'), 'vendor=1');
    assert.match(firstHeader(other, 'traceparent') ?? '', /^00-[\da-f]{32}-[\da-f]{16}-00$/);
    assert.doesNotMatch(firstHeader(other, 'traceparent') ?? '', new RegExp(trace));
    assert.equal(firstHeader(other, 'tracestate'), undefined);
  });

  it('cost no request anything when the collector refuses them, and that is told of', async (context) => {
    const collector = await startTraceCollector(context, 400);
    const router = await tracedRouter(context, { samplingRatePerMillion: 1_000_000, port: collector.port });
    assert.equal((await router.ask('/api/v1/pods')).status, 200);
    await router.started.router.close(0);
    const told = router.started.logs.filter(({ message }) => message === 'Spans could not be exported');
    assert.equal(told.length, 1);
  });

  it('leave the headers of clients alone while they are off', async (context) => {
    const router = await startObservedRouter(context);
    await router.ask('/api/v1/pods', { headers: ['traceparent', `00-${trace}-${span}-01`] });
    const [arrived] = router.started.apiServer.requests;
    assert.equal(firstHeader(arrived?.headers ?? [], 'traceparent'), `00-${trace}-${span}-01`);
    assert.equal(firstHeader(arrived?.headers ?? [], 'audit-id'), undefined);
  });
});

function byStart(one: CollectedSpan, other: CollectedSpan): number {
  return Number(BigInt(one.startTimeUnixNano) - BigInt(other.startTimeUnixNano));
}
