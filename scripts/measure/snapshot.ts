/**
 * What a snapshot of a large control plane costs: 50 servers with 400 resources each, in the middle of an upgrade.
 * Its size, the time to make it, the time until a router routes by it, and the longest time that a router's event
 * loop stands still meanwhile. Run it on Node 26: `npm run bench:snapshot`.
 *
 * Exits 1 when a bound is missed.
 */

import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { APIGroupDiscovery } from '../../src/apimachinery/discovery-types.ts';
import { servedSetFromDiscovery } from '../../src/discovery/forms/aggregated.ts';
import { createAddressPolicy } from '../../src/snapshot/addresses/address-policy.ts';
import type { ServedSet, Snapshot } from '../../src/snapshot/format/schema.ts';
import { SnapshotReceiver } from '../../src/snapshot/receiving/receiver.ts';
import { createMemorySnapshotStore } from '../../src/snapshot/receiving/snapshot-store.ts';
import { parseSnapshotKeys } from '../../src/snapshot/signing/keys.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import { buildSnapshot } from '../../src/sync/build-snapshot.ts';
import type { ServerReading } from '../../src/sync/sync-server.ts';
import { median } from '../harness/statistics.ts';

const serverCount = 50;
const resourceCount = 400;
const groupCount = 25;
/** Resources that are compared by their schemas: those of custom resources are not. Kubernetes 1.36 serves 89. */
const comparedCount = 96;
const runs = 15;
const bounds = { kilobytes: 250, buildMilliseconds: 100, applyMilliseconds: 20, pauseMilliseconds: 10 };

const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
const signingKey = signingKeyOf(privateJwk);
const parsedKeys = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
if (!parsedKeys.ok) throw new TypeError('the generated key is no key');
const { keys } = parsedKeys;

const missed: string[] = [];
// An upgrade has two versions side by side; one that was begun before the last had ended, three.
for (const versions of [2, 3]) await bench(versions);
for (const line of missed) console.error(`missed: ${line}`);
process.exitCode = missed.length === 0 ? 0 : 1;

async function bench(versions: number): Promise<void> {
  const builds: number[] = [];
  const rebuilds: number[] = [];
  const applies: number[] = [];
  const pauses: number[] = [];
  let payload = 0;
  let pushed = 0;
  let plain = 0;
  for (let run = 0; run < runs; run++) {
    const first = await timed(() => build(readings(versions - 1, false), undefined));
    builds.push(first.milliseconds);
    // One server has been upgraded to a version that no other has yet.
    const second = await timed(() => build(readings(versions - 1, true), first.result));
    rebuilds.push(second.milliseconds);
    const text = await sealSnapshot(second.result, signingKey);
    payload = Buffer.from(text.split('.')[1] ?? '', 'base64url').length;
    pushed = text.length;
    plain = JSON.stringify(second.result).length;

    const receiver = newReceiver();
    await receiver.accept(await sealSnapshot(first.result, signingKey));
    const applied = await withPause(() => receiver.accept(text));
    applies.push(applied.milliseconds);
    pauses.push(applied.pause);
  }
  console.log(`${serverCount} servers × ${resourceCount} resources, ${versions} differing versions`);
  report(
    'size',
    [payload / 1000],
    'KB',
    bounds.kilobytes,
    `${kilobytes(pushed)} as JWS, ${kilobytes(plain)} unpacked`,
  );
  report('build, all new', builds, 'ms', bounds.buildMilliseconds);
  report('build, one changed', rebuilds, 'ms', bounds.buildMilliseconds);
  report('apply in a router', applies, 'ms', bounds.applyMilliseconds);
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

async function timed<Result>(work: () => Promise<Result>) {
  const begun = performance.now();
  const result = await work();
  return { result, milliseconds: performance.now() - begun };
}

/** The longest time between two turns of the event loop while `work` runs, beyond what an idle loop shows. */
async function withPause(work: () => Promise<unknown>) {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  await new Promise((resolve) => setTimeout(resolve, 20));
  histogram.reset();
  const { milliseconds } = await timed(work);
  await new Promise((resolve) => setTimeout(resolve, 20));
  histogram.disable();
  return { milliseconds, pause: Math.max(0, histogram.max / 1e6 - 1) };
}

async function build(read: ReadonlyMap<string, ServerReading>, previous: Snapshot | undefined) {
  const { snapshot } = await buildSnapshot({
    servers: [...read.keys()].map((id, index) => ({ id, address: `10.0.${index}.1:6443` })),
    readings: read,
    clusterObjects: { apiServices: [], customResourceGroups: [], warnings: [] },
    schemas: new Map([...read].map(([id, reading]) => [id, schemasOf(reading)])),
    previous,
    now: Date.now(),
  });
  if (snapshot === undefined) throw new TypeError('no snapshot was made');
  return snapshot;
}

/** Readings as a round has them: every server's own objects, parsed from its own answers. */
function readings(versions: number, upgraded: boolean): ReadonlyMap<string, ServerReading> {
  return new Map(
    Array.from({ length: serverCount }, (_, index) => {
      const groups = discoveryOf(index === 0 && upgraded ? versions : index % versions);
      const paths = Object.fromEntries(
        groups.map(({ metadata }) => [
          `apis/${metadata.name}/v1`,
          `/openapi/v3/apis/${metadata.name}/v1?hash=${'A'.repeat(128)}`,
        ]),
      );
      const reading: ServerReading = {
        ok: true,
        set: servedSetFromDiscovery(groups),
        openApi: { kind: 'read', paths },
        version: `v1.${30 + (index % versions)}.0`,
      };
      return [`apiserver-${index}`, reading];
    }),
  );
}

/** Aggregated discovery of one version; each version has one resource that no other has. */
function discoveryOf(version: number): APIGroupDiscovery[] {
  const perGroup = resourceCount / groupCount;
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
  const names = Object.keys(reading.set.storageVersions).slice(0, comparedCount);
  return Object.fromEntries(
    names.map((name, index) => {
      const digest = index % 10 === 0 ? `${reading.version}:${index}` : `${index}`;
      return [name, { v1: Buffer.from(digest.padEnd(8)).subarray(0, 8).toString('base64') }];
    }),
  );
}

function newReceiver(): SnapshotReceiver {
  return new SnapshotReceiver({
    keys: () => keys,
    addressPolicy: createAddressPolicy({}),
    store: createMemorySnapshotStore(),
  });
}
