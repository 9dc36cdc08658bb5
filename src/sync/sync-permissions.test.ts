import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { permissionsOf } from '../../test/support/rbac.ts';
import { syncPermissions } from './sync-permissions.ts';

test('the permissions of the sync job are those of deploy/sync/rbac.yaml', () => {
  const manifest = readFileSync(resolve(import.meta.dirname, '../../deploy/sync/rbac.yaml'), 'utf8');
  const listed = syncPermissions.flatMap((permission) =>
    permission.verbs.flatMap((verb) => {
      if (permission.kind === 'path') return permission.paths.map((path) => `${verb} ${path}`);
      const { group, resource, name, namespace } = permission;
      const what = [verb, `${group}/${resource}`, ...(name === undefined ? [] : [name])].join(' ');
      return [`${what} in ${namespace ?? 'all namespaces'}`];
    }),
  );
  assert.deepEqual(
    listed.sort(),
    permissionsOf(manifest)
      .map(({ name }) => name)
      .sort(),
  );
});
