import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setEndpoints } from '../../../test/support/api-servers/kubernetes-endpoints.ts';
import { createAuthority } from '../../../test/support/certificates.ts';
import { exampleCluster } from '../../../test/support/clusters/example-cluster.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { listenOnLoopback } from '../../../test/support/listen-on-loopback.ts';
import { loadClusterAccess } from '../../node/credentials/cluster-access.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { ApiClient } from './api-client.ts';
import { openCluster } from './open-cluster.ts';

const soon = { initialMilliseconds: 5, maximumMilliseconds: 20 };

/** Runs until the test is over. */
function running(context: TestContext, run: (signal: AbortSignal) => Promise<void> | undefined): void {
  const controller = new AbortController();
  const ended = run(controller.signal);
  context.after(() => {
    controller.abort();
    return ended;
  });
}

test('the certificate authorities of a kubeconfig count for other servers, too, after they were rotated', async (context) => {
  const cluster = await exampleCluster(context);
  const { port, serverId } = await cluster.start('cp-a', '1.36');
  const stranger = await createAuthority('before the rotation');
  const access = await loadClusterAccess({ kubeconfig: await cluster.kubeconfig('https://127.0.0.1:1') });
  let isRotated = false;
  const client = new ApiClient({
    async credentials() {
      const credentials = await access.credentials();
      return isRotated ? credentials : { ...credentials, certificateAuthorities: stranger.certificate };
    },
  });
  context.after(() => client.close());
  const servers = [{ id: serverId, address: `127.0.0.1:${port}` }];
  const source = openCluster(
    client,
    { servers, peers: { allowLoopback: true }, timing: { watchBackOff: soon } },
    access,
  );
  source.look(new Map());
  isRotated = true;
  running(context, (signal) => source.run(signal));
  await eventually(() => source.look(new Map()).objects.apiServices !== undefined);
});

test('nothing is dialled that the address policy refuses, whatever Leases and EndpointSlices name', async (context) => {
  const cluster = await exampleCluster(context);
  const { port, serverId, url } = await cluster.start('cp-a', '1.36');
  let connections = 0;
  const trap = createServer(() => connections++);
  const { port: trapPort, stop } = await listenOnLoopback(trap);
  context.after(stop);
  const lease = (name: string, address: string) => ({
    metadata: {
      name,
      namespace: 'kube-system',
      labels: { 'apiserver.kubernetes.io/identity': 'kube-apiserver' },
      annotations: { 'kubernetes.io/peer-advertise-address': address },
    },
    spec: { holderIdentity: name, leaseDurationSeconds: 3600, renewTime: new Date().toISOString() },
  });
  const leases = { group: 'coordination.k8s.io', resource: 'leases' };
  for (const [name, address] of [
    ['kube-apiserver-loopback', `127.0.0.1:${trapPort}`],
    ['kube-apiserver-metadata', 'metadata.google.internal:80'],
    ['kube-apiserver-nonsense', ':6443'],
  ] as const) {
    cluster.store.create(leases, lease(name, address));
  }
  setEndpoints(cluster.store, [{ address: '127.0.0.1', port: trapPort }]);
  const access = await loadClusterAccess({ kubeconfig: await cluster.kubeconfig(url) });
  const client = new ApiClient(access);
  context.after(() => client.close());
  const servers = [{ id: serverId, address: `127.0.0.1:${port}` }];
  const source = openCluster(client, { servers, timing: { watchBackOff: soon } }, access);
  const { signal } = new AbortController();
  running(context, (ended) => source.run(ended));
  await source.ready(signal);
  const { refused, servers: found, warnings } = source.look(new Map());
  assert.deepEqual(refused.map(({ id, address }) => [id, address]).sort(), [
    [`endpoint-127-0-0-1-${trapPort}`, `127.0.0.1:${trapPort}`],
    ['kube-apiserver-loopback', `127.0.0.1:${trapPort}`],
    ['kube-apiserver-metadata', 'metadata.google.internal:80'],
    ['kube-apiserver-nonsense', ':6443'],
  ]);
  for (const { address } of refused) assert.ok(warnings.some((warning) => warning.includes(`"${address}"`)));
  // The server that the operator has listed is read where it is.
  const documentsOf = (wanted: string) => found.find(({ id }) => id === wanted)?.documents;
  assert.equal((await documentsOf(serverId)?.get('/version', '*/*', signal))?.status, 200);
  // Holders of a Lease are servers all the same, to which nobody can send anything.
  for (const name of ['loopback', 'metadata', 'nonsense']) {
    const documents = documentsOf(`kube-apiserver-${name}`) ?? assert.fail(name);
    await assert.rejects(documents.get('/version', '*/*', signal), /its address is not known/);
  }
  assert.equal(found.length, 4);
  // A name is judged by what it resolves to, when it is dialled.
  const named = client.documentsAt({
    origin: `https://localhost:${trapPort}`,
    addressPolicy: createAddressPolicy(),
  });
  await assert.rejects(named.get('/version', '*/*', signal), /no address of the name may be dialled/);
  assert.equal(connections, 0);
});
