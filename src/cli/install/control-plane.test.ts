import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installation } from '../../../test/support/installation/doctor-installation.ts';
import { loadClusterAccess } from '../../node/credentials/cluster-access.ts';
import { ControlPlane } from './control-plane.ts';
import { InstallationRefused } from './kubeadm-node.ts';

test('a cluster that responds with something else than JSON is a refusal with its address', async (context) => {
  const { apiServer, path } = await installation(context, {
    server: () => ({ filter: (_request, response) => response.end('<html>Sign in</html>') }),
  });
  const access = await loadClusterAccess({ kubeconfig: path('reader.kubeconfig') });
  const controlPlane = new ControlPlane(access, '10.0.0.1');
  for (const ask of [() => controlPlane.clusterConfiguration()]) {
    await assert.rejects(ask, (error) => {
      assert.ok(error instanceof InstallationRefused, String(error));
      assert.match(
        error.message,
        new RegExp(`^GET ${apiServer.url}/.* returned something else than it should, at its start$`),
      );
      return true;
    });
  }
});

test('a cluster that refuses is a refusal in its words: they name the user and the right that is missing', async (context) => {
  const message = 'nodes is forbidden: User "kubernetes-admin" cannot list resource "nodes"';
  const { path } = await installation(context, {
    server: () => ({
      filter: (_request, response) => {
        response.writeHead(403, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ kind: 'Status', code: 403, message }));
      },
    }),
  });
  const access = await loadClusterAccess({ kubeconfig: path('reader.kubeconfig') });
  await assert.rejects(new ControlPlane(access, '10.0.0.1').clusterConfiguration(), (error) => {
    assert.ok(error instanceof InstallationRefused, String(error));
    assert.ok(error.message.endsWith(` returned 403: ${message}`), error.message);
    return true;
  });
});
