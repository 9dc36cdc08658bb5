/**
 * What a snapshot of a large control plane costs in the middle of an upgrade: its size, the CPU time to make it, the CPU time
 * until a router routes by it, and the longest time that a router's event loop stands still meanwhile. Run it on Node 26:
 * `npm run bench:snapshot`, or with `-- --servers 200 --resources 5000`. Default: 50 servers with 400 resources each.
 *
 * Exits 1 when a bound is missed.
 */

import { parseArgs } from 'node:util';
import type { APIGroupDiscovery } from '../../src/apimachinery/discovery-types.ts';
import { aggregatedDocument } from '../../src/discovery/forms/aggregated.ts';
import { createAddressPolicy } from '../../src/snapshot/addresses/address-policy.ts';
import { parseSnapshot } from '../../src/snapshot/format/parse-snapshot.ts';
import type { ServedSet, Snapshot } from '../../src/snapshot/format/schema.ts';
import { OwnSnapshotReceiver } from '../../src/snapshot/receiving/own-receiver.ts';
import { SnapshotReceiver } from '../../src/snapshot/receiving/receiver.ts';
import { parseSnapshotKeys } from '../../src/snapshot/signing/keys.ts';
import { generateSigningKey, signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import { buildSnapshot } from '../../src/sync/build-snapshot.ts';
import { sealDelivery } from '../../src/sync/deliver.ts';
import { readServer } from '../../src/sync/read-server.ts';
import type { ServerDocuments } from '../../src/sync/server-documents.ts';
import type { ServerReading } from '../../src/sync/sync-server.ts';
import { median } from '../harness/statistics.ts';

const { values: given } = parseArgs({
  options: { servers: { type: 'string', default: '50' }, resources: { type: 'string', default: '400' } },
});
const serverCount = Number(given.servers);
const resourceCount = Number(given.resources);
const perGroup = 16;
const groupCount = resourceCount / perGroup;
/** Resources that are compared by their schemas: those of custom resources are not. Kubernetes 1.36 serves 89. */
const comparedCount = 96;
/** Built-in groups; all others are of custom resources. */
const builtInGroups = 25;
const runs = resourceCount > 1_000 ? 5 : 15;
const bounds = { kilobytes: 8_000, buildMilliseconds: 100, applyMilliseconds: 30, pauseMilliseconds: 10 };

const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
const signingKey = signingKeyOf(privateJwk);
const parsedKeys = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
if (!parsedKeys.ok) throw new TypeError('the generated key is no key');
const { keys } = parsedKeys;

const customResourceGroups = discoveryOf(0)
  .slice(builtInGroups)
  .map(({ metadata }) => ({ group: metadata.name ?? '', version: 'v1' }));

const schemas = new Map<string | undefined, NonNullable<ServedSet['schemas']>>();

const missed: string[] = [];
// An upgrade has two versions side by side; one that was begun before the last had ended, three.
for (const versions of [2, 3]) await bench(versions);
for (const line of missed) console.error(`missed: ${line}`);
process.exitCode = missed.length === 0 ? 0 : 1;

async function bench(versions: number): Promise<void> {
  const builds: number[] = [];
  const rebuilds: number[] = [];
  const reads: number[] = [];
  const seals: number[] = [];
  const starts: number[] = [];
  const applies: number[] = [];
  const owns: number[] = [];
  const pauses: number[] = [];
  let size = 0;
  let pushed = 0;
  let plain = 0;
  for (let run = 0; run < runs; run++) {
    const read = new Map(await readings(versions - 1, serverCount));
    const first = await timed(() => build(read, undefined));
    builds.push(first.milliseconds);
    // One server has been upgraded to a version that no other has yet.
    const documents = documentsOf(versions - 1);
    const changed = await withPause(() => readServer(documents));
    reads.push(changed.milliseconds);
    const next = new Map([...read, ['apiserver-0', changed.result]]);
    const second = await withPause(() => build(next, first.result));
    rebuilds.push(second.milliseconds);
    const whole = await sealDelivery(first.result, signingKey);
    const sealed = await withPause(() => sealDelivery(second.result, signingKey, whole));
    seals.push(sealed.milliseconds);
    const change = sealed.result.sealed?.change?.snapshot ?? '';
    size = sealed.result.sealed?.snapshot.length ?? 0;
    pushed = change.length;
    plain = JSON.stringify(second.result).length;

    const receiver = new SnapshotReceiver(receiverOptions());
    const start = await withPause(() => receiver.accept(whole.sealed?.snapshot ?? ''));
    starts.push(start.milliseconds);
    const applied = await withPause(() => receiver.accept(change));
    applies.push(applied.milliseconds);
    pauses.push(Math.max(second.pause, sealed.pause, start.pause, applied.pause, changed.pause));
    if (process.env['SHOW'])
      console.log({
        read: changed.pause,
        build: second.pause,
        seal: sealed.pause,
        whole: start.pause,
        change: applied.pause,
      });
    const own = new OwnSnapshotReceiver(receiverOptions());
    await own.acceptOwn(first.result);
    const ownApplied = await withPause(() => own.acceptOwn(second.result));
    owns.push(ownApplied.milliseconds);
    pauses.push(ownApplied.pause);
  }
  console.log(`${serverCount} servers × ${resourceCount} resources, ${versions} differing versions`);
  report(
    'size',
    [size / 1000],
    'KB',
    bounds.kilobytes,
    `${kilobytes(pushed)} of it pushed for the change, ${kilobytes(plain)} unpacked`,
  );
  report('build, all new', builds, 'ms', Number.POSITIVE_INFINITY);
  report('read, one changed', reads, 'ms', Number.POSITIVE_INFINITY);
  report('build, one changed', rebuilds, 'ms', bounds.buildMilliseconds);
  report('seal, one changed', seals, 'ms', bounds.buildMilliseconds);
  report('apply, whole', starts, 'ms', Number.POSITIVE_INFINITY);
  report('apply, change pushed', applies, 'ms', bounds.applyMilliseconds);
  report('apply, read itself', owns, 'ms', bounds.applyMilliseconds);
  report('event-loop pause', pauses, 'ms', bounds.pauseMilliseconds);
}

function kilobytes(bytes: number): string {
  return `${Math.round(bytes / 1000)} KB`;
}

/** The median and the worst; the first runs compile the code and count for the worst all the same. */
function report(name: string, values: readonly number[], unit: string, bound: number, more = ''): void {
  const middle = median(values);
  const shown = `${middle.toFixed(1)} ${unit}, worst ${Math.max(...values).toFixed(1)} (bound ${bound}) ${more}`;
  console.log(`  ${name.padEnd(20)}${shown}`);
  if (middle > bound) missed.push(`${name}: ${middle.toFixed(1)} ${unit} > ${bound}`);
}

/** In CPU time of the process. */
async function timed<Result>(work: () => Promise<Result>) {
  const begun = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(begun);
  return { result, milliseconds: (user + system) / 1_000 };
}

/**
 * With the longest turn of the event loop meanwhile, in CPU time of its thread: what others do on the machine does not count,
 * garbage collection does.
 */
async function withPause<Result>(work: () => Promise<Result>) {
  let pause = 0;
  let last = process.threadCpuUsage();
  const turn = () => {
    const { user, system } = process.threadCpuUsage(last);
    pause = Math.max(pause, (user + system) / 1_000);
    last = process.threadCpuUsage();
  };
  const timer = setInterval(turn, 1);
  const { result, milliseconds } = await timed(work);
  clearInterval(timer);
  turn();
  return { result, milliseconds, pause };
}

async function build(read: ReadonlyMap<string, ServerReading>, previous: Snapshot | undefined) {
  const { snapshot } = await buildSnapshot({
    servers: [...read.keys()].map((id, index) => ({ id, address: `10.0.${index}.1:6443` })),
    readings: read,
    clusterObjects: { apiServices: [], customResourceGroups, warnings: [] },
    schemas: new Map([...read].map(([id, reading]) => [id, schemasOf(reading)])),
    previous,
    now: Date.now(),
  });
  const parsed = await parseSnapshot(snapshot);
  if (!parsed.ok) throw new TypeError('no snapshot was made');
  return parsed.snapshot;
}

/** Readings as a round has them: servers of one version give the same documents, which are read once. */
async function readings(versions: number, servers: number): Promise<[id: string, reading: ServerReading][]> {
  const documents = Array.from({ length: versions }, (_, version) => documentsOf(version));
  return Promise.all(
    Array.from({ length: servers }, async (_, index) => [
      `apiserver-${index}`,
      await readServer(documents[index % versions] ?? documentsOf(0)),
    ]),
  );
}

/** What a server of one version says, as text. */
function documentsOf(version: number): ServerDocuments {
  const groups = discoveryOf(version);
  const paths = Object.fromEntries(
    groups.map(({ metadata: { name } }) => [
      `apis/${name}/v1`,
      { serverRelativeURL: `/openapi/v3/apis/${name}/v1?hash=${'A'.repeat(128)}` },
    ]),
  );
  const bodies = new Map<string, object>([
    ['/api', aggregatedDocument('v2', [])],
    ['/apis', aggregatedDocument('v2', groups)],
    ['/openapi/v3', { paths }],
    ['/version', { gitVersion: `v1.${30 + version}.0` }],
  ]);
  const documents = new Map(
    [...bodies].map(([path, body]) => [
      path,
      { status: 200, contentType: 'application/json', body: JSON.stringify(body) },
    ]),
  );
  const notServed = { status: 404, contentType: 'text/plain', body: '404 page not found' };
  return { get: async (path) => documents.get(path) ?? notServed };
}

/** Aggregated discovery of one version; each version has one resource that no other has. */
function discoveryOf(version: number): APIGroupDiscovery[] {
  return Array.from({ length: groupCount }, (_, group) => ({
    metadata: { name: `group${group}.example.com` },
    versions: [
      {
        version: 'v1',
        resources: Array.from({ length: perGroup }, (_, index) => {
          const suffix = group === 0 && index === 0 ? `only${version}` : `${group}x${index}`;
          const kind = `Resource${suffix}`;
          const responseKind = { group: '', version: '', kind };
          return {
            resource: `resource${suffix}s`,
            responseKind,
            scope: 'Namespaced' as const,
            singularResource: `resource${suffix}`,
            verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
            // Servers leave out what is empty (k8s.io/api/apidiscovery/v2/types.go, `omitempty`).
            ...(index % 4 === 0 ? { shortNames: [`r${suffix}`], categories: ['all'] } : {}),
            ...(index % 3 === 0
              ? { subresources: [{ subresource: 'status', responseKind, verbs: ['get', 'patch', 'update'] }] }
              : {}),
          };
        }),
        freshness: 'Current' as const,
      },
    ],
  }));
}

/** A tenth of the digests are those of one version alone. */
function schemasOf(reading: ServerReading): NonNullable<ServedSet['schemas']> {
  if (!reading.ok) return {};
  const known = schemas.get(reading.version);
  if (known !== undefined) return known;
  const names = Object.keys(reading.set.storageVersions).slice(0, comparedCount);
  const made = Object.fromEntries(
    names.map((name, index) => {
      const digest = index % 10 === 0 ? `${reading.version}:${index}` : `${index}`;
      return [name, { v1: Buffer.from(digest.padEnd(8)).subarray(0, 8).toString('base64') }];
    }),
  );
  schemas.set(reading.version, made);
  return made;
}

function receiverOptions() {
  return { keys: () => keys, addressPolicy: createAddressPolicy({}) };
}
