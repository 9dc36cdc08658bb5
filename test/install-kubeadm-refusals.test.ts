import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { leaseName, leaseObject } from '../src/cli/install/install-lease.ts';
import { kubeadmNode } from '../src/cli/install/kubeadm-node.ts';
import { routerPaths } from '../src/cli/install/router-files.ts';
import {
  clusterRoles,
  controlPlaneNode,
  image,
  nodeObject,
} from './support/installation/control-plane-node.ts';

test('it refuses, and changes nothing, where the other port is taken', async (context) => {
  const node = await controlPlaneNode(context);
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(node.otherPort, '127.0.0.1', resolve));
  context.after(() => other.close());
  for (const args of [['--dry-run'], []]) {
    const { errors } = await node.install(...args);
    assert.match(errors, /something listens on \d+ already: give another with --kube-apiserver-port/);
    const beside = await node.installBeside(`--port=${node.otherPort}`, ...args);
    assert.match(beside.errors, /something listens on \d+ already: give another with --port/);
  }
  assert.match((await node.installBeside(`--port=${node.port}`)).errors, /or that one with --take-port/);
  await node.write(
    routerPaths.configuration,
    await readFile(join(import.meta.dirname, '../deploy/static-pod/config.yaml'), 'utf8'),
  );
  assert.match((await node.installBeside()).errors, /has the router listen on 7443: set serving\.port/);
  await rm(join(node.root, 'etc/mixed-version-proxy'), { recursive: true });
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
  const { spec } = leaseObject('10.0.0.2_other', 600, new Date());
  const metadata = { name: leaseName, namespace: 'kube-system' };
  node.cluster.store.create(leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
  const refusal = /node 10\.0\.0\.2 holds Lease .*one node at a time/;
  assert.match((await node.install('--dry-run')).errors, refusal);
  /** As its holder does. */
  const whileRenewed = async (run: ReturnType<typeof node.install>) => {
    const renewing = setInterval(() => {
      const lease = node.cluster.store.get(leases, 'kube-system', leaseName);
      const renewed = leaseObject('10.0.0.2_other', 600, new Date());
      if (lease !== undefined) node.cluster.store.update(leases, { ...lease, spec: renewed.spec });
    }, 100);
    return run.finally(() => clearInterval(renewing));
  };
  assert.match((await whileRenewed(node.install())).errors, refusal);
  assert.deepEqual(await node.files(), node.before);
  node.cluster.store.remove(leases, 'kube-system', leaseName);
  assert.equal((await node.install()).errors, '');
  assert.ok(!JSON.stringify(node.cluster.store.list(leases)).includes(leaseName));
  node.cluster.store.create(leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
  const installed = await node.files();
  assert.match((await whileRenewed(node.undo())).errors, refusal);
  assert.deepEqual(await node.files(), installed);
});

test('it refuses, and changes nothing, where the key of the CA is missing, and tells the other way', async (context) => {
  const kubeadm = 'printf "W0101 00:00:00.000000 warned\\nfailed to load CA key\\nTo see" >&2; exit 1';
  const node = await controlPlaneNode(context, { kubeadm });
  const { errors } = await node.install();
  assert.match(errors, /kubeadm cannot make a client certificate: failed to load CA key\. .*reader\.kube/);
  assert.deepEqual(await node.files(), node.before);
  const madeElsewhere = await readFile(await node.cluster.kubeconfig(node.api), 'utf8');
  await node.write(routerPaths.kubeconfig, madeElsewhere);
  assert.equal((await node.install()).errors, '');
  await node.undo();
  assert.equal(await node.text(routerPaths.kubeconfig), madeElsewhere);
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
});
