import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startChild } from '../../harness/child-process.ts';
import { UsageError } from '../../harness/command-line.ts';
import { processTree } from '../../harness/process-usage.ts';
import { installedProgram } from '../../harness/programs.ts';
import type { Workbench } from '../workbench.ts';
import type { Sample } from './places.ts';

const run = promisify(execFile);

/** Times a second; no divisor of what timers of the kernel do. */
const samplesPerSecond = 1_999;

/** Looks at all threads of a process, and of its children, for some seconds. @throws without `perf`, and where it may not look. */
export async function sampleProcess(
  pid: number,
  seconds: number,
  { directory }: Workbench,
): Promise<readonly Sample[]> {
  const executable = installedProgram('perf', 'linux-perf');
  const file = join(directory, 'perf.data');
  const recording = await startChild({
    executable,
    arguments: [
      'record',
      '--quiet',
      // Of the clock, not of a counter: virtual machines often have none.
      '--event=cpu-clock',
      `--freq=${samplesPerSecond}`,
      `--pid=${(await processTree(pid)).join(',')}`,
      `--output=${file}`,
      '--',
      'sleep',
      String(seconds),
    ],
  });
  const { code } = await recording.ended;
  if (code !== 0) throw new UsageError(`perf could not look at the proxy: ${recording.errors()}`);
  const { stdout } = await run(executable, ['script', `--input=${file}`, '--fields=ip,sym,dso'], {
    maxBuffer: 2 ** 28,
  });
  return parseSamples(stdout);
}

/** Reads what `perf script` prints: a line for each sample, of address, symbol and object in parentheses. */
export function parseSamples(output: string): Sample[] {
  return output.split('\n').flatMap((line) => {
    const found = /^\s*[0-9a-f]+\s+(.*)\s+\(([^()]*(?: \(deleted\))?)\)\s*$/.exec(line);
    return found === null ? [] : [{ symbol: found[1] ?? '', object: found[2] ?? '' }];
  });
}
