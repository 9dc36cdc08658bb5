import { type Child, type Command, startChild } from '../../../test/support/commands/child-process.ts';
import { type ProcessUsage, usageOf } from '../../harness/process-usage.ts';
import { installedProgram } from '../../harness/programs.ts';
import type { Workbench } from '../workbench.ts';
import { h2loadArguments, h2loadPhases, parseH2load } from './h2load.ts';
import { clientCertificateEnvironment, type Load, type LoadFigures } from './load.ts';
import { pacedArguments, parsePaced, phaseOf } from './paced.ts';
import { parseWrk, wrkArguments } from './wrk.ts';

/** Figures of the load generator, and of the proxy meanwhile. */
interface LoadRun {
  readonly figures: LoadFigures;
  /** Microseconds of CPU time of the proxy while it was measured; 0 without one. */
  readonly cpuTime: number;
}

interface LoadEnvironment {
  readonly workbench: Workbench;
  readonly core: number | undefined;
  /** Process of the proxy. */
  readonly pid: number | undefined;
}

type Phase = keyof typeof h2loadPhases;
const phases: readonly Phase[] = ['begin', 'end'];

/** Beyond what the load takes by itself: then something hangs. Milliseconds. */
const patience = 20_000;

/** Puts load on, over connections that last. @throws when a request fails. */
export async function runH2load(load: Load, environment: LoadEnvironment): Promise<LoadRun> {
  const { workbench } = environment;
  const command = {
    executable: installedProgram('h2load', 'nghttp2-client'),
    arguments: h2loadArguments(load),
    environment: clientCertificateEnvironment(workbench),
  };
  const phase = (line: string): Phase | undefined =>
    phases.find((candidate) => line.startsWith(h2loadPhases[candidate]));
  const { output, cpuTime } = await runInPhases(command, load, environment, phase);
  const figures = parseH2load(output, load);
  refuseFailures(figures, output);
  return { figures, cpuTime };
}

/** The same at a fixed rate: `load` has one. @throws when a request fails. */
export async function runPaced(load: Load, environment: LoadEnvironment): Promise<LoadRun> {
  const { workbench } = environment;
  const { rate } = load;
  if (rate === undefined) throw new TypeError('A paced load has a rate.');
  const command = {
    executable: workbench.goPrograms,
    arguments: pacedArguments({ ...load, rate }, workbench),
  };
  const { output, cpuTime } = await runInPhases(command, load, environment, phaseOf);
  const figures = parsePaced(output, load);
  refuseFailures(figures, output);
  return { figures, cpuTime };
}

/** Puts load on with a new connection for each request. @throws when a request fails. */
export async function runWrk(load: Load, environment: LoadEnvironment): Promise<LoadRun> {
  const before = await proxyUsage(environment.pid);
  const command = {
    executable: installedProgram('wrk', 'wrk'),
    arguments: wrkArguments(load),
    environment: clientCertificateEnvironment(environment.workbench),
  };
  const generator = await startChild(command, environment.core);
  const output = await outputOf(generator, load);
  const after = await proxyUsage(environment.pid);
  const figures = parseWrk(output);
  refuseFailures(figures, output);
  return { figures, cpuTime: (after?.cpuTime ?? 0) - (before?.cpuTime ?? 0) };
}

/** Runs a generator that says when its measured time begins and ends. */
async function runInPhases(
  command: Command,
  load: Load,
  { pid, core }: LoadEnvironment,
  phaseOfLine: (line: string) => Phase | undefined,
): Promise<{ readonly output: string; readonly cpuTime: number }> {
  const generator = await startChild(command, core);
  const usage: Partial<Record<Phase, Promise<ProcessUsage | undefined>>> = {};
  generator.onLine((line) => {
    const phase = phaseOfLine(line);
    if (phase !== undefined) usage[phase] = proxyUsage(pid);
  });
  const output = await outputOf(generator, load);
  const cpuTime = ((await usage.end)?.cpuTime ?? 0) - ((await usage.begin)?.cpuTime ?? 0);
  return { output, cpuTime };
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
