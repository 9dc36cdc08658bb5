import assert from 'node:assert/strict';
import { readdir, readFile, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { backupPrefix } from '../src/cli/install/kubeadm-node.ts';
import { routerPaths } from '../src/cli/install/router-files.ts';
import { controlPlaneNode, image, impatient } from './support/installation/control-plane-node.ts';

const bindings = { group: 'rbac.authorization.k8s.io', resource: 'clusterrolebindings' };
const name = 'mixed-version-proxy-reader';

test('a router that is not ready, and another image that does not start either: only what this run did goes back', async (context) => {
  const node = await controlPlaneNode(context);
  assert.equal((await node.installBeside()).errors, '');
  const tuned = `${await node.text(routerPaths.configuration)}# tuned by the operator\n`;
  await node.write(routerPaths.configuration, tuned, 0o644);
  const installed = await node.files();
  node.unready.add(`mixed-version-proxy.yaml:${node.routerPort}`);
  const { errors } = await node.run(['--image=registry.example/other:1', impatient]);
  assert.match(errors, /everything has been put back$/);
  assert.deepEqual(await node.files(), installed);
  node.unready.clear();
  assert.equal((await node.run(['--image=registry.example/other:2'])).errors, '');
  assert.equal(await node.text(routerPaths.configuration), tuned);
});

test('what is replaced or removed stays as a copy under the time of its run', async (context) => {
  const node = await controlPlaneNode(context);
  await node.installBeside();
  const tuned = `${await node.text(routerPaths.configuration)}# tuned by the operator\n`;
  await node.write(routerPaths.configuration, tuned, 0o644);
  assert.match((await node.undo()).output, /Copies: \/var\/lib\/mixed-version-proxy-install\/backup-/);
  const state = join(node.root, backupPrefix, '..');
  const runs = (await readdir(state)).filter((each) => each.startsWith('backup-'));
  assert.equal(runs.length, 1);
  assert.equal(await readFile(join(state, runs[0] ?? '', routerPaths.configuration), 'utf8'), tuned);
});

test('a file that is a link is written where it leads', async (context) => {
  const node = await controlPlaneNode(context);
  await node.installBeside();
  const managed = '/srv/managed/config.yaml';
  const link = join(node.root, routerPaths.configuration);
  await node.write(managed, await node.text(routerPaths.configuration), 0o644);
  await node.node.write({ path: routerPaths.configuration, after: undefined, mode: 0o644 });
  await symlink(join(node.root, managed), link);
  assert.equal((await node.run(['--take-port'])).errors, '');
  assert.equal(await readlink(link), join(node.root, managed));
  assert.match(await node.text(managed), new RegExp(`port: ${node.port}`));
});

test('of two runs on one node one is refused, and the other one is not disturbed', async (context) => {
  const node = await controlPlaneNode(context);
  const runs = await Promise.all([node.installBeside(), node.installBeside(), node.undo()]);
  const refused = runs.filter(({ errors }) => errors !== '');
  assert.equal(refused.length, 2);
  for (const { errors } of refused) assert.match(errors, /^another install kubeadm runs on this node/);
  assert.match((await node.run([])).output, /^nothing to do: the router is installed, and ready/);
});

test('rights of others under the same name stay theirs: own subjects are added, and only those are taken back', async (context) => {
  const node = await controlPlaneNode(context);
  const { store } = node.cluster;
  const others = { kind: 'ServiceAccount', name: 'gateway', namespace: 'router-system' };
  const metadata = { name, labels: { 'app.kubernetes.io/managed-by': 'Helm' } };
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  store.create(bindings, { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects: [others] });
  const binding = () =>
    JSON.parse(JSON.stringify(store.list(bindings).find((each) => each.metadata?.name === name)));
  assert.equal((await node.installBeside()).errors, '');
  assert.deepEqual(
    binding().subjects.map((each: { name: string }) => each.name),
    ['gateway', name],
  );
  assert.equal(binding().metadata.labels['app.kubernetes.io/managed-by'], 'Helm');
  assert.match((await node.undo()).output, /The rights of the routers' user are taken back/);
  assert.deepEqual(binding().subjects, [others]);
  const monitors = store.list(bindings).map((each) => each.metadata?.name);
  assert.deepEqual(monitors, [name], 'what the installation made itself is gone');
});

test('steps have names: a dry run lists them, and one can be run alone or left out', async (context) => {
  const node = await controlPlaneNode(context);
  const { output } = await node.install('--dry-run');
  assert.deepEqual(output.match(/(?<=^# step ).*$/gm), [
    'rights',
    'kubeconfig',
    'configuration',
    'kubeadm-patches',
    'kube-apiserver',
    'router',
  ]);
  assert.match((await node.run(['--only-step=nonsense'])).errors, /--only-step/);
  assert.equal((await node.installBeside('--only-step=rights,configuration')).errors, '');
  assert.deepEqual(
    Object.keys(await node.files()).filter((path) => !(path in node.before)),
    [routerPaths.configuration, routerPaths.journal],
  );
  assert.equal((await node.installBeside('--skip-step=rights')).errors, '');
  assert.equal((await node.undo()).errors, '');
  assert.deepEqual(await node.files(), node.before);
  assert.equal((await node.run([`--image=${image}`, '--undo'])).errors !== '', true);
});
