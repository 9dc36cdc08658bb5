/**
 * What discovery costs: an unchanged document answered with 304, the documents of a generation made in the
 * background, and OpenAPI v2 merged. Over three servers of differing versions, 100 groups each.
 *
 * Run it on Node 26, on a quiet machine: `npm run bench:discovery`.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Hono } from 'hono';
import { createApp } from '../../../src/app.ts';
import { prewarmDiscovery } from '../../../src/discovery/documents.ts';
import { mergedDocumentsOf } from '../../../src/discovery/merged-documents.ts';
import { viewsOf } from '../../../src/discovery/merging/discovery-view.ts';
import { mergeDiscovery } from '../../../src/discovery/merging/merge-discovery.ts';
import { MergedOpenApiV2 } from '../../../src/discovery/openapi-v2/merged-openapi-v2.ts';
import { X509Authenticator } from '../../../src/identity/incoming/x509.ts';
import { inboundFromRequest } from '../../../src/request/inbound.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { createAddressPolicy } from '../../../src/snapshot/addresses/address-policy.ts';
import { SnapshotReceiver } from '../../../src/snapshot/receiving/receiver.ts';
import { createMemorySnapshotStore } from '../../../src/snapshot/receiving/snapshot-store.ts';
import { buildRoutingTable } from '../../../src/snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../../src/snapshot/routing-table/routing-table.ts';
import { differingServers, largeOpenApiV2 } from './large-documents.ts';

const table = buildRoutingTable(differingServers(100, 3));
const megabyte = 1024 * 1024;
const collect = (): void => globalThis.gc?.();

await benchNotModified();
benchMerge();
await benchPrewarm();
await benchOpenApiV2();

/** Handler time of a 304, beside that of a handler that does nothing. */
async function benchNotModified(): Promise<void> {
  const app = benchApp(table);
  const empty = new Hono().all('*', () => new Response(null, { status: 304 }));
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const url = 'https://router/apis';
  const etag = (await app.fetch(new Request(url, { headers: { accept } }))).headers.get('etag') ?? '';
  const headers = { accept, 'accept-encoding': 'gzip', 'if-none-match': etag, 'user-agent': 'bench' };
  const ask = (over: Pick<Hono, 'fetch'>) => bestOfBatches(() => over.fetch(new Request(url, { headers })));
  const first = await app.fetch(new Request(url, { headers }));
  if (first.status !== 304) throw new Error(`the benchmark got ${first.status}`);
  // One after the other twice: the first run of each warms up.
  await ask(empty);
  await ask(app as unknown as Pick<Hono, 'fetch'>);
  const nothing = await ask(empty);
  const whole = await ask(app as unknown as Pick<Hono, 'fetch'>);
  report('304, whole chain', whole, 'µs');
  report('304, an empty handler', nothing, 'µs');
  report('304, handler time', whole - nothing, 'µs');
}

function benchMerge(): void {
  const views = viewsOf(table);
  const times = Array.from({ length: 31 }, () => elapsed(() => mergeDiscovery(views)));
  // A router merges once in a while: before the code is hot, and after.
  report('merge, first time', times[0] ?? Number.NaN, 'ms');
  report('merge, median', times.toSorted((one, other) => one - other)[15] ?? Number.NaN, 'ms');
}

/** All documents of a generation, and how long anybody else had to wait meanwhile. */
async function benchPrewarm(): Promise<void> {
  const fresh = buildRoutingTable(structuredClone(table.snapshot));
  const { longestPause, milliseconds } = await whileWatchingTheLoop(() => prewarmDiscovery(fresh));
  report('documents of a generation', milliseconds, 'ms');
  report('longest pause meanwhile', longestPause, 'ms');
  const document = mergedDocumentsOf(fresh).get(
    { kind: 'groups', legacy: false, trailingSlash: false },
    'v2',
    false,
  );
  report('/apis in v2', (document?.body.byteLength ?? 0) / 1024, 'KiB');
  report('  with gzip', ((await document?.gzipped())?.byteLength ?? 0) / 1024, 'KiB');
}

async function benchOpenApiV2(): Promise<void> {
  const bytes = new Map(['server-0', 'server-1', 'server-2'].map((id, index) => [id, largeOpenApiV2(index)]));
  collect();
  const before = process.memoryUsage();
  let peak = 0;
  const merged = new MergedOpenApiV2({
    read: async ({ server, accept }) => {
      if (accept !== 'application/json') throw new Error('only JSON is measured');
      const body = new Uint8Array(bytes.get(server.id) ?? []);
      return { status: 200, contentType: accept, etag: undefined, body };
    },
    clock: () => 0,
    logger: silentLogger,
  });
  const sample = setInterval(() => {
    const { arrayBuffers, heapUsed } = process.memoryUsage();
    peak = Math.max(peak, arrayBuffers + heapUsed - before.arrayBuffers - before.heapUsed);
  }, 1);
  const { longestPause, milliseconds } = await whileWatchingTheLoop(() => merged.update(table));
  clearInterval(sample);
  collect();
  const { arrayBuffers, heapUsed } = process.memoryUsage();
  report(
    'OpenAPI v2, documents read',
    [...bytes.values()].reduce((sum, { length }) => sum + length, 0) / megabyte,
    'MiB',
  );
  report('OpenAPI v2, merged', ((await merged.document('json'))?.body.byteLength ?? 0) / megabyte, 'MiB');
  report('OpenAPI v2, made in', milliseconds, 'ms');
  report('longest pause meanwhile', longestPause, 'ms');
  report('peak memory meanwhile', peak / megabyte, 'MiB');
  report(
    'memory afterwards',
    (arrayBuffers + heapUsed - before.arrayBuffers - before.heapUsed) / megabyte,
    'MiB',
  );
}

/** The whole app over a local server that answers at once. */
function benchApp(routingTable: RoutingTable) {
  const receiver = new SnapshotReceiver({
    keys: () => new Map(),
    addressPolicy: createAddressPolicy(),
    store: createMemorySnapshotStore(),
  });
  receiver.current = () => routingTable;
  return createApp({
    serverId: 'server-0',
    local: {
      kind: 'local',
      id: 'server-0',
      origin: 'https://127.0.0.1:6444',
      serverName: 'kubernetes.default.svc',
      trust: { kind: 'peer-ca' },
    },
    routingTable: receiver,
    transport: {
      async send(_outbound, _inbound, onResponseHead) {
        const disposition = onResponseHead({ status: 200, headers: [] });
        return disposition.kind === 'replace' ? disposition.response : new Response();
      },
    },
    authenticators: [new X509Authenticator()],
    inbound: (context) =>
      inboundFromRequest(context.req.raw, {
        clientCertificate: { commonName: 'user', organizations: [], authority: 'client-ca' },
      }),
  });
}

/** Microseconds. The least disturbed of many batches. */
async function bestOfBatches(call: () => Response | Promise<Response>): Promise<number> {
  const batch = 2_000;
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 15; round++) {
    const start = process.hrtime.bigint();
    for (let index = 0; index < batch; index++) await call();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / batch / 1_000);
  }
  return best;
}

function elapsed(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

async function whileWatchingTheLoop(
  work: () => Promise<unknown>,
): Promise<{ readonly longestPause: number; readonly milliseconds: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.reset();
  const start = performance.now();
  await work();
  const milliseconds = performance.now() - start;
  await new Promise((resolve) => setTimeout(resolve, 5));
  delay.disable();
  // The histogram counts from one tick of its timer to the next, a millisecond of which is no delay.
  return { longestPause: delay.max / 1e6 - 1, milliseconds };
}

function report(name: string, value: number, unit: string): void {
  console.log(`${name.padEnd(30)}${value.toFixed(2).padStart(10)} ${unit}`);
}
