import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { syncPermissions } from '../../sync/sync-permissions.ts';
import { grantCommands } from './sync-rights-findings.ts';

function commandsFor(resource: string, user: string | undefined): readonly string[] {
  const permission =
    syncPermissions.find((known) => known.kind === 'resource' && known.resource === resource) ??
    assert.fail(resource);
  return grantCommands(permission, user);
}

describe('the commands that give the sync job a right', () => {
  it('make a role for the whole cluster, or for the namespace in question', () => {
    assert.deepEqual(commandsFor('apiservices', 'sync-job'), [
      'kubectl create clusterrole mixed-version-proxy-sync-apiservices --verb=list,watch --resource=apiservices.apiregistration.k8s.io',
      'kubectl create clusterrolebinding mixed-version-proxy-sync-apiservices --clusterrole=mixed-version-proxy-sync-apiservices --user=sync-job',
    ]);
    assert.deepEqual(commandsFor('endpointslices', 'sync-job'), [
      'kubectl create role mixed-version-proxy-sync-endpointslices -n default --verb=list,watch --resource=endpointslices.discovery.k8s.io',
      'kubectl create rolebinding mixed-version-proxy-sync-endpointslices -n default --role=mixed-version-proxy-sync-endpointslices --user=sync-job',
    ]);
  });

  it('name a service account as one, and quote what a shell would read', () => {
    const [, bound] = commandsFor(
      'apiservices',
      'system:serviceaccount:kube-system:mixed-version-proxy-sync',
    );
    assert.match(bound ?? '', / --serviceaccount=kube-system:mixed-version-proxy-sync$/);
    const [, quoted] = commandsFor('apiservices', "it's; $(me)");
    assert.match(quoted ?? '', / '--user=it'\\''s; \$\(me\)'$/);
    const paths = syncPermissions.find(({ kind }) => kind === 'path') ?? assert.fail();
    assert.match(
      grantCommands(paths, 'sync-job')[0] ?? '',
      / --non-resource-url=\/api '--non-resource-url=\/api\/\*' /,
    );
    assert.match(commandsFor('apiservices', undefined)[1] ?? '', / --user=USER$/);
  });

  it('make no two roles of one name and kind in one place', () => {
    const roles = syncPermissions.map(
      (permission) =>
        /^kubectl create \w+ \S+(?: -n \S+)?/.exec(grantCommands(permission, 'x')[0] ?? '')?.[0],
    );
    assert.equal(new Set(roles).size, syncPermissions.length, roles.join('\n'));
  });
});
