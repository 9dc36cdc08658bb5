import { readFile } from 'node:fs/promises';

/** How many files, sockets among them, a process started from here may have open. */
export async function openFileLimit(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  return parseOpenFileLimit(limits);
}

/** From /proc/PID/limits: the hard limit, up to which programs raise their own. */
export function parseOpenFileLimit(limits: string): number {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1];
  return hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard ?? 1024);
}
