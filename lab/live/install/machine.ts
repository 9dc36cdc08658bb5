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
  const machine = new NamespacedMachine(options);
  await machine.start();
  return machine;
}

class NamespacedMachine implements Machine {
  readonly name: string;
  readonly address: string;
  readonly #options: MachineOptions;
  #life: LoggedProcess | undefined;
  /** Its first process, outside. */
  #pid = 0;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.name = options.name;
    this.address = options.address;
  }

  async start(): Promise<void> {
    const { name, address, directory, releases } = this.#options;
    const disk = join(directory, 'disk');
    for (const folder of ['etc', 'etc.work', 'lib', 'lib.work']) {
      await mkdir(join(disk, folder), { recursive: true });
    }
    const programs = releases.flatMap(({ version, apiServer, components }) =>
      [['kube-apiserver', apiServer.path], ...components].map(
        ([program, path]) => `--program=${program}:v${version}=${path}`,
      ),
    );
    const life = await startLoggedProcess({
      name,
      command: 'unshare',
      args: [
        ...['--net', '--mount', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc'],
        ...['/bin/sh', '-c', setUp, 'sh', process.execPath, join(import.meta.dirname, 'kubelet.ts')],
        ...[`--name=${name}`, `--address=${address}`, `--logs=${directory}`, ...programs],
      ],
      logFile: join(directory, 'kubelet.log'),
      environment: { ...process.env, NAME: name, DISK: disk, ADDRESS: address },
    });
    this.#life = life;
    await waitUntil(`${name} has a first process`, async () => {
      this.#pid = Number((await readFile(`/proc/${life.pid}/task/${life.pid}/children`, 'utf8')).trim());
      return this.#pid > 0;
    });
    await this.#plugIn();
  }

  async #plugIn(): Promise<void> {
    const { name, address } = this;
    // The machine keeps its own address after a power cut, too: its neighbours remember it.
    const hardware = ['0', ...address.split('.')].map((byte) => Number(byte).toString(16).padStart(2, '0'));
    const peer = ['peer', 'name', 'eth0', 'address', `02:${hardware.join(':')}`, 'netns', String(this.#pid)];
    ip('link', 'add', name, 'type', 'veth', ...peer);
    ip('link', 'set', name, 'master', bridge.name, 'up');
    await waitUntil(`${name} has its address`, async () => {
      const inNode = ['-t', String(this.#pid), '--net', 'ip', 'address', 'show', 'dev', 'eth0', 'up'];
      return spawnSync('nsenter', inNode, { encoding: 'utf8' }).stdout.includes(address);
    });
  }

  #entering(): readonly string[] {
    return ['-t', String(this.#pid), '--net', '--mount', '--uts', '--pid', '--'];
  }

  async run(path: string, ...command: readonly string[]): Promise<CommandResult> {
    const options = { env: withPath(path) };
    try {
      const { stdout, stderr } = await promisify(execFile)(
        'nsenter',
        [...this.#entering(), ...command],
        options,
      );
      return { code: 0, output: `${stdout}${stderr}` };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: unknown; stdout?: string; stderr?: string };
      return { code: typeof code === 'number' ? code : 1, output: `${stdout ?? ''}${stderr ?? ''}` };
    }
  }

  async runUntil(last: string, path: string, ...command: readonly string[]): Promise<CommandResult> {
    // nsenter is another process than what it runs, which tells its ID in the machine.
    const telling = ['/bin/sh', '-c', 'echo $$; exec "$@"', 'sh', ...command];
    const child = spawn('nsenter', [...this.#entering(), ...telling], { env: withPath(path) });
    const closed = once(child, 'close');
    const said: string[] = [];
    child.stderr.on('data', (text) => said.push(String(text)));
    let id = '';
    for await (const line of createInterface({ input: child.stdout })) {
      if (id === '') id = line;
      else said.push(line);
      if (line === last) await this.run('', 'kill', '-KILL', id);
    }
    const [code] = (await closed) as [number | null];
    return { code: code ?? 1, output: said.join('\n') };
  }

  at(path: string): string {
    return `/proc/${this.#pid}/root${path}`;
  }

  async files(folders: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (const folder of folders) {
      const entries = await readdir(this.at(folder), { recursive: true, withFileTypes: true }).catch(
        () => [],
      );
      for (const entry of entries) {
        if (!entry.isFile()) continue;
        const path = join(entry.parentPath, entry.name);
        const { mode } = await stat(path);
        const digest = createHash('sha256')
          .update(await readFile(path))
          .digest('hex');
        found.set(path.slice(this.at('').length), `${(mode & 0o777).toString(8)} ${digest}`);
      }
    }
    return found;
  }

  text(path: string): Promise<string | undefined> {
    return readFile(this.at(path), 'utf8').catch(() => undefined);
  }

  log(): string {
    return this.#life?.log() ?? '';
  }

  async cutPower(): Promise<void> {
    await this.#life?.kill();
    // The kernel takes a network namespace apart after its last process has ended, and the cable with it.
    await waitUntil(`${this.name} is off the network`, async () => {
      return spawnSync('ip', ['link', 'show', 'dev', this.name]).status !== 0;
    });
  }
}

function withPath(path: string): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${path}:${process.env['PATH']}` };
}

function ip(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${error?.message ?? stderr}`);
}
