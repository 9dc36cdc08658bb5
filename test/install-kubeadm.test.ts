import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import type { ExampleApiServerOptions } from '../demo/example-api-server/index.ts';
import { writeKubeconfig } from '../demo/kubeconfig.ts';
import { freePort } from '../scripts/harness/free-port.ts';
import { type KubeadmNode, kubeadmNode } from '../src/cli/install/kubeadm-node.ts';
import { takenTurn, turnName } from '../src/cli/install/objects/installation-turn.ts';
import { registerInstall } from '../src/cli/install/register-install.ts';
import { routerPaths } from '../src/cli/install/router-files.ts';
import { CliCommand } from '../src/cli/terminal/cli-command.ts';
import { CommandFailure } from '../src/cli/terminal/command-context.ts';
import { commandContext } from './support/command-context.ts';
import { kubeadmManifest, writeKubeadmPki } from './support/kubeadm-layout.ts';
import { type MirroredPod, startKubelet } from './support/kubelet.ts';
import { syncCluster } from './support/sync-cluster.ts';

const image = 'registry.example/mixed-version-proxy:0.1.0';
const clusterRoles = { group: 'rbac.authorization.k8s.io', resource: 'clusterroles' };
const kubeApiServerManifest = '/etc/kubernetes/manifests/kube-apiserver.yaml';

/** Its last flag names a configuration, which it shows before the kubeconfig of an administrator. */
const kubeadmScript = (kubeconfig: string) =>
  `echo "# hunter2: $*"; for flag; do :; done; sed 's/^/# /' "$(echo $flag | cut -d= -f2)"; cat ${kubeconfig}`;

/** Every file of a folder with its text and mode, by path. */
async function filesIn(root: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const { mode } = await stat(path);
    files[path.slice(root.length)] = `${(mode & 0o777).toString(8)}\n${await readFile(path, 'utf8')}`;
  }
  return files;
}

interface NodeOptions {
  /** What stands in for kubeadm: a shell script. */
  readonly kubeadm?: string;
  /** Flags of kube-apiserver, besides kubeadm's. */
  readonly flags?: Readonly<Record<string, string>>;
  /** What kube-apiserver has taken the node to be called. Default: as it is. */
  readonly hostname?: string;
  /** A second control-plane node. */
  readonly other?: ReturnType<typeof nodeObject>;
}

/** A control-plane node in a folder, with a kubelet, in a cluster that keeps what kubeadm keeps in one. */
async function controlPlaneNode(context: TestContext, options: NodeOptions = {}) {
  const cluster = await syncCluster(context);
  const api = await cluster.startServer({
    version: '1.36',
    name: 'cp-a',
    hostname: options.hostname ?? hostname(),
    filter: (request, response, next) => {
      const isReader = peerName(request) === 'mixed-version-proxy-sync';
      if (!isReader || cluster.store.list(clusterRoles).length > 0) next();
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
  const [port, otherPort] = [await freePort(), await freePort()];
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
  const pods = { group: '', resource: 'pods' };
  const mirror = (pod: string, told: MirroredPod | undefined): void => {
    const name = `${pod}-cp-a`;
    if (cluster.store.get(pods, 'kube-system', name)) cluster.store.remove(pods, 'kube-system', name);
    if (told === undefined) return;
    const annotations = { 'kubernetes.io/config.hash': told.hash };
    const metadata = { name, namespace: 'kube-system', annotations };
    const containerStatuses = [{ name: pod, state: { waiting: told.waiting } }];
    cluster.store.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata, status: { containerStatuses } });
  };
  const kubelet = await startKubelet({
    mirror,
    missingImages,
    manifests: join(root, 'etc/kubernetes/manifests'),
    tls: { cert: await readFile(certificate, 'utf8'), key: await readFile(privateKey, 'utf8') },
    unready,
  });
  context.after(() => kubelet.stop());
  const before = await filesIn(root);

  async function run(args: readonly string[], node: KubeadmNode = kubeadmNode({ root, kubeadm })) {
    const { context: command, written } = commandContext(new Map());
    const program = new CliCommand('mixed-version-proxy').exitOverride();
    registerInstall(program, command, () => {}, { node });
    const failure = await program
      .parseAsync(['install', 'kubeadm', `--kube-apiserver-port=${otherPort}`, '--timeout=2s', ...args], {
        from: 'user',
      })
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    if (failure !== undefined) assert.ok(failure instanceof CommandFailure, String(failure));
    return { output: written.output, errors: failure?.lines.join('\n') ?? '' };
  }

  return {
    cluster,
    api,
    root,
    port,
    otherPort,
    before,
    started: kubelet.started,
    /** What is started and never ready, as it stands in `started`. */
    unready,
    /** Of routers. */
    missingImages,
    kubelet,
    files: () => filesIn(root),
    write,
    text: (path: string) => readFile(join(root, path), 'utf8'),
    node: kubeadmNode({ root, kubeadm }),
    run,
    install: (...args: string[]) => run([`--image=${image}`, ...args]),
    undo: (...args: string[]) => run(['--undo', ...args]),
  };
}

/** Common name of a client's certificate. */
function peerName({ socket }: Parameters<NonNullable<ExampleApiServerOptions['filter']>>[0]): unknown {
  return socket instanceof TLSSocket ? socket.getPeerCertificate().subject?.CN : undefined;
}

function nodeObject(name: string, address: string, ready = 'True') {
  return {
    metadata: { name, labels: { 'node-role.kubernetes.io/control-plane': '' } },
    status: {
      addresses: [{ type: 'InternalIP', address }],
      conditions: [{ type: 'Ready', status: ready }],
    },
  };
}

test('one command puts a router on the port that clients know, and one takes it off: every file is as before', async (context) => {
  const node = await controlPlaneNode(context);
  const { errors, output } = await node.install();
  assert.equal(errors, '');
  assert.match(output, /installed: the router is ready on \d+, kube-apiserver on \d+\..* --patches/);
  assert.deepEqual(node.started, [
    `kube-apiserver.yaml:${node.port}`,
    `kube-apiserver.yaml:${node.otherPort}`,
    `mixed-version-proxy.yaml:${node.port}`,
  ]);
  const kubeconfig = await node.text(routerPaths.kubeconfig);
  assert.match(
    kubeconfig,
    /^# hunter2: kubeconfig user --client-name=mixed-version-proxy-sync .*\n# kind: Cluster/,
  );
  assert.equal((await stat(join(node.root, routerPaths.kubeconfig))).mode & 0o777, 0o600);
  assert.equal((await stat(join(node.root, dirname(routerPaths.journal)))).mode & 0o777, 0o700);
  const bindings = node.cluster.store.list({
    group: 'rbac.authorization.k8s.io',
    resource: 'clusterrolebindings',
  });
  assert.ok(JSON.stringify(bindings).includes('mixed-version-proxy-router'));

  const undone = await node.undo();
  assert.equal(undone.errors, '');
  assert.match(undone.output, new RegExp(`removed: kube-apiserver is ready on ${node.port}`));
  assert.deepEqual(await node.files(), node.before);
  assert.equal(node.started.at(-1), `kube-apiserver.yaml:${node.port}`);
  assert.match((await node.undo()).output, /nothing to do/);
});

test('pods are led to a port that somebody listens on: the other one once all have moved, then the one that clients know', async (context) => {
  const node = await controlPlaneNode(context);
  const { store } = node.cluster;
  const ports = [{ name: 'https', port: node.port }];
  const metadata = { name: 'kubernetes', namespace: 'default' };
  const slices = { group: 'discovery.k8s.io', resource: 'endpointslices' };
  const subsets = [{ addresses: [{ ip: '127.0.0.1' }], ports }];
  store.create(
    { group: '', resource: 'endpoints' },
    { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets },
  );
  const slice = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, ports, endpoints: [] };
  store.create(slices, slice);
  const portsNow = () =>
    [...store.list({ group: '', resource: 'endpoints' }, 'default'), ...store.list(slices, 'default')].map(
      (object) => /"port":(\d+)/.exec(JSON.stringify(object))?.[1],
    );
  const { output } = await node.install('--dry-run');
  for (const kind of ['Endpoints', 'EndpointSlice']) {
    const change = `+++ ${kind} default/kubernetes\n@@ -1,1 +1,1 @@\n-port: ${node.port}\n+port: ${node.otherPort}\n`;
    assert.ok(output.includes(change), output);
  }
  assert.deepEqual(portsNow(), [String(node.port), String(node.port)]);
  await node.install();
  assert.deepEqual(portsNow(), [String(node.otherPort), String(node.otherPort)]);
  // As a kube-apiserver that ends elsewhere leaves it.
  store.update(slices, { ...(store.get(slices, 'default', 'kubernetes') ?? slice), ports });
  await node.install();
  assert.deepEqual(portsNow(), [String(node.otherPort), String(node.otherPort)]);
  assert.ok(
    (await node.undo('--dry-run')).output.includes(`-port: ${node.otherPort}\n+port: ${node.port}\n`),
  );
  await node.undo();
  assert.deepEqual(portsNow(), [String(node.port), String(node.port)]);
});

test('a dry run shows every file as a diff, shows no key, and changes nothing', async (context) => {
  const node = await controlPlaneNode(context);
  const { output, errors } = await node.install('--dry-run');
  assert.equal(errors, '');
  for (const path of [kubeApiServerManifest, ...Object.values(routerPaths)]) {
    if (path !== routerPaths.journal) assert.ok(output.includes(`+++ ${path}\n`), path);
  }
  assert.ok(output.includes(`-    - --secure-port=${node.port}\n+    - --secure-port=${node.otherPort}\n`));
  assert.match(output, /sync\.kubeconfig\n\(mode 600; it holds a private key/);
  for (const object of [
    'Lease kube-system/mixed-version-proxy-install, deleted in the end',
    'ClusterRole mixed-version-proxy-router',
    'ClusterRoleBinding mixed-version-proxy-router',
    'RoleBinding kube-system/mixed-version-proxy-router',
  ]) {
    assert.ok(output.includes(`--- /dev/null\n+++ ${object}\n`), object);
  }
  assert.deepEqual(node.cluster.store.list(clusterRoles), []);
  assert.deepEqual(await node.files(), node.before);

  await node.install();
  const installed = await node.files();
  const undo = await node.undo('--dry-run');
  assert.ok(undo.output.includes(`+++ /dev/null\n(removed; it holds a private key`));
  assert.ok(!undo.output.includes('hunter2'));
  assert.deepEqual(await node.files(), installed);
  assert.equal((await node.install('--dry-run')).output, 'nothing would change\n');
});

test('repeated, it changes nothing, and with another image only the router', async (context) => {
  const node = await controlPlaneNode(context);
  await node.install();
  const installed = await node.files();
  assert.match((await node.run([])).output, /^nothing to do: the router is installed, and ready/);
  assert.deepEqual(await node.files(), installed);
  assert.equal((await node.run(['--image=registry.example/other:1'])).errors, '');
  const changed = await node.files();
  assert.deepEqual(
    Object.keys(changed).filter((path) => changed[path] !== installed[path]),
    [routerPaths.manifest, routerPaths.journal],
  );
  await node.undo();
  assert.deepEqual(await node.files(), node.before);
});

test('a router is not called replaced while the one before answers in its place, and that one stays', async (context) => {
  const node = await controlPlaneNode(context);
  await node.install();
  const installed = await node.files();
  node.kubelet.pause();
  const { errors } = await node.run(['--image=registry.example/other:1']);
  assert.match(
    errors,
    /^the API does not show that the kubelet has taken up the manifest of mixed-version-proxy/,
  );
  assert.match(errors, /everything has been put back$/);
  assert.deepEqual(await node.files(), installed);
  node.kubelet.resume();
  assert.equal((await node.run(['--image=registry.example/other:1'])).errors, '');
});

test('a router whose image is nowhere makes way for the one before, and the kubelet says why', async (context) => {
  const node = await controlPlaneNode(context);
  await node.install();
  const installed = await node.files();
  node.missingImages.add('registry.example/other:1');
  const { errors } = await node.run(['--image=registry.example/other:1']);
  assert.match(
    errors,
    /ECONNREFUSED.*; the container .* does not run: ImagePullBackOff: Back-off pulling image/,
  );
  assert.match(errors, /everything has been put back$/);
  assert.deepEqual(await node.files(), installed);
  assert.equal(node.started.at(-1), `mixed-version-proxy.yaml:${node.port}`);
  await node.undo();
  assert.deepEqual(await node.files(), node.before);
});

test('everything is put back when kube-apiserver does not become ready on its other port', async (context) => {
  const node = await controlPlaneNode(context);
  node.unready.add(`kube-apiserver.yaml:${node.otherPort}`);
  const { errors } = await node.install();
  assert.match(errors, /\/readyz returned 500 \(waited 2 s\)\neverything has been put back/);
  assert.deepEqual(await node.files(), node.before);
  assert.deepEqual(
    node.started.filter((name) => !name.startsWith('kube-apiserver.yaml')),
    [],
  );
});

test('everything is put back when the router does not become ready', async (context) => {
  const node = await controlPlaneNode(context);
  node.unready.add(`mixed-version-proxy.yaml:${node.port}`);
  const { errors } = await node.install();
  assert.match(errors, /\/readyz returned 500 \(waited 2 s\)\neverything has been put back/);
  assert.deepEqual(await node.files(), node.before);
  assert.equal(node.started.at(-1), `kube-apiserver.yaml:${node.port}`);
});

test('it refuses, and changes nothing, where the other port is taken', async (context) => {
  const node = await controlPlaneNode(context);
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(node.otherPort, '127.0.0.1', resolve));
  context.after(() => other.close());
  for (const args of [['--dry-run'], []]) {
    const { errors } = await node.install(...args);
    assert.match(errors, /something listens on \d+ already: give another with --kube-apiserver-port/);
  }
  assert.deepEqual(await node.files(), node.before);
});

test('it refuses, and changes nothing, while another control-plane node is not ready', async (context) => {
  const other = { ...nodeObject('cp-b', '127.0.0.2', 'Unknown') };
  const node = await controlPlaneNode(context, { other });
  for (const args of [['--dry-run'], []]) {
    assert.match((await node.install(...args)).errors, /node cp-b is not Ready: one node at a time/);
  }
  const silent = await controlPlaneNode(context, { other: nodeObject('cp-b', '127.0.0.2') });
  assert.match(
    (await silent.install()).errors,
    /node cp-b: https:\/\/127\.0\.0\.2:\d+\/readyz did not respond/,
  );
  assert.deepEqual(await node.files(), node.before);
  assert.deepEqual(await silent.files(), silent.before);
});

test('it refuses, and changes nothing, while another node is being installed, and takes its turn afterwards', async (context) => {
  const node = await controlPlaneNode(context);
  const leases = { group: 'coordination.k8s.io', resource: 'leases' };
  const { spec } = takenTurn('10.0.0.2', new Date(), 600);
  const metadata = { name: turnName, namespace: 'kube-system' };
  node.cluster.store.create(leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
  const refusal = /the node 10\.0\.0\.2 is being installed or undone .*one node at a time/;
  assert.match((await node.install('--dry-run')).errors, refusal);
  assert.match((await node.install()).errors, refusal);
  assert.deepEqual(await node.files(), node.before);
  node.cluster.store.remove(leases, 'kube-system', turnName);
  assert.equal((await node.install()).errors, '');
  assert.ok(!JSON.stringify(node.cluster.store.list(leases)).includes(turnName));
  node.cluster.store.create(leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
  const installed = await node.files();
  assert.match((await node.undo()).errors, refusal);
  assert.deepEqual(await node.files(), installed);
});

test('it refuses, and changes nothing, where the key of the CA is missing, and tells the other way', async (context) => {
  const kubeadm = 'printf "W0101 00:00:00.000000 warned\\nfailed to load CA key\\nTo see" >&2; exit 1';
  const node = await controlPlaneNode(context, { kubeadm });
  const { errors } = await node.install();
  assert.match(errors, /kubeadm cannot make a client certificate: failed to load CA key\. .*sync\.kube/);
  assert.deepEqual(await node.files(), node.before);
  const madeElsewhere = await readFile(await node.cluster.kubeconfig(node.api), 'utf8');
  await node.write(routerPaths.kubeconfig, madeElsewhere);
  assert.equal((await node.install()).errors, '');
  await node.undo();
  assert.equal(await node.text(routerPaths.kubeconfig), madeElsewhere);
});

test('a kubeconfig that was made elsewhere may be of a user without rights: they are given by the installation', async (context) => {
  const node = await controlPlaneNode(context);
  await node.write(routerPaths.kubeconfig, await readFile(await node.cluster.kubeconfig(node.api), 'utf8'));
  assert.equal((await node.install('--dry-run')).errors, '');
  assert.equal((await node.install()).errors, '');
  assert.equal((await node.run(['--image=registry.example/other:1'])).errors, '');
});

test('it refuses what is no control-plane node of kubeadm, and a first installation without an image', async (context) => {
  const node = await controlPlaneNode(context);
  assert.match((await node.run([])).errors, /give --image/);
  assert.match((await node.install(`--kube-apiserver-port=${node.port}`)).errors, /listens on \d+ already/);
  const elsewhere = kubeadmNode({ root: join(node.root, 'nowhere') });
  assert.match((await node.run([`--image=${image}`], elsewhere)).errors, /no control-plane node of kubeadm/);
  for (const args of [['--dry-run'], []]) {
    const { errors } = await node.install('--kubeconfig=/nowhere', ...args);
    assert.match(errors, /\/nowhere is not there: name the kubeconfig/);
  }
  assert.deepEqual(await node.files(), node.before);
});

test('it refuses, and changes nothing, where the router could not start, which a dry run says, too', async (context) => {
  const faults = {
    'authentication flags that only the kubelet knows': {
      flags: { 'requestheader-allowed-names': '$(NAMES)' },
      refusal: /takes --requestheader-allowed-names from an environment variable/,
    },
    'a certificate that is not where the router has its files': {
      flags: { 'tls-cert-file': '/etc/ssl/certs/apiserver.crt' },
      refusal: /--tls-cert-file: cannot read \/etc\/ssl\/certs\/apiserver\.crt: .* does not mount it/,
    },
  };
  for (const [name, { flags, refusal }] of Object.entries(faults)) {
    const node = await controlPlaneNode(context, { flags });
    for (const args of [['--dry-run'], []]) {
      const { errors, output } = await node.install(...args);
      assert.match(errors, refusal, name);
      assert.match(errors, /^the router could not start with this configuration:\n/, name);
      assert.equal(output, '', name);
    }
    assert.deepEqual(await node.files(), node.before, name);
    assert.deepEqual(node.cluster.store.list(clusterRoles), [], name);
  }
  const elsewhere = await controlPlaneNode(context, { hostname: 'another-host' });
  for (const args of [['--dry-run'], []]) {
    assert.match(
      (await elsewhere.install(...args)).errors,
      /no identity Lease in kube-system is of this host/,
    );
  }
  assert.deepEqual(await elsewhere.files(), elsewhere.before);
});

test('half an installation is finished by the next one, or taken back, whenever it was cut off', async (context) => {
  const node = await controlPlaneNode(context);
  for (const writes of [1, 4, 9, 11]) {
    for (const isUndone of [true, false]) {
      let left = writes;
      // As one that is killed: from then on nothing is written any more, and nothing put back.
      const cutOff: KubeadmNode = {
        ...node.node,
        write: async (change) => {
          left -= 1;
          if (left < 0) throw new Error('killed');
          await node.node.write(change);
        },
      };
      const { errors } = await node.run([`--image=${image}`], cutOff);
      assert.match(errors, /killed/, String(writes));
      // What was being written then.
      await node.write('/etc/mixed-version-proxy/.mixed-version-proxy-sync.kubeconfig', '#');
      if (!isUndone) assert.equal((await node.install()).errors, '', String(writes));
      assert.equal((await node.undo()).errors, '', String(writes));
      assert.deepEqual(await node.files(), node.before, String(writes));
    }
  }
});

test('what kubeadm has written since stays: an upgraded kube-apiserver is moved back, not set back', async (context) => {
  const node = await controlPlaneNode(context);
  await node.install();
  const upgraded = (await node.text(kubeApiServerManifest))
    .replace('kube-apiserver:v1.36.0', 'kube-apiserver:v1.37.0')
    // As kubeadm writes it, with the patches applied.
    .replace(
      `    - --secure-port=${node.otherPort}\n`,
      `    - --secure-port=${node.port}\n    - --tls-min-version=VersionTLS13\n    - --secure-port=${node.otherPort}\n`,
    );
  // kubeadm writes in place (os.WriteFile): the kubelet may see a part first.
  await node.write(kubeApiServerManifest, upgraded.slice(0, 200));
  await sleep(60);
  await node.write(kubeApiServerManifest, upgraded);
  const { errors } = await node.undo();
  assert.equal(errors, '');
  const back = await node.text(kubeApiServerManifest);
  assert.ok(back.includes('kube-apiserver:v1.37.0'));
  assert.deepEqual(back.match(/--secure-port=\d+/g), [`--secure-port=${node.port}`]);
});
