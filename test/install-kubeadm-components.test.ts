import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeComponents } from '../src/cli/install/node-components.ts';
import { controlPlaneNode, impatient } from './support/installation/control-plane-node.ts';
import { componentKubeconfig, componentManifest } from './support/installation/kubeadm-layout.ts';

const [controllerManager, scheduler] = nodeComponents;

test('the controller manager and the scheduler of the node come through the router, one after the other, and go back before it goes', async (context) => {
  const node = await controlPlaneNode(context, { components: true });
  await node.installBeside();
  const beside = await node.files();
  const dryRun = await node.run(['--components', '--dry-run']);
  assert.equal(dryRun.errors, '');
  assert.match(dryRun.output, /^# step components\n--- \/etc\/kubernetes\/controller-manager\.conf/);
  assert.ok(!dryRun.output.includes('hunter2') && !dryRun.output.includes('aHVudGVyMg'), dryRun.output);
  assert.deepEqual(await node.files(), beside);
  const { errors } = await node.run(['--components']);
  assert.equal(errors, '');
  for (const { name, kubeconfig, manifest } of nodeComponents) {
    assert.equal(await node.text(kubeconfig), componentKubeconfig(name, node.routerPort));
    assert.match(await node.text(manifest), new RegExp(`api-port: "${node.routerPort}"`));
  }
  assert.deepEqual(node.started.slice(-2), ['kube-controller-manager.yaml', 'kube-scheduler.yaml']);
  // Those that come through the router go on, named or not.
  assert.match((await node.run([])).output, /^nothing to do/);
  const { errors: left, output } = await node.undo();
  assert.equal(left, '');
  assert.ok(output.indexOf(scheduler.manifest) < output.indexOf('mixed-version-proxy.yaml'), output);
  assert.deepEqual(await node.files(), node.before);
});

test('where the router takes the port that clients know, components go with it', async (context) => {
  const node = await controlPlaneNode(context, { components: true });
  assert.equal((await node.installBeside('--components')).errors, '');
  assert.equal((await node.run(['--take-port'])).errors, '');
  for (const { name, kubeconfig } of nodeComponents) {
    assert.equal(await node.text(kubeconfig), componentKubeconfig(name, node.port));
  }
  assert.equal((await node.undo()).errors, '');
  assert.deepEqual(await node.files(), node.before);
});

test('an upgrade writes manifests anew and a renewal kubeconfigs: both stay, and undo leads back to kube-apiserver', async (context) => {
  const node = await controlPlaneNode(context, { components: true });
  await node.installBeside('--components');
  const [manifest, renewed] = [componentManifest(scheduler.name, '1.37.0'), 'cmVuZXdlZA=='];
  await node.write(scheduler.manifest, manifest);
  const { name, kubeconfig } = controllerManager;
  await node.write(kubeconfig, componentKubeconfig(name, node.routerPort, renewed));
  // A run that was cut off between kubeconfig and start looks the same, so the component is started anew.
  assert.match((await node.run([])).output, /waiting for kube-scheduler/);
  assert.equal((await node.undo()).errors, '');
  assert.equal(await node.text(kubeconfig), componentKubeconfig(name, node.port, renewed));
  assert.equal(await node.text(scheduler.manifest), manifest);
  assert.equal(await node.text(controllerManager.manifest), componentManifest(name));
});

test('a component of which the kubelet says nothing goes back to kube-apiserver, and the router stays', async (context) => {
  const node = await controlPlaneNode(context, { components: true });
  await node.installBeside();
  const beside = await node.files();
  node.lateMirrors.add(scheduler.name);
  const { errors } = await node.run(['--components', impatient]);
  assert.match(errors, /taken up the manifest of kube-scheduler.*\neverything has been put back/s);
  assert.deepEqual(await node.files(), beside);
});

test('a component that goes by a load balancer is left alone, and so is a kubeconfig that is not as kubeadm writes it', async (context) => {
  const node = await controlPlaneNode(context, { components: true });
  await node.installBeside();
  for (const [server, told] of [
    ['https://api.example.com:6443', 'leads to api.example.com, not to this node'],
    ['http://127.0.0.1:6443', 'does not lead to one server by https'],
    ['https://127.0.0.1', 'does not lead to one server by https with a port'],
  ] as const) {
    const text = componentKubeconfig(scheduler.name, node.port);
    await node.write(scheduler.kubeconfig, text.replace(/https:\S+/, server));
    const before = await node.files();
    const { errors } = await node.run(['--components']);
    assert.ok(errors.includes(`${scheduler.kubeconfig} ${told}`), errors);
    assert.deepEqual(await node.files(), before);
  }
});

test('a node without them is refused, and nothing is changed', async (context) => {
  const node = await controlPlaneNode(context);
  const { errors } = await node.installBeside('--components');
  assert.match(errors, /^\/etc\/kubernetes\/controller-manager\.conf is not there: leave --components out/);
  assert.deepEqual(await node.files(), node.before);
});
