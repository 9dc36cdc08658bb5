import { type TestContext, test } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { exampleCluster } from '../../../test/support/example-cluster.ts';
import { loadClusterAccess } from '../../node/credentials/cluster-access.ts';
import { ApiClient } from './api-client.ts';
import { openCluster } from './run-sync.ts';

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
  const source = openCluster(client, { servers, timing: { watchBackOff: soon } }, access);
  source.look(() => true);
  isRotated = true;
  running(context, (signal) => source.run(signal));
  await eventually(() => source.look(() => true).objects.apiServices !== undefined);
});
