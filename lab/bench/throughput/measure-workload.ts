import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cores } from '../../harness/machine.ts';
import { resetPeak, usageOf } from '../../harness/process-usage.ts';
import { significant } from '../../harness/statistics.ts';
import type { Load } from '../load/load.ts';
import { pacedWindows } from '../load/paced.ts';
import { runH2load, runPaced, runWrk } from '../load/run-load.ts';
import type { RunningContender } from '../rivals/running-contender.ts';
import type { Workbench } from '../workbench.ts';
import type { ThroughputFigures } from './results.ts';
import type { Workload } from './workloads.ts';

const generators = { saturation: runH2load, connections: runWrk, rate: runPaced } as const;

interface MeasureOptions {
  readonly workbench: Workbench;
  readonly cores: Cores;
  /** Seconds, before and while it counts; at a fixed rate each window counts for as long. */
  readonly warmUp: number;
  readonly seconds: number;
  /** Requests a second, for workloads with a fixed rate. */
  readonly rate?: number | undefined;
}

/** Puts one workload on one contender. @throws when a request fails. */
export async function measureWorkload(
  workload: Workload,
  contender: RunningContender,
  options: MeasureOptions,
): Promise<ThroughputFigures> {
  const { workbench, cores } = options;
  const { pid } = contender;
  if (pid !== undefined) await resetPeak(pid);
  const environment = { workbench, core: cores.others, pid };
  const load = await loadOf(workload, contender.origin, options);
  const run = await generators[workload.kind](load, environment);
  const { requests, requestsPerSecond, latency } = run.figures;
  return {
    requestsPerSecond: significant(requestsPerSecond),
    cpuTimePerRequest: significant(run.cpuTime / requests),
    peakMemory: pid === undefined ? 0 : (await usageOf(pid)).peakResident,
    ...(latency && { latency: { p50: significant(latency.p50), p99: significant(latency.p99) } }),
  };
}

async function loadOf(workload: Workload, origin: string, options: MeasureOptions): Promise<Load> {
  const { protocol, connections, streams, responseBytes, target, method, kind } = workload;
  const { warmUp, seconds, rate } = options;
  return {
    protocol,
    connections,
    streams,
    responseBytes,
    warmUp,
    seconds: kind === 'rate' ? windowSeconds(workload, seconds) * pacedWindows : seconds,
    url: origin + target,
    bodyFile: method === 'POST' ? await bodyFile(options.workbench) : undefined,
    rate: kind === 'rate' ? rate : undefined,
  };
}

/** A window of less than a hundred requests has no slowest hundredth. */
export function windowSeconds({ perSecond }: Workload, seconds: number): number {
  return perSecond === undefined ? seconds : Math.max(seconds, 100 / perSecond);
}

async function bodyFile({ directory }: Workbench): Promise<string> {
  const path = join(directory, 'body.json');
  await writeFile(path, JSON.stringify({ data: 'a'.repeat(1024 - '{"data":""}'.length) }));
  return path;
}
