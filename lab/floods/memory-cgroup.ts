import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** MiB. */
export interface CgroupUsage {
  readonly now: number;
  readonly most: number;
  /** Buffers of TCP: in version 2 these are part of `now`, in version 1 they are counted apart. */
  readonly tcp: number;
}

/** A cgroup of its own, that the kernel holds to so much memory. */
export interface MemoryCgroup {
  /** A shell command that puts the shell into it. */
  readonly enter: string;
  usage(): Promise<CgroupUsage>;
  /** Processes that the kernel has ended for want of memory. */
  ended(): Promise<number>;
  remove(): Promise<void>;
}

interface Version {
  readonly root: string;
  readonly limit: string;
  readonly now: string;
  readonly most: string;
  readonly events: string;
  readonly tcp: (group: string) => Promise<number>;
}

const number = async (file: string): Promise<number> => Number(await readFile(file, 'utf8').catch(() => '0'));
const field = async (file: string, name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await readFile(file, 'utf8').catch(() => ''))?.[1] ?? 0);

const versions: readonly Version[] = [
  {
    root: '/sys/fs/cgroup/memory',
    limit: 'memory.limit_in_bytes',
    now: 'memory.usage_in_bytes',
    most: 'memory.max_usage_in_bytes',
    events: 'memory.oom_control',
    tcp: (group) => number(join(group, 'memory.kmem.tcp.usage_in_bytes')),
  },
  {
    root: '/sys/fs/cgroup',
    limit: 'memory.max',
    now: 'memory.current',
    most: 'memory.peak',
    events: 'memory.events',
    tcp: (group) => field(join(group, 'memory.stat'), 'sock'),
  },
];

/** @returns `undefined` where this user may make none */
export async function memoryCgroup(mebibytes: number): Promise<MemoryCgroup | undefined> {
  for (const version of versions) {
    const group = join(version.root, `mixed-version-proxy-floods-${process.pid}-${mebibytes}`);
    try {
      await mkdir(group);
      await writeFile(join(group, version.limit), String(mebibytes * 1024 * 1024));
    } catch {
      await rmdir(group).catch(() => {});
      continue;
    }
    // Version 1 counts buffers of TCP only where they have a limit.
    await writeFile(join(group, 'memory.kmem.tcp.limit_in_bytes'), String(2 ** 40)).catch(() => {});
    const inMebibytes = (bytes: number): number => Math.round(bytes / 1024 / 1024);
    return {
      enter: `echo $$ > ${join(group, 'cgroup.procs')}`,
      usage: async () => ({
        now: inMebibytes(await number(join(group, version.now))),
        most: inMebibytes(await number(join(group, version.most))),
        tcp: inMebibytes(await version.tcp(group)),
      }),
      ended: () => field(join(group, version.events), 'oom_kill'),
      async remove() {
        // The processes of the group have been told to end, and may not be gone yet.
        for (let tries = 0; tries < 50; tries++) {
          try {
            await rmdir(group);
            return;
          } catch {
            await sleep(100);
          }
        }
      },
    };
  }
  return undefined;
}
