import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { routerPaths } from '../src/cli/install/router-files.ts';
import { createAuthority } from './support/certificates.ts';
import {
  clusterRoles,
  controlPlaneNode,
  impatient,
  kubeApiServerManifest,
  meetCutOffs,
} from './support/installation/control-plane-node.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

const leases = { group: 'coordination.k8s.io', resource: 'leases' };

test('the first step moves no port: a router beside kube-apiserver, which knows nothing of it, and one command takes it off', async (context) => {
  const node = await controlPlaneNode(context);
  const dryRun = await node.installBeside('--dry-run');
  assert.equal(dryRun.errors, '');
  assert.doesNotMatch(dryRun.output, /\+\+\+ \S*(?:kube-apiserver\.yaml|patches)|Endpoint/);
  assert.deepEqual(await node.files(), node.before);
  const { errors, output } = await node.installBeside();
  assert.equal(errors, '');
  const told = `installed: the router is ready on ${node.routerPort}, beside kube-apiserver on ${node.port}. Next: point the load balancer to port ${node.routerPort}`;
  assert.ok(output.includes(told), output);
  const untouched = await node.files();
  assert.equal(untouched[kubeApiServerManifest], node.before[kubeApiServerManifest]);
  assert.match((await node.run([])).output, /^nothing to do: the router is installed, and ready/);
  assert.equal((await node.run(['--image=registry.example/other:1'])).errors, '');
  assert.match(await node.text(routerPaths.manifest), /other:1/);
  const undone = await node.undo();
  assert.equal(undone.errors, '');
  assert.match(
    undone.output,
    new RegExp(`removed: kube-apiserver is ready on ${node.port} and nothing on ${node.routerPort}`),
  );
  assert.deepEqual(await node.files(), node.before);
  assert.deepEqual(node.started, [
    `kube-apiserver.yaml:${node.port}`,
    `mixed-version-proxy.yaml:${node.routerPort}`,
    `mixed-version-proxy.yaml:${node.routerPort}`,
  ]);
});

test('the second step takes the port over, with what was changed by hand meanwhile, and what fails of it goes back to the first', async (context) => {
  const node = await controlPlaneNode(context);
  await node.installBeside();
  const configuration = `${await node.text(routerPaths.configuration)}# by hand\n`;
  await node.write(routerPaths.configuration, configuration, 0o644);
  const beside = await node.files();
  node.unready.add(`mixed-version-proxy.yaml:${node.port}`);
  const failed = await node.run(['--take-port', impatient]);
  assert.match(failed.errors, /everything has been put back/);
  assert.deepEqual(await node.files(), beside);
  assert.deepEqual(node.started.slice(-2).sort(), [
    `kube-apiserver.yaml:${node.port}`,
    `mixed-version-proxy.yaml:${node.routerPort}`,
  ]);
  node.unready.clear();
  node.lateMirrors.add('mixed-version-proxy');
  assert.equal((await node.run(['--take-port'])).errors, '');
  assert.equal(
    await node.text(routerPaths.configuration),
    configuration.replace(`port: ${node.routerPort}`, `port: ${node.port}`),
  );
  assert.deepEqual(node.started.slice(-2), [
    `kube-apiserver.yaml:${node.otherPort}`,
    `mixed-version-proxy.yaml:${node.port}`,
  ]);
  // The router keeps the port that it took, named or not.
  assert.match((await node.run([])).output, /^nothing to do/);
  assert.match((await node.run(['--port=7443'])).errors, /this one takes port/);
  assert.match((await node.undo('--take-port')).errors, /--take-port has no use with --undo/);
  assert.equal((await node.undo()).errors, '');
  assert.deepEqual(await node.files(), node.before);
});

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
    /^# hunter2: kubeconfig user --client-name=mixed-version-proxy-reader .*\n# kind: Cluster/,
  );
  assert.equal((await stat(join(node.root, routerPaths.kubeconfig))).mode & 0o777, 0o600);
  assert.equal((await stat(join(node.root, dirname(routerPaths.journal)))).mode & 0o777, 0o700);
  const bindings = node.cluster.store.list({
    group: 'rbac.authorization.k8s.io',
    resource: 'clusterrolebindings',
  });
  assert.ok(JSON.stringify(bindings).includes('mixed-version-proxy-reader'));

  const undone = await node.undo();
  assert.equal(undone.errors, '');
  assert.match(undone.output, new RegExp(`removed: kube-apiserver is ready on ${node.port}`));
  assert.deepEqual(await node.files(), node.before);
  assert.equal(node.started.at(-1), `kube-apiserver.yaml:${node.port}`);
  assert.match((await node.undo()).output, /nothing to undo/);
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
    const change = `+++ ${kind} default/kubernetes\n-port: ${node.port}\n+port: ${node.otherPort}\n`;
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
  const { output, errors, warnings } = await node.install('--dry-run');
  assert.equal(errors, '');
  // On the port that the router takes kube-apiserver listens, which moves: nothing says that the port is in use.
  assert.equal(warnings, '');
  for (const path of [kubeApiServerManifest, ...Object.values(routerPaths)]) {
    if (path !== routerPaths.journal) assert.ok(output.includes(`+++ ${path}\n`), path);
  }
  assert.ok(output.includes(`-    - --secure-port=${node.port}\n+    - --secure-port=${node.otherPort}\n`));
  assert.match(output, /reader\.kubeconfig\n\(mode 600; it holds a private key/);
  for (const object of [
    'ClusterRole mixed-version-proxy-reader',
    'ClusterRoleBinding mixed-version-proxy-reader',
    'RoleBinding kube-system/mixed-version-proxy-reader',
  ]) {
    assert.ok(output.includes(`--- /dev/null\n+++ ${object}\n`), object);
  }
  assert.deepEqual(node.cluster.store.list(clusterRoles), []);
  assert.deepEqual(await node.files(), node.before);

  const made = await node.install();
  assert.deepEqual([made.errors, made.warnings], ['', '']);
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

test('repeated, it renews the certificate that it made once two thirds of its life are over', async (context) => {
  const made = join(await temporaryDirectory(context), 'made.kubeconfig');
  const node = await controlPlaneNode(context, { kubeadm: `cat ${made}` });
  const authority = await createAuthority('kubernetes');
  const day = 86_400_000;
  const make = async (age: number): Promise<string> => {
    const pair = await authority.issue({
      commonName: 'mixed-version-proxy-reader',
      usage: 'client',
      notBefore: new Date(Date.now() - age * day),
      notAfter: new Date(Date.now() + (365 - age) * day),
    });
    const user = {
      'client-certificate-data': Buffer.from(pair.certificate).toString('base64'),
      'client-key-data': Buffer.from(pair.privateKey).toString('base64'),
    };
    const config = {
      clusters: [{ name: 'a', cluster: { server: node.api.url } }],
      users: [{ name: 'a', user }],
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
      'current-context': 'a',
    };
    await writeFile(made, JSON.stringify(config));
    return JSON.stringify(config);
  };
  const old = await make(250);
  assert.equal((await node.install()).errors, '');
  assert.equal(await node.text(routerPaths.kubeconfig), old);
  const renewed = await make(200);
  const { errors, output } = await node.run([]);
  assert.equal(errors, '');
  assert.match(output, /^written: \S+reader\.kubeconfig\ninstalled: /);
  assert.equal(await node.text(routerPaths.kubeconfig), renewed);
  await make(0);
  assert.match((await node.run([])).output, /^nothing to do/);
  // Somebody's own is left alone.
  await node.write(routerPaths.kubeconfig, `${old}\n`);
  assert.match((await node.run([])).output, /^nothing to do/);
  assert.equal((await node.undo()).errors, '');
  assert.deepEqual(await node.files(), node.before);
});

test('repeated after kubeadm has upgraded without the patches, it moves kube-apiserver away from the router again', async (context) => {
  const node = await controlPlaneNode(context);
  const upgraded = (await node.text(kubeApiServerManifest)).replace(':v1.36.0', ':v1.37.0');
  await node.install();
  // As the node's own that ends leaves it: newer API servers take their identity Lease with them.
  node.cluster.store.remove(leases, 'kube-system', node.api.serverId);
  await node.write(kubeApiServerManifest, upgraded);
  assert.equal((await node.run(['--dry-run'])).errors, '');
  const { errors, output } = await node.run([]);
  assert.equal(errors, '');
  assert.match(output, /^written: \S+kube-apiserver\.yaml\nwaiting for kube-apiserver on \d+\n/);
  assert.equal(node.started.at(-1), `kube-apiserver.yaml:${node.otherPort}`);
  assert.equal((await node.undo()).errors, '');
  assert.deepEqual(await node.files(), { ...node.before, [kubeApiServerManifest]: `600\n${upgraded}` });
});

test('a router is not called replaced while the one before answers in its place, and that one stays', async (context) => {
  const node = await controlPlaneNode(context);
  await node.install();
  const installed = await node.files();
  node.kubelet.pause();
  const { errors } = await node.run(['--image=registry.example/other:1', impatient]);
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
  // The API tells nothing of the router that works, as while the kubelet cannot reach it.
  node.cluster.store.remove({ group: '', resource: 'pods' }, 'kube-system', 'mixed-version-proxy-cp-a');
  const { errors } = await node.run(['--image=registry.example/other:1', impatient]);
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

test('everything is put back when kube-apiserver does not become ready on its other port, or the router on its own', async (context) => {
  const node = await controlPlaneNode(context);
  const [apiServer, router] = [
    `kube-apiserver.yaml:${node.otherPort}`,
    `mixed-version-proxy.yaml:${node.port}`,
  ];
  for (const unready of [apiServer, router]) {
    node.unready.clear();
    node.unready.add(unready);
    const { errors } = await node.install(impatient);
    assert.match(errors, /\/readyz returned 500 \(waited 3 s\)\neverything has been put back/);
    assert.deepEqual(await node.files(), node.before);
    assert.deepEqual(node.cluster.store.list(clusterRoles), []);
    assert.equal(node.started.at(-1), `kube-apiserver.yaml:${node.port}`);
    assert.equal(node.started.includes(router), unready === router);
  }
});

test('a kubeconfig that was made elsewhere may be of a user without rights: they are given by the installation', async (context) => {
  const node = await controlPlaneNode(context);
  await node.write(routerPaths.kubeconfig, await readFile(await node.cluster.kubeconfig(node.api), 'utf8'));
  assert.equal((await node.install('--dry-run')).errors, '');
  assert.equal((await node.install()).errors, '');
  assert.equal((await node.run(['--image=registry.example/other:1'])).errors, '');
});

test('the way out needs no API: --undo puts everything back while no API server answers', async (context) => {
  const node = await controlPlaneNode(context);
  assert.equal((await node.install()).errors, '');
  await node.api.close();
  const { output, errors } = await node.undo();
  assert.equal(errors, '');
  assert.match(output, /the cluster cannot be asked .*; going on without it/);
  assert.match(output, new RegExp(`removed: kube-apiserver is ready on ${node.port}`));
  assert.deepEqual(await node.files(), node.before);
});

test('half an installation is finished by the next one, or taken back', async (context) => {
  // Wherever it was cut off: install-kubeadm-cut-off.slow.test.ts.
  await meetCutOffs(await controlPlaneNode(context), [5]);
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
  await node.kubelet.looked();
  await node.write(kubeApiServerManifest, upgraded);
  const { errors } = await node.undo();
  assert.equal(errors, '');
  const back = await node.text(kubeApiServerManifest);
  assert.ok(back.includes('kube-apiserver:v1.37.0'));
  assert.deepEqual(back.match(/--secure-port=\d+/g), [`--secure-port=${node.port}`]);
});
