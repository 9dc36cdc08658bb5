import { withCleanup } from '../../harness/cleanup.ts';
import type { Cores } from '../../harness/machine.ts';
import { resetPeak, usageOf } from '../../harness/process-usage.ts';
import { significant } from '../../harness/statistics.ts';
import type { Backend } from '../rivals/backend.ts';
import { peerCollection } from '../rivals/bench-snapshot.ts';
import type { Contender } from '../rivals/contender.ts';
import { clientTls, type RunningContender, startContender } from '../rivals/running-contender.ts';
import { measureWorkload } from '../throughput/measure-workload.ts';
import { workloads } from '../throughput/workloads.ts';
import type { Workbench } from '../workbench.ts';
import { readSlowly } from './slow-reader.ts';
import type { TransferFigures } from './transfer-results.ts';

export interface TransferOptions {
  readonly workbench: Workbench;
  readonly backend: Backend;
  readonly cores: Cores;
  readonly seconds: number;
  /** MB to read, at most the 100 that the server has, and MB a second. */
  readonly slowMegabytes: number;
  readonly slowRate: number;
}

const longest = 100 * 1024 * 1024;
const megabyte = 1_000_000;

/** One fresh process: first lists as fast as they come, then one reader that is slow. */
export function measureTransfer(contender: Contender, options: TransferOptions): Promise<TransferFigures> {
  return withCleanup(async (cleanup) => {
    const { workbench, backend, cores, seconds } = options;
    const running = await startContender(contender, {
      workbench,
      servers: backend.servers,
      core: cores.proxy,
      cleanup,
    });
    const lists = workloads.find(({ name }) => name === 'http2-list-10m');
    if (lists?.responseBytes === undefined) throw new Error('there is no workload of large lists');
    await warmUp(running, options);
    const slow = await readSlowlyThrough(running, options);
    const measured = await measureWorkload(lists, running, { workbench, cores, warmUp: 1, seconds });
    return {
      megabytesPerSecond: significant((measured.requestsPerSecond * lists.responseBytes) / megabyte),
      cpuTimePerList: significant(measured.cpuTimePerRequest / 1_000),
      ...slow,
    };
  });
}

/**
 * Small requests first: compiled code and connections to the servers, which a proxy at work has, are not what a slow
 * reader makes it hold.
 */
async function warmUp(running: RunningContender, { workbench, cores }: TransferOptions): Promise<void> {
  const small = workloads.find(({ name }) => name === 'http2-get');
  if (small === undefined) throw new Error('there is no workload of small requests');
  await measureWorkload(small, running, { workbench, cores, warmUp: 0, seconds: 3 });
}

/** Before anything large has gone through the process: memory that it has kept from that would hide the growth. */
async function readSlowlyThrough(
  { origin, pid }: RunningContender,
  { workbench, slowMegabytes, slowRate }: TransferOptions,
): Promise<Pick<TransferFigures, 'slowReaderGrowth' | 'memoryBefore'>> {
  const tls = await clientTls(workbench);
  if (pid !== undefined) await resetPeak(pid);
  const before = pid === undefined ? 0 : (await usageOf(pid)).resident;
  await readSlowly({
    origin,
    path: `${peerCollection}?bytes=${longest}`,
    tls,
    bytes: Math.min(slowMegabytes * megabyte, longest),
    bytesPerSecond: slowRate * megabyte,
  });
  const peak = pid === undefined ? 0 : (await usageOf(pid)).peakResident;
  return { slowReaderGrowth: peak - before, memoryBefore: before };
}
