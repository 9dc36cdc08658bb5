import { withCleanup } from '../../harness/cleanup.ts';
import { resetPeak, usageOf } from '../../harness/process-usage.ts';
import type { Bench } from '../open-bench.ts';
import { peerCollection } from '../rivals/bench-snapshot.ts';
import type { Contender } from '../rivals/contender.ts';
import { clientTls, startContender } from '../rivals/running-contender.ts';
import { measureWorkload } from '../throughput/measure-workload.ts';
import { workloads } from '../throughput/workloads.ts';
import { readSlowly } from './slow-reader.ts';
import type { TransferFigures } from './transfer-results.ts';

/** MB to read, at most the 100 that the server has, and MB a second. */
interface SlowReading {
  readonly slowMegabytes: number;
  readonly slowRate: number;
}

const longest = 100 * 1024 * 1024;
const megabyte = 1_000_000;

/**
 * One reader that is slow, of a fresh process. Small requests go before: compiled code and connections to the servers,
 * which a proxy at work has, are not what a slow reader makes it hold; memory that it kept from large ones would hide that.
 */
export function measureTransfer(
  contender: Contender,
  { workbench, backend, cores }: Bench,
  { slowMegabytes, slowRate }: SlowReading,
): Promise<TransferFigures> {
  return withCleanup(async (cleanup) => {
    const { servers } = backend;
    const running = await startContender(contender, { workbench, servers, core: cores.proxy, cleanup });
    const small = workloads.find(({ name }) => name === 'http2-get');
    if (small === undefined) throw new Error('there is no workload of small requests');
    await measureWorkload(small, running, { workbench, cores, warmUp: 0, seconds: 3 });
    const { origin, pid } = running;
    if (pid !== undefined) await resetPeak(pid);
    const before = pid === undefined ? 0 : (await usageOf(pid)).resident;
    await readSlowly({
      origin,
      path: `${peerCollection}?bytes=${longest}`,
      tls: await clientTls(workbench),
      bytes: Math.min(slowMegabytes * megabyte, longest),
      bytesPerSecond: slowRate * megabyte,
    });
    const peak = pid === undefined ? 0 : (await usageOf(pid)).peakResident;
    return { slowReaderGrowth: peak - before, memoryBefore: before };
  });
}
