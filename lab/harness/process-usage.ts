import { readdir, readFile, readlink, writeFile } from 'node:fs/promises';

/** CPU time and memory of a process and all its descendants. */
export interface ProcessUsage {
  /** Microseconds of CPU time, user and system, since each of them started. */
  readonly cpuTime: number;
  /** KiB in memory now. */
  readonly resident: number;
  /** KiB that were in memory at most, summed over the processes, since the start or `resetPeak`. */
  readonly peakResident: number;
}

/** Clock ticks a second in /proc: USER_HZ, 100 on every architecture that Node runs on (proc(5)). */
const ticksPerSecond = 100;

/** The process and its descendants, by process ID. */
export async function processTree(root: number): Promise<number[]> {
  const found = [root];
  for (const pid of found) {
    const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
    for (const thread of threads) {
      const children = await readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '');
      found.push(...children.split(' ').filter(Boolean).map(Number));
    }
  }
  return found;
}

/** Reads /proc. A process that ends meanwhile counts for nothing. */
export async function usageOf(root: number): Promise<ProcessUsage> {
  let usage: ProcessUsage = { cpuTime: 0, resident: 0, peakResident: 0 };
  for (const pid of await processTree(root)) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => undefined);
    if (stat === undefined || status === undefined) continue;
    const memory = parseStatus(status);
    usage = {
      cpuTime: usage.cpuTime + parseCpuTime(stat),
      resident: usage.resident + memory.resident,
      peakResident: usage.peakResident + memory.peakResident,
    };
  }
  return usage;
}

/**
 * Milliseconds of CPU time of all threads that a process has now, to the microsecond: for what takes less than a tick of `usageOf`.
 * Threads that have ended count for nothing.
 */
export async function threadTimeOf(pid: number): Promise<number> {
  let nanoseconds = 0;
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0');
    nanoseconds += Number(text.split(' ')[0]);
  }
  return nanoseconds / 1_000_000;
}

/** Sockets that the process and its descendants hold open; one that they share counts once. */
export async function socketsOf(root: number): Promise<number> {
  const sockets = new Set<string>();
  for (const pid of await processTree(root)) {
    for (const descriptor of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '');
      if (target.startsWith('socket:')) sockets.add(target);
    }
  }
  return sockets.size;
}

/** Starts the peak anew at what is in memory now (proc(5), clear_refs). */
export async function resetPeak(root: number): Promise<void> {
  for (const pid of await processTree(root)) await writeFile(`/proc/${pid}/clear_refs`, '5');
}

/** Microseconds, from /proc/PID/stat. The second field is a name that may hold blanks and parentheses. */
export function parseCpuTime(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // The 14th and 15th field of the line: utime and stime.
  const [user, system] = [fields[11], fields[12]].map(Number);
  return (((user ?? Number.NaN) + (system ?? Number.NaN)) * 1_000_000) / ticksPerSecond;
}

/** From /proc/PID/status, KiB. A process that is ending has no memory lines. */
export function parseStatus(status: string): Omit<ProcessUsage, 'cpuTime'> {
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
  return { resident: field('VmRSS'), peakResident: field('VmHWM') };
}
