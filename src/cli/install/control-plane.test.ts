import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installation } from '../../../test/support/doctor-installation.ts';
import { loadClusterAccess } from '../../sync/node/cluster-access.ts';
import { ControlPlane } from './control-plane.ts';
import { InstallationRefused } from './wait-until.ts';

test('a cluster that responds with something else than JSON is a refusal with its address', async (context) => {
  const { apiServer, path } = await installation(context, {
    server: () => ({ filter: (_request, response) => response.end('<html>Sign in</html>') }),
  });
  const access = await loadClusterAccess({ kubeconfig: path('sync.kubeconfig') });
  const controlPlane = new ControlPlane(access, '10.0.0.1');
  for (const ask of [() => controlPlane.clusterConfiguration(), () => controlPlane.takeTurn(1000)]) {
    await assert.rejects(ask, (error) => {
      assert.ok(error instanceof InstallationRefused, String(error));
      assert.match(error.message, new RegExp(`^${apiServer.url}/.* is not what it should be$`));
      return true;
    });
  }
});
