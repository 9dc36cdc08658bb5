import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { TLSSocket } from 'node:tls';
import type { ExampleApiServerOptions } from '../../../demo/example-api-server/index.ts';
import { writeKubeconfig } from '../../../demo/kubeconfig.ts';
import { installCommand } from '../../../src/cli/install/install-command.ts';
import {
  backupPrefix,
  type KubeadmNode,
  kubeadmNode,
  type SteadyClock,
} from '../../../src/cli/install/kubeadm-node.ts';
import { nodeComponents } from '../../../src/cli/install/node-components.ts';
import { parseArguments } from '../../../src/cli/terminal/command.ts';
import { type CommandContext, CommandFailure, portInUse } from '../../../src/cli/terminal/command-context.ts';
import { syncCluster } from '../clusters/sync-cluster.ts';
import { commandContext } from '../commands/command-context.ts';
import { freePort } from '../free-port.ts';
import {
  componentKubeconfig,
  componentManifest,
  kubeadmManifest,
  writeKubeadmPki,
} from './kubeadm-layout.ts';
import { type MirroredPod, startKubelet } from './kubelet.ts';

/** Runs `install` with these arguments. @returns what it wrote, its warnings, and the lines of its refusal */
async function runInstall(
  args: readonly string[],
  node: Parameters<typeof installCommand>[0],
  { context, written }: ReturnType<typeof commandContext>,
  changes: Partial<CommandContext> = {},
) {
  const command = installCommand(node);
  const given = parseArguments(args, 'install', command);
  assert.ok(given !== 'help');
  const failure = await command.run(given, { ...context, ...changes }).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure !== undefined) assert.ok(failure instanceof CommandFailure, String(failure));
  const errors = failure?.lines.join('\n') ?? '';
  return { output: written.output, warnings: written.errors, errors };
}

export const image = 'registry.example/mixed-version-proxy:0.1.0';
export const clusterRoles = { group: 'rbac.authorization.k8s.io', resource: 'clusterroles' };
export const kubeApiServerManifest = '/etc/kubernetes/manifests/kube-apiserver.yaml';

/** The last flag of kubeadm names a configuration, which the script shows before the kubeconfig of an administrator. */
const kubeadmScript = (kubeconfig: string) =>
  `echo "# hunter2: $*"; for flag; do :; done; sed 's/^/# /' "$(echo $flag | cut -d= -f2)"; cat ${kubeconfig}`;

/** Where something is not ready in time. */
export const impatient = '--timeout=3s';

/** Every file of a folder with its text and mode, by path. */
async function filesIn(root: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    // Copies of what was replaced stay for good.
    if (!entry.isFile() || path.startsWith(`${root}${backupPrefix}`)) continue;
    const { mode } = await stat(path);
    files[path.slice(root.length)] = `${(mode & 0o777).toString(8)}\n${await readFile(path, 'utf8')}`;
  }
  return files;
}

interface NodeOptions {
  /** Stand-in for kubeadm: a shell script. */
  readonly kubeadm?: string;
  /** Flags of kube-apiserver, besides kubeadm's. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Name that kube-apiserver has taken for the node's. Default: the node's own. */
  readonly hostname?: string;
  /** True if the node has a controller manager and a scheduler. Default: false. */
  readonly components?: boolean;
  /** A second control-plane node. */
  readonly other?: ReturnType<typeof nodeObject>;
}

/**
 * A control-plane node in a folder, with a kubelet, in a cluster that keeps what kubeadm keeps in one. Where the installation
 * sleeps, the kubelet looks once, and the time is over.
 */
export async function controlPlaneNode(context: TestContext, options: NodeOptions = {}) {
  const cluster = await syncCluster(context);
  const api = await cluster.startServer({
    version: '1.36',
    name: 'cp-a',
    hostname: options.hostname ?? hostname(),
    filter: (request, response, next) => {
      const hasRights = cluster.store.list(clusterRoles).length > 0;
      if (hasRights || peerName(request) !== 'mixed-version-proxy-reader') next();
      else response.writeHead(403).end();
    },
  });
  cluster.store.create(
    { group: '', resource: 'configmaps' },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kubeadm-config', namespace: 'kube-system' },
      data: { ClusterConfiguration: 'kind: ClusterConfiguration\n' },
    },
  );
  const nodes = [nodeObject('cp-a', '127.0.0.1'), ...(options.other === undefined ? [] : [options.other])];
  for (const node of nodes) {
    cluster.store.create({ group: '', resource: 'nodes' }, { apiVersion: 'v1', kind: 'Node', ...node });
  }
  const root = join(cluster.directory, 'node');
  const [port, otherPort, routerPort] = [await freePort(), await freePort(), await freePort()];
  const manifest = kubeadmManifest({
    pki: '/etc/kubernetes/pki',
    securePort: port,
    flags: { 'advertise-address': '127.0.0.1', ...options.flags },
  });
  const write = async (path: string, text: string, mode = 0o600): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text, { mode });
  };
  await write(kubeApiServerManifest, manifest);
  for (const { name, kubeconfig, manifest } of options.components === true ? nodeComponents : []) {
    await write(manifest, componentManifest(name));
    await write(kubeconfig, componentKubeconfig(name, port));
  }
  await writeKubeadmPki(join(root, 'etc/kubernetes/pki'), cluster.certificates);
  await writeKubeconfig(join(root, 'etc/kubernetes/admin.conf'), {
    servers: { kubernetes: api.url },
    certificateAuthority: cluster.certificates.clusterCa,
    users: { admin: cluster.certificates.admin },
  });
  const kubeadm = join(cluster.directory, 'kubeadm');
  const script = options.kubeadm ?? kubeadmScript(join(root, 'etc/kubernetes/admin.conf'));
  await writeFile(kubeadm, `#!/bin/sh\n${script}\n`);
  await chmod(kubeadm, 0o755);
  const { certificate, privateKey } = cluster.certificates.apiServer;
  const unready = new Set<string>();
  const missingImages = new Set<string>();
  const lateMirrors = new Set<string>();
  const pods = { group: '', resource: 'pods' };
  const mirror = (pod: string, told: MirroredPod | undefined): void => {
    if (lateMirrors.has(pod)) return;
    const name = `${pod}-cp-a`;
    if (cluster.store.get(pods, 'kube-system', name)) cluster.store.remove(pods, 'kube-system', name);
    if (told === undefined) return;
    const annotations = { 'kubernetes.io/config.hash': told.hash };
    const metadata = { name, namespace: 'kube-system', annotations };
    const status = {
      containerStatuses: [{ name: pod, state: { waiting: told.waiting } }],
      conditions: [{ type: 'Ready', status: told.waiting === undefined ? 'True' : 'False' }],
    };
    cluster.store.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata, status });
  };
  const kubelet = await startKubelet({
    mirror,
    missingImages,
    manifests: join(root, 'etc/kubernetes/manifests'),
    tls: { cert: await readFile(certificate, 'utf8'), key: await readFile(privateKey, 'utf8') },
    unready,
  });
  context.after(() => kubelet.stop());
  let now = 0;
  const clock: SteadyClock = {
    now: () => now,
    async sleep(milliseconds) {
      now += milliseconds;
      await kubelet.looked();
    },
  };
  const thisNode = kubeadmNode({ root, kubeadm, clock });
  const before = await filesIn(root);

  function run(args: readonly string[], node: KubeadmNode = thisNode) {
    // Where the router has the port already, the other one is known without the flag.
    const otherPortFlag = args.includes('--take-port') ? [`--kube-apiserver-port=${otherPort}`] : [];
    const given = ['kubeadm', ...otherPortFlag, '--timeout=30s', ...args];
    return runInstall(given, node, commandContext(new Map(), { portInUse }));
  }

  return {
    cluster,
    api,
    root,
    port,
    otherPort,
    before,
    started: kubelet.started,
    /** Servers that are started and never ready, as each stands in `started`. */
    unready,
    /** Images of routers that are missing. */
    missingImages,
    /** Static pods of which the kubelet tells nothing more: it does not reach the API while a port is being taken. */
    lateMirrors,
    kubelet,
    files: () => filesIn(root),
    write,
    text: (path: string) => readFile(join(root, path), 'utf8'),
    node: thisNode,
    run,
    /** The router takes the port of kube-apiserver. */
    install: (...args: string[]) => run([`--image=${image}`, '--take-port', ...args]),
    /** The router has a port of its own. */
    installBeside: (...args: string[]) => run([`--image=${image}`, `--port=${routerPort}`, ...args]),
    routerPort,
    undo: (...args: string[]) => run(['--undo', ...args]),
  };
}

/** Installations that are killed after so many writes, each taken back, or finished and then taken back. */
export async function meetCutOffs(
  node: Awaited<ReturnType<typeof controlPlaneNode>>,
  writes: readonly number[],
): Promise<void> {
  for (const each of writes) {
    for (const isUndone of [true, false]) {
      let left = each;
      // As one that is killed: from then on nothing is written any more, and nothing put back.
      const cutOff: KubeadmNode = {
        ...node.node,
        write: async (change) => {
          left -= 1;
          if (left < 0) throw new Error('killed');
          await node.node.write(change);
        },
      };
      const { errors } = await node.run([`--image=${image}`, '--take-port'], cutOff);
      assert.match(errors, /killed/, String(each));
      // The file that was being written then.
      if (each > 1) await node.write('/etc/mixed-version-proxy/.mixed-version-proxy-reader.kubeconfig', '#');
      if (!isUndone) assert.equal((await node.install()).errors, '', String(each));
      assert.equal((await node.undo()).errors, '', String(each));
      assert.deepEqual(await node.files(), node.before, String(each));
      assert.deepEqual(node.cluster.store.list(clusterRoles), [], String(each));
    }
  }
}

/** Common name of a client's certificate. */
function peerName({ socket }: Parameters<NonNullable<ExampleApiServerOptions['filter']>>[0]): unknown {
  return socket instanceof TLSSocket ? socket.getPeerCertificate().subject?.CN : undefined;
}

export function nodeObject(name: string, address: string, ready = 'True') {
  return {
    metadata: { name, labels: { 'node-role.kubernetes.io/control-plane': '' } },
    status: {
      addresses: [{ type: 'InternalIP', address }],
      conditions: [{ type: 'Ready', status: ready }],
    },
  };
}
