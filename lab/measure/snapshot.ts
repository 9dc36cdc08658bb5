/**
 * Costs of a snapshot of a large control plane in the middle of an upgrade: its size, the CPU time to make it, the CPU
 * time until a router routes by it, and the longest time that a router's event loop stands still meanwhile. Run it on
 * Node 26: `npm run lab -- snapshot`, or with `--servers 200 --resources 5000`. Default: 50 servers with 400 resources
 * each.
 *
 * Exits 1 when a bound is missed.
 */

import { createAddressPolicy } from '../../src/snapshot/addresses/address-policy.ts';
import { OwnSnapshotReceiver } from '../../src/snapshot/receiving/own-receiver.ts';
import { SnapshotReceiver } from '../../src/snapshot/receiving/receiver.ts';
import { parseSnapshotKeys } from '../../src/snapshot/signing/keys.ts';
import { generateSigningKey, signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import { sealDelivery } from '../../src/sync/deliver.ts';
import { readServer } from '../../src/sync/documents/read-server.ts';
import { readOptions } from '../harness/command-line.ts';
import { median } from '../harness/statistics.ts';
import { largeCluster } from './large-cluster.ts';

const given = readOptions('snapshot', {
  servers: { type: 'string', default: '50', value: 'N', about: 'how many' },
  resources: { type: 'string', default: '400', value: 'N', about: 'of each' },
});
const serverCount = Number(given.servers);
const resourceCount = Number(given.resources);
const runs = resourceCount > 1_000 ? 5 : 15;
const bounds = { kilobytes: 8_000, buildMilliseconds: 100, applyMilliseconds: 30, pauseMilliseconds: 10 };

const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
const signingKey = signingKeyOf(privateJwk);
const parsedKeys = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
if (!parsedKeys.ok) throw new TypeError('the generated key is no key');
const { keys } = parsedKeys;

const cluster = largeCluster(resourceCount);
const missed: string[] = [];
// An upgrade has two versions side by side; one that was begun before the last had ended, three.
for (const versions of [2, 3]) await bench(versions);
for (const line of missed) console.error(`missed: ${line}`);
process.exitCode = missed.length === 0 ? 0 : 1;

/** The cost of a snapshot: of each run the milliseconds, at last its bytes. */
interface Costs {
  readonly builds: number[];
  readonly rebuilds: number[];
  readonly reads: number[];
  readonly seals: number[];
  readonly starts: number[];
  readonly applies: number[];
  readonly owns: number[];
  readonly pauses: number[];
  size: number;
  pushed: number;
  plain: number;
}

async function bench(versions: number): Promise<void> {
  const times = {
    builds: [],
    rebuilds: [],
    reads: [],
    seals: [],
    starts: [],
    applies: [],
    owns: [],
    pauses: [],
  };
  const costs: Costs = { ...times, size: 0, pushed: 0, plain: 0 };
  for (let run = 0; run < runs; run++) await measure(versions, costs);
  console.log(`${serverCount} servers × ${resourceCount} resources, ${versions} differing versions`);
  reportAll(costs);
}

async function measure(versions: number, costs: Costs): Promise<void> {
  const { builds, rebuilds, reads, seals, starts, applies, owns, pauses } = costs;
  const read = new Map(await cluster.readings(versions - 1, serverCount));
  const first = await timed(() => cluster.build(read, undefined));
  builds.push(first.milliseconds);
  // One server has been upgraded to a version that no other has yet.
  const documents = cluster.documentsOf(versions - 1);
  const changed = await withPause(() => readServer(documents));
  reads.push(changed.milliseconds);
  const next = new Map([...read, ['apiserver-0', changed.result]]);
  const second = await withPause(() => cluster.build(next, first.result));
  rebuilds.push(second.milliseconds);
  const whole = await sealDelivery(first.result, signingKey);
  const sealed = await withPause(() => sealDelivery(second.result, signingKey, whole));
  seals.push(sealed.milliseconds);
  const change = sealed.result.sealed?.change?.snapshot ?? '';
  costs.size = sealed.result.sealed?.snapshot.length ?? 0;
  costs.pushed = change.length;
  costs.plain = JSON.stringify(second.result).length;

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

function reportAll({ size, pushed, plain, pauses, ...times }: Costs): void {
  const { builds, rebuilds, reads, seals, starts, applies, owns } = times;
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

function receiverOptions() {
  return { keys: () => keys, addressPolicy: createAddressPolicy({}) };
}
