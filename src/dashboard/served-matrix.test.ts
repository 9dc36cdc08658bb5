import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ServerOptions, snapshotOf } from '../../test/support/snapshot-builder.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import { clusterView } from './cluster-view.ts';

function view(servers: Readonly<Record<string, ServerOptions>>) {
  return clusterView(buildRoutingTable(snapshotOf(servers)));
}

describe('the view of a cluster', () => {
  it('has one column for servers of one version that serve the same, the oldest version first', () => {
    const [old, young] = [['v1/pods'], ['v1/pods', 'batch/v1/jobs']];
    const { columns, upgrade } = view({
      d: { serves: young, version: 'v1.36.0' },
      c: { serves: old, version: 'v1.9.0' },
      b: { serves: young, version: 'v1.36.0' },
      a: { serves: young, version: 'v1.35.0' },
      e: { serves: young },
    });
    assert.deepEqual(
      columns.map(({ version, servers }) => [version, servers.map(({ id }) => id)]),
      [
        [undefined, ['e']],
        ['v1.9.0', ['c']],
        ['v1.35.0', ['a']],
        ['v1.36.0', ['b', 'd']],
      ],
    );
    assert.deepEqual(upgrade, {
      state: 'mixed',
      servers: 5,
      departed: 0,
      shares: [
        { version: undefined, servers: 1 },
        { version: 'v1.9.0', servers: 1 },
        { version: 'v1.35.0', servers: 1 },
        { version: 'v1.36.0', servers: 2 },
      ],
    });
  });

  it('puts apart what differs from what all serve, version by version', () => {
    const { matrix } = view({
      a: { serves: ['v1/pods', 'batch/v1beta1/cronjobs', 'batch/v1/cronjobs'], version: 'v1.24.0' },
      b: { serves: ['v1/pods', 'batch/v1/cronjobs', 'lost.io/v1/things'], version: 'v1.25.0' },
    });
    assert.deepEqual(matrix.differing, [
      {
        group: 'batch',
        rows: [{ version: 'v1beta1', resource: 'cronjobs', subresource: '', cells: ['served', 'missing'] }],
      },
      {
        group: 'lost.io',
        rows: [{ version: 'v1', resource: 'things', subresource: '', cells: ['missing', 'served'] }],
      },
    ]);
    assert.equal(matrix.differingRows, 2);
  });

  it('names a subresource that a server lacks, and says where subresources are not known', () => {
    const { matrix } = view({
      a: { serves: ['v1/pods'], knowsSubresources: true, version: 'v1.1.0' },
      b: { serves: ['v1/pods', 'v1/pods/resize'], version: 'v1.2.0' },
      c: { serves: ['v1/pods'], version: 'v1.3.0' },
    });
    assert.deepEqual(matrix.differing, [
      {
        group: '',
        rows: [
          {
            version: 'v1',
            resource: 'pods',
            subresource: 'resize',
            cells: ['missing', 'served', 'unknown'],
          },
        ],
      },
    ]);
  });

  it('does not take a subresource for different where only unknown subresources stand against it', () => {
    const { matrix } = view({
      a: { serves: ['v1/pods', 'v1/pods/log'], version: 'v1.1.0' },
      b: { serves: ['v1/pods'], version: 'v1.2.0' },
    });
    assert.equal(matrix.differingRows, 0);
  });

  it('lists no subresources of a resource that is missing as a whole', () => {
    const { matrix } = view({
      a: { serves: ['v1/pods', 'v1/pods/log'], version: 'v1.1.0' },
      b: { serves: ['v1/pods', 'v1/pods/log', 'apps/v1/deployments', 'apps/v1/deployments/scale'] },
    });
    assert.deepEqual(
      matrix.differing.flatMap(({ rows }) => rows.map(({ resource, subresource }) => resource + subresource)),
      ['deployments'],
    );
  });

  it('knows a resource called like a property of every object', () => {
    const { matrix } = view({
      a: { serves: ['v1/pods', 'x.io/v1/constructor'], version: 'v1.1.0' },
      b: { serves: ['v1/pods', 'v1/pods/constructor'], version: 'v1.2.0' },
    });
    assert.deepEqual(
      matrix.differing.map(({ group }) => group),
      ['x.io'],
    );
  });

  it('tells one version that serves different things from an upgrade, and both from a cluster at rest', () => {
    const version = 'v1.30.0';
    assert.equal(
      view({ a: { serves: ['v1/pods'], version }, b: { serves: ['v1/nodes'], version } }).upgrade.state,
      'differing',
    );
    assert.equal(
      view({ a: { serves: ['v1/pods'], version }, b: { serves: ['v1/pods'], version } }).upgrade.state,
      'uniform',
    );
    assert.equal(clusterView(undefined).upgrade.servers, 0);
  });
});
