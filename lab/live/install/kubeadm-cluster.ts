import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { backupPrefix } from '../../../src/cli/install/kubeadm-node.ts';
import { type TlsCredentials, tlsRequest } from '../../../test/support/clients/tls-request.ts';
import { commandModule } from '../../../test/support/commands/command.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { startEtcd } from '../cluster/etcd.ts';
import { askHaproxy } from '../cluster/haproxy.ts';
import { startLoggedProcess } from '../cluster/logged-process.ts';
import { versionSkewFlags } from '../cluster/version-skew.ts';
import type { InstallAssets, KubernetesRelease } from './install-assets.ts';
import { kubeconfigFile } from './kubeconfig-file.ts';
import { bridge, type CommandResult, type Machine, makeBridge, startMachine } from './machine.ts';

/** Milliseconds that connections of before a change may go on: a watch is ended then, and its client comes back. */
const oldConnections = 2000;

/** HAProxy as docs/guides/load-balancers.md has it; each change is one of its file, and a reload. */
interface LoadBalancer {
  /** Addresses that connections go to now. */
  healthy(): Promise<readonly string[]>;
  /** No further connections to it; resolves once those that there are have ended. */
  drain(address: string): Promise<void>;
  /** Puts it back; resolves once it is checked and taken. @param port Default: as before. */
  restore(address: string, port?: number): Promise<void>;
  close(): Promise<void>;
}

async function startLoadBalancer(
  { host, port, directory }: { readonly host: string; readonly port: number; readonly directory: string },
  addresses: readonly string[],
): Promise<LoadBalancer> {
  const servers = new Map(addresses.map((address) => [address, { port, isOut: false }]));
  const [file, socket] = [join(directory, 'haproxy.cfg'), join(directory, 'haproxy.sock')];
  const write = () =>
    writeFile(
      file,
      `global
  stats socket ${socket}
  hard-stop-after ${oldConnections}ms
defaults
  mode tcp
  timeout connect 1s
  timeout check   5s
  timeout client  1h
  timeout server  1h
  retries 3
  option redispatch 1
frontend kubernetes
  bind ${host}:${port}
  default_backend routers
backend routers
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
  default-server check check-ssl verify none inter 500ms fall 2 rise 1
${[...servers].map(([address, server]) => `  server ${address} ${address}:${server.port}${server.isOut ? ' disabled' : ''}\n`).join('')}`,
    );
  await write();
  const haproxy = await startLoggedProcess({
    name: 'haproxy',
    command: 'haproxy',
    args: ['-W', '-db', '-f', file],
    logFile: join(directory, 'haproxy.log'),
  });

  async function reload(): Promise<void> {
    await write();
    process.kill(haproxy.pid, 'SIGUSR2');
    await sleep(oldConnections + 500);
  }

  async function healthy(): Promise<readonly string[]> {
    const rows = (await askHaproxy(socket, 'show stat')).split('\n').map((line) => line.split(','));
    return rows.flatMap(([proxy, server = '', ...row]) =>
      proxy === 'routers' && servers.has(server) && row[15]?.startsWith('UP') ? [server] : [],
    );
  }

  async function change(address: string, to: { port?: number; isOut: boolean }): Promise<void> {
    const server = servers.get(address);
    if (server === undefined) throw new TypeError(`${address} is none of the load balancer's`);
    Object.assign(server, to);
    await reload();
    await waitUntil(
      `the load balancer has taken ${address} ${to.isOut ? 'out' : 'in'}`,
      async () => (await healthy()).includes(address) !== to.isOut,
    );
  }

  await waitUntil('haproxy runs', async () => (await healthy()).length >= 0);
  return {
    healthy,
    drain: (address) => change(address, { isOut: true }),
    restore: (address, to) => change(address, { isOut: false, ...(to !== undefined && { port: to }) }),
    close: async () => {
      await haproxy.stop(oldConnections);
    },
  };
}

/** Milliseconds. */
const etcdGrace = 5000;
export const image = 'registry.example/mixed-version-proxy:live';
const hosts = [
  { name: 'cp-a', address: '10.89.0.11' },
  { name: 'cp-b', address: '10.89.0.12' },
  { name: 'cp-c', address: '10.89.0.13' },
] as const;

/** Files of a machine that an installation may touch. */
const touched = ['/etc/kubernetes', '/etc/mixed-version-proxy', '/var/lib/mixed-version-proxy-install'];

/** Files of a machine that an installation may touch; copies of those that it replaced stay for good. */
export async function installedFiles(machine: Machine): Promise<ReadonlyMap<string, string>> {
  const files = await machine.files(touched);
  return new Map([...files].filter(([path]) => !path.startsWith(backupPrefix)));
}

/** Three control-plane nodes that kubeadm has made, behind a load balancer. */
export interface KubeadmCluster {
  readonly machines: readonly Machine[];
  readonly balancer: LoadBalancer;
  /** Origin of the load balancer, as clients have it. */
  readonly origin: string;
  readonly admin: TlsCredentials;
  readonly directory: string;
  /** `kubeadm` of a release, on a machine. @throws with what it printed */
  kubeadm(machine: Machine, release: KubernetesRelease, ...args: readonly string[]): Promise<string>;
  /** `kubeadm init phase`, with the configuration of the machine. */
  phase(machine: Machine, release: KubernetesRelease, ...args: readonly string[]): Promise<string>;
  /** The static pod of kube-apiserver that kubeadm writes without any patches. */
  plainManifest(machine: Machine, release: KubernetesRelease): Promise<string>;
  /** `mixed-version-proxy install kubeadm`, on a machine that has kubeadm of this release. */
  install(machine: Machine, release: KubernetesRelease, ...args: readonly string[]): Promise<CommandResult>;
  /** The same, killed as soon as it has said this line. */
  installUntil(
    machine: Machine,
    release: KubernetesRelease,
    line: string,
    ...args: readonly string[]
  ): Promise<CommandResult>;
  untilReady(machine: Machine, port: number): Promise<void>;
  close(): Promise<void>;
}

export async function startKubeadmCluster(assets: InstallAssets): Promise<KubeadmCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-install-'));
  const making = new KubeadmMachines(assets, directory);
  try {
    return await making.cluster();
  } catch (cause) {
    await making.close();
    throw cause;
  }
}

/** Machines of kubeadm that become a cluster, step by step. */
class KubeadmMachines {
  readonly #assets: InstallAssets;
  readonly #directory: string;
  readonly #ending: (() => Promise<unknown>)[];
  readonly #machines: Machine[] = [];

  constructor(assets: InstallAssets, directory: string) {
    this.#assets = assets;
    this.#directory = directory;
    this.#ending = [() => rm(directory, { recursive: true, force: true })];
  }

  async close(): Promise<void> {
    for (const end of this.#ending.splice(0)) await end();
  }

  async cluster(): Promise<KubeadmCluster> {
    const { older } = this.#assets;
    makeBridge();
    await this.#writeReleases();
    for (const host of hosts) await this.#startMachine(host);
    const [first] = this.#machines;
    if (first === undefined) throw new TypeError('there are machines');
    const { credentials: admin } = kubeconfigFile(first.at('/etc/kubernetes/super-admin.conf'));
    const balancer = await startLoadBalancer(
      { host: bridge.address, port: 6443, directory: this.#directory },
      this.#machines.map(({ address }) => address),
    );
    this.#ending.unshift(() => balancer.close());
    const untilReady = (machine: Machine, port: number) =>
      waitUntil(`${machine.name} is ready on ${port}`, async () => {
        const { statusCode } = await tlsRequest(`https://${machine.address}:${port}/readyz`, admin, {
          timeout: 5000,
        });
        return statusCode === 200;
      });
    for (const machine of this.#machines) {
      await this.#phase(machine, older, 'control-plane', 'all');
      await untilReady(machine, 6443);
    }
    await waitUntil(
      'the load balancer has all nodes',
      async () => (await balancer.healthy()).length === this.#machines.length,
    );
    await this.#markNodes(first, admin);
    return { ...this.#commands(), machines: this.#machines, balancer, admin, untilReady };
  }

  /** Binaries and configuration of both releases, for each machine. */
  async #writeReleases(): Promise<void> {
    const { etcd: binary, older, newer } = this.#assets;
    const etcd = await startEtcd(binary, this.#directory, bridge.address);
    this.#ending.unshift(() => etcd.process.stop(etcdGrace));
    for (const release of [older, newer]) {
      await mkdir(this.#binaries(release));
      await symlink(release.kubeadm, join(this.#binaries(release), 'kubeadm'));
      for (const host of hosts) {
        const configuration = configurationOf(host, release, this.#assets, etcd.url);
        await writeFile(this.#configuration(host, release), configuration);
      }
    }
  }

  async #startMachine(host: (typeof hosts)[number]): Promise<void> {
    const { older, newer } = this.#assets;
    const machine = await startMachine({
      ...host,
      directory: join(this.#directory, host.name),
      releases: [older, newer],
    });
    this.#ending.unshift(() => machine.cutPower());
    this.#machines.push(machine);
    // The authorities and the key of service accounts are the first one's, as `kubeadm join` copies them.
    const [first] = this.#machines;
    if (first !== undefined && first !== machine) {
      await mkdir(machine.at('/etc/kubernetes/pki'), { recursive: true });
      for (const name of ['ca', 'front-proxy-ca', 'sa'].flatMap((each) => [`${each}.key`, `${each}.crt`])) {
        const file = `/etc/kubernetes/pki/${name.replace('sa.crt', 'sa.pub')}`;
        await cp(first.at(file), machine.at(file));
      }
    }
    await this.#phase(machine, older, 'certs', 'all');
    await this.#phase(machine, older, 'kubeconfig', 'all');
  }

  async #markNodes(first: Machine, admin: TlsCredentials): Promise<void> {
    const { older } = this.#assets;
    await this.#phase(first, older, 'upload-config', 'all');
    for (const machine of this.#machines) {
      await waitUntil(`${machine.name} is a node`, async () => {
        const path = `/api/v1/nodes/${machine.name}`;
        return (await tlsRequest(`https://${first.address}:6443${path}`, admin)).statusCode === 200;
      });
      await this.#phase(machine, older, 'mark-control-plane');
    }
  }

  #binaries({ version }: KubernetesRelease): string {
    return join(this.#directory, `bin-${version}`);
  }

  #configuration({ name }: { readonly name: string }, { version }: KubernetesRelease): string {
    return join(this.#directory, `${name}-${version}.yaml`);
  }

  async #kubeadm(machine: Machine, release: KubernetesRelease, ...args: readonly string[]): Promise<string> {
    const { code, output } = await machine.run(this.#binaries(release), 'kubeadm', ...args);
    if (code !== 0) throw new Error(`kubeadm ${args.join(' ')} on ${machine.name}: ${output}`);
    return output;
  }

  #phase(machine: Machine, release: KubernetesRelease, ...args: readonly string[]): Promise<string> {
    const configuration = `--config=${this.#configuration(machine, release)}`;
    return this.#kubeadm(machine, release, 'init', 'phase', ...args, configuration);
  }

  /** The operations on the finished cluster. */
  #commands(): Omit<KubeadmCluster, 'machines' | 'balancer' | 'admin' | 'untilReady'> {
    const install = [process.execPath, commandModule, 'install', 'kubeadm'] as const;
    return {
      origin: `https://${bridge.address}:6443`,
      directory: this.#directory,
      kubeadm: (...given) => this.#kubeadm(...given),
      phase: (...given) => this.#phase(...given),
      plainManifest: async (machine, release) => {
        const written = [
          'mount -t tmpfs tmpfs /etc/kubernetes/manifests',
          `kubeadm init phase control-plane apiserver --config=${this.#configuration(machine, release)} >/dev/null`,
          'cat /etc/kubernetes/manifests/kube-apiserver.yaml',
        ].join(' && ');
        const shell = ['unshare', '--mount', '/bin/sh', '-c', written] as const;
        const made = await machine.run(this.#binaries(release), ...shell);
        if (made.code !== 0) throw new Error(made.output);
        return made.output;
      },
      install: (machine, release, ...args) => machine.run(this.#binaries(release), ...install, ...args),
      installUntil: (machine, release, line, ...args) =>
        machine.runUntil(line, this.#binaries(release), ...install, ...args),
      close: () => this.close(),
    };
  }
}

function configurationOf(
  { name, address }: { readonly name: string; readonly address: string },
  release: KubernetesRelease,
  { older, newer }: InstallAssets,
  etcdUrl: string,
): string {
  const flags = versionSkewFlags(release.apiServer, [older.apiServer, newer.apiServer]);
  const apiVersion = 'kubeadm.k8s.io/v1beta4';
  return [
    {
      apiVersion,
      kind: 'InitConfiguration',
      localAPIEndpoint: { advertiseAddress: address, bindPort: 6443 },
      // Taken as it is, where there is no runtime to ask.
      nodeRegistration: { name, criSocket: 'unix:///run/containerd/containerd.sock' },
    },
    {
      apiVersion,
      kind: 'ClusterConfiguration',
      kubernetesVersion: `v${release.version}.0`,
      controlPlaneEndpoint: `${bridge.address}:6443`,
      etcd: { external: { endpoints: [etcdUrl] } },
      apiServer: {
        extraArgs: flags.map((flag) => {
          const [, key, value] = /^--([^=]+)=(.*)$/.exec(flag) ?? [];
          return { name: key, value };
        }),
      },
    },
  ]
    .map((document) => stringify(document))
    .join('---\n');
}
