import { setTimeout as sleep } from 'node:timers/promises';
import { type Cleanup, withCleanup } from '../../harness/cleanup.ts';
import { resetPeak, socketsOf, usageOf } from '../../harness/process-usage.ts';
import { significant } from '../../harness/statistics.ts';
import type { Bench } from '../open-bench.ts';
import { peerCollection } from '../rivals/bench-snapshot.ts';
import type { Contender } from '../rivals/contender.ts';
import { startContender } from '../rivals/running-contender.ts';
import { WatchClients } from './watch-clients.ts';
import type { WatchFigures } from './watch-results.ts';

interface WatchMeasurement {
  readonly watches: number;
  readonly perConnection: number;
  /** Events that are sent to all. */
  readonly events: number;
  /** Milliseconds for which memory must hardly move before it counts. Default 2,000. */
  readonly settling?: number;
}

/** Watches that are opened and closed before memory is first looked at: code and buffers that every proxy needs. */
const warmUpWatches = 100;
/**
 * Events that reach all watches before one counts: a proxy that compiles what it runs often (Node) has the first ones
 * wait for that, and it holds watches for weeks.
 */
const warmUpEvents = 15;

/** One fresh process of a contender, watched through. @throws when a watch fails or misses an event. */
export function measureWatches(
  contender: Contender,
  bench: Bench,
  measurement: WatchMeasurement,
): Promise<WatchFigures> {
  return withCleanup(async (cleanup) => {
    const { workbench, backend, cores } = bench;
    const running = await startContender(contender, {
      workbench,
      servers: backend.servers,
      core: cores.proxy,
      cleanup,
    });
    const { watches, perConnection, events, settling = 2_000 } = measurement;
    const open = (count: number) =>
      openWatches(bench, cleanup, `${running.origin}${peerCollection}?watch=true`, count, perConnection);
    await (await open(Math.min(warmUpWatches, watches))).close();
    const before = await settledMemory(running.pid, settling);
    if (running.pid !== undefined) await resetPeak(running.pid);
    const clients = await open(watches);
    const after = await settledMemory(running.pid, settling);
    const sockets = running.pid === undefined ? 0 : await socketsOf(running.pid);
    for (let event = 0; event < warmUpEvents; event++) {
      await clients.receive(() => backend.child.tell('send'));
    }
    const cpuBefore = running.pid === undefined ? 0 : (await usageOf(running.pid)).cpuTime;
    const arrivals = [];
    for (let event = 0; event < events; event++) {
      arrivals.push(await clients.receive(() => backend.child.tell('send')));
    }
    const end = running.pid === undefined ? undefined : await usageOf(running.pid);
    return {
      memoryBefore: before,
      memoryWithWatches: after,
      memoryPerWatch: significant((after - before) / watches),
      peakMemory: end?.peakResident ?? 0,
      sockets,
      cpuTimePerEvent: significant(((end?.cpuTime ?? 0) - cpuBefore) / events / watches),
      arrivals,
    };
  });
}

async function openWatches(
  { workbench, cores }: Bench,
  cleanup: Cleanup,
  url: string,
  watches: number,
  perConnection: number,
): Promise<WatchClients> {
  const clients = await WatchClients.open(workbench, {
    url,
    watches,
    perConnection,
    core: cores.others,
  });
  cleanup.add(() => clients.close());
  return clients;
}

/** KiB, once it has hardly moved for `settling` milliseconds: what was left over from opening is given back by then, or kept. */
async function settledMemory(pid: number | undefined, settling: number): Promise<number> {
  if (pid === undefined) return 0;
  let last = Number.NaN;
  for (let look = 0; look < 15; look++) {
    const { resident } = await usageOf(pid);
    if (Math.abs(resident - last) <= last * 0.005) return resident;
    last = resident;
    await sleep(settling);
  }
  return last;
}
