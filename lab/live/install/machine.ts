import { execFile, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { type LoggedProcess, startLoggedProcess } from '../cluster/logged-process.ts';
import type { KubernetesRelease } from './install-assets.ts';

/** The bridge that joins the machines, and its address, which is the load balancer's and etcd's. */
export const bridge = { name: 'live', address: '10.89.0.1' } as const;

export interface MachineOptions {
  readonly name: string;
  readonly address: string;
  /** Keeps what the machine writes. */
  readonly directory: string;
  readonly releases: readonly KubernetesRelease[];
}

export interface CommandResult {
  readonly code: number;
  readonly output: string;
}

/**
 * A machine of its own as far as an installer and kube-apiserver see: a host name, a network with one address, the folders
 * /etc and /var/lib, and processes that go with it.
 */
export interface Machine {
  readonly name: string;
  readonly address: string;
  /** Runs a command on it, with this one first on the PATH. */
  run(path: string, command: string, ...args: readonly string[]): Promise<CommandResult>;
  /** The same, with SIGKILL as soon as it has said this line. */
  runUntil(line: string, path: string, command: string, ...args: readonly string[]): Promise<CommandResult>;
  /** Where this process finds a file of the machine. */
  at(path: string): string;
  /** Mode and SHA-256 of every file of these folders, by path. */
  files(folders: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Absent where there is none. */
  text(path: string): Promise<string | undefined>;
  /** The log of its kubelet. */
  log(): string;
  /** As a power cut. */
  cutPower(): Promise<void>;
}

export function makeBridge(): void {
  const { name, address } = bridge;
  ip('link', 'add', name, 'type', 'bridge');
  ip('address', 'add', `${address}/24`, 'dev', name);
  ip('link', 'set', name, 'up');
}

/** In order: nothing of the machine's reaches the host's folders. */
const setUp = [
  'set -e',
  'hostname "$NAME"',
  'mount -t overlay overlay -o "lowerdir=/etc,upperdir=$DISK/etc,workdir=$DISK/etc.work" /etc',
  'mount -t overlay overlay -o "lowerdir=/var/lib,upperdir=$DISK/lib,workdir=$DISK/lib.work" /var/lib',
  'ip link set lo up',
  'until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done',
  'ip address add "$ADDRESS/24" dev eth0',
  'ip link set eth0 up',
  'exec "$@"',
].join('\n');

export async function startMachine(options: MachineOptions): Promise<Machine> {
  const { name, address, directory, releases } = options;
  const disk = join(directory, 'disk');
  for (const folder of ['etc', 'etc.work', 'lib', 'lib.work']) {
    await mkdir(join(disk, folder), { recursive: true });
  }
  const kubelet = join(import.meta.dirname, 'kubelet.ts');
  const programs = releases.flatMap(({ version, apiServer, components }) =>
    [['kube-apiserver', apiServer.path], ...components].map(
      ([program, path]) => `--program=${program}:v${version}=${path}`,
    ),
  );
  let life: LoggedProcess | undefined;
  let pid = 0;

  async function start(): Promise<void> {
    life = await startLoggedProcess({
      name,
      command: 'unshare',
      args: [
        ...['--net', '--mount', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc'],
        ...['/bin/sh', '-c', setUp, 'sh', process.execPath, kubelet],
        ...[`--name=${name}`, `--address=${address}`, `--logs=${directory}`, ...programs],
      ],
      logFile: join(directory, 'kubelet.log'),
      environment: { ...process.env, NAME: name, DISK: disk, ADDRESS: address },
    });
    const outer = life.pid;
    await waitUntil(`${name} has a first process`, async () => {
      pid = Number((await readFile(`/proc/${outer}/task/${outer}/children`, 'utf8')).trim());
      return pid > 0;
    });
    // The machine keeps its own address after a power cut, too: its neighbours remember it.
    const hardware = ['0', ...address.split('.')].map((byte) => Number(byte).toString(16).padStart(2, '0'));
    const peer = ['peer', 'name', 'eth0', 'address', `02:${hardware.join(':')}`, 'netns', String(pid)];
    ip('link', 'add', name, 'type', 'veth', ...peer);
    ip('link', 'set', name, 'master', bridge.name, 'up');
    await waitUntil(`${name} has its address`, async () => {
      const inNode = ['-t', String(pid), '--net', 'ip', 'address', 'show', 'dev', 'eth0', 'up'];
      return spawnSync('nsenter', inNode, { encoding: 'utf8' }).stdout.includes(address);
    });
  }

  const entering = () => ['-t', String(pid), '--net', '--mount', '--uts', '--pid', '--'];
  const withPath = (path: string) => ({ ...process.env, PATH: `${path}:${process.env['PATH']}` });

  async function run(path: string, ...command: readonly string[]): Promise<CommandResult> {
    const [namespaces, env] = [entering(), withPath(path)];
    try {
      const { stdout, stderr } = await promisify(execFile)('nsenter', [...namespaces, ...command], { env });
      return { code: 0, output: `${stdout}${stderr}` };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: unknown; stdout?: string; stderr?: string };
      return { code: typeof code === 'number' ? code : 1, output: `${stdout ?? ''}${stderr ?? ''}` };
    }
  }

  async function runUntil(last: string, path: string, ...command: readonly string[]): Promise<CommandResult> {
    // nsenter is another process than what it runs, which tells its ID in the machine.
    const telling = ['/bin/sh', '-c', 'echo $$; exec "$@"', 'sh', ...command];
    const child = spawn('nsenter', [...entering(), ...telling], { env: withPath(path) });
    const closed = once(child, 'close');
    const said: string[] = [];
    child.stderr.on('data', (text) => said.push(String(text)));
    let id = '';
    for await (const line of createInterface({ input: child.stdout })) {
      if (id === '') id = line;
      else said.push(line);
      if (line === last) await run('', 'kill', '-KILL', id);
    }
    const [code] = (await closed) as [number | null];
    return { code: code ?? 1, output: said.join('\n') };
  }

  await start();
  const at = (path: string) => `/proc/${pid}/root${path}`;
  return {
    name,
    address,
    at,
    run,
    runUntil,
    async files(folders) {
      const found = new Map<string, string>();
      for (const folder of folders) {
        const entries = await readdir(at(folder), { recursive: true, withFileTypes: true }).catch(() => []);
        for (const entry of entries) {
          if (!entry.isFile()) continue;
          const path = join(entry.parentPath, entry.name);
          const { mode } = await stat(path);
          const digest = createHash('sha256')
            .update(await readFile(path))
            .digest('hex');
          found.set(path.slice(at('').length), `${(mode & 0o777).toString(8)} ${digest}`);
        }
      }
      return found;
    },
    text: (path) => readFile(at(path), 'utf8').catch(() => undefined),
    log: () => life?.log() ?? '',
    async cutPower() {
      await life?.kill();
      // The kernel takes a network namespace apart after its last process has ended, and the cable with it.
      await waitUntil(`${name} is off the network`, async () => {
        return spawnSync('ip', ['link', 'show', 'dev', name]).status !== 0;
      });
    },
  };
}

function ip(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${error?.message ?? stderr}`);
}
