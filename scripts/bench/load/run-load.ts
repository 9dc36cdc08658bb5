import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Child, startChild } from '../../harness/child-process.ts';
import { UsageError } from '../../harness/command-line.ts';
import { type ProcessUsage, usageOf } from '../../harness/process-usage.ts';
import { findProgram } from '../../harness/programs.ts';
import { quantile } from '../../harness/statistics.ts';
import type { Workbench } from '../workbench.ts';
import { h2loadArguments, h2loadPhases, parseH2load, parseH2loadLog } from './h2load.ts';
import { clientCertificateEnvironment, type Load, type LoadFigures } from './load.ts';
import { parseWrk, wrkArguments } from './wrk.ts';

/** What the load generator has seen, and what the proxy has used for it. */
export interface LoadRun {
  readonly figures: LoadFigures;
  /** Microseconds of CPU time of the proxy while it was measured; 0 without one. */
  readonly cpuTime: number;
}

export interface LoadEnvironment {
  readonly workbench: Workbench;
  readonly core: number | undefined;
  /** Process of the proxy. */
  readonly pid: number | undefined;
}

/** Beyond what the load takes by itself: then something hangs. Milliseconds. */
const patience = 20_000;

/** Puts load on, over connections that last. @throws when a request fails. */
export async function runH2load(load: Load, environment: LoadEnvironment): Promise<LoadRun> {
  const { workbench, pid } = environment;
  const logFile = load.rate === undefined ? undefined : join(workbench.directory, 'requests.log');
  const generator = await start('h2load', h2loadArguments(load, logFile), environment);
  let begin: Promise<ProcessUsage | undefined> | undefined;
  let end: Promise<ProcessUsage | undefined> | undefined;
  generator.onLine((line) => {
    if (line.startsWith(h2loadPhases.begin)) begin = proxyUsage(pid);
    if (line.startsWith(h2loadPhases.end)) end = proxyUsage(pid);
  });
  const output = await outputOf(generator, load);
  const figures = parseH2load(output, load);
  refuseFailures(figures, output);
  const cpuTime = ((await end)?.cpuTime ?? 0) - ((await begin)?.cpuTime ?? 0);
  if (logFile === undefined) return { figures, cpuTime };
  const latencies = parseH2loadLog(await readFile(logFile, 'utf8'));
  await rm(logFile);
  return {
    figures: { ...figures, latency: { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) } },
    cpuTime,
  };
}

/** Puts load on with a new connection for each request. @throws when a request fails. */
export async function runWrk(load: Load, environment: LoadEnvironment): Promise<LoadRun> {
  const before = await proxyUsage(environment.pid);
  const generator = await start('wrk', wrkArguments(load), environment);
  const output = await outputOf(generator, load);
  const after = await proxyUsage(environment.pid);
  const figures = parseWrk(output);
  refuseFailures(figures, output);
  return { figures, cpuTime: (after?.cpuTime ?? 0) - (before?.cpuTime ?? 0) };
}

function start(
  name: 'h2load' | 'wrk',
  words: readonly string[],
  { workbench, core }: LoadEnvironment,
): Promise<Child> {
  const executable = findProgram(name);
  if (executable === undefined)
    throw new UsageError(`${name} is not installed (Debian: nghttp2-client, wrk).`);
  return startChild(
    { executable, arguments: words, environment: clientCertificateEnvironment(workbench) },
    core,
  );
}

async function outputOf(generator: Child, { warmUp, seconds }: Load): Promise<string> {
  let hangs = false;
  const timer = setTimeout(
    () => {
      hangs = true;
      void generator.stop();
    },
    (warmUp + seconds) * 1_000 + patience,
  );
  const { code, output } = await generator.ended;
  clearTimeout(timer);
  if (hangs) throw new Error('the load generator did not come to its end');
  if (code !== 0) throw new Error(`the load generator ended with ${code}: ${generator.errors()}`);
  return output;
}

async function proxyUsage(pid: number | undefined): Promise<ProcessUsage | undefined> {
  return pid === undefined ? undefined : usageOf(pid);
}

function refuseFailures({ failed, requests }: LoadFigures, output: string): void {
  if (failed > 0 || requests === 0) {
    throw new Error(`${failed} requests failed, ${requests} did not:\n${output.slice(-1_000)}`);
  }
}
