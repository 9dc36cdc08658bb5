import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ServerOptions, snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { statusOf } from '../../../test/support/snapshots/status-view.ts';

function compared(servers: Readonly<Record<string, ServerOptions>>) {
  const { served } = statusOf(snapshotOf(servers));
  assert.ok(served !== null);
  return served;
}

describe('what servers serve, compared', () => {
  it('has one column for servers of one version that serve the same, the oldest version first', () => {
    const [old, young] = [['v1/pods'], ['v1/pods', 'batch/v1/jobs']];
    const { columns } = compared({
      d: { serves: young, version: 'v1.36.0' },
      c: { serves: old, version: 'v1.9.0' },
      b: { serves: young, version: 'v1.36.0' },
      a: { serves: young, version: 'v1.35.0' },
      e: { serves: young },
    });
    assert.deepEqual(
      columns.map(({ version, servers }) => [version, servers]),
      [
        [null, ['e']],
        ['v1.9.0', ['c']],
        ['v1.35.0', ['a']],
        ['v1.36.0', ['b', 'd']],
      ],
    );
  });

  it('puts apart what differs from what all serve, version by version', () => {
    const { differing } = compared({
      a: { serves: ['v1/pods', 'batch/v1beta1/cronjobs', 'batch/v1/cronjobs'], version: 'v1.24.0' },
      b: { serves: ['v1/pods', 'batch/v1/cronjobs', 'lost.io/v1/things'], version: 'v1.25.0' },
    });
    assert.deepEqual(differing, [
      {
        group: 'batch',
        rows: [{ version: 'v1beta1', resource: 'cronjobs', subresource: '', cells: ['served', 'missing'] }],
      },
      {
        group: 'lost.io',
        rows: [{ version: 'v1', resource: 'things', subresource: '', cells: ['missing', 'served'] }],
      },
    ]);
  });

  it('names a subresource that a server lacks, and says where subresources are not known', () => {
    const { differing } = compared({
      a: { serves: ['v1/pods'], knowsSubresources: true, version: 'v1.1.0' },
      b: { serves: ['v1/pods', 'v1/pods/resize'], version: 'v1.2.0' },
      c: { serves: ['v1/pods'], version: 'v1.3.0' },
    });
    assert.deepEqual(differing, [
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
    const { differing } = compared({
      a: { serves: ['v1/pods', 'v1/pods/log'], version: 'v1.1.0' },
      b: { serves: ['v1/pods'], version: 'v1.2.0' },
    });
    assert.deepEqual(differing, []);
  });

  it('lists no subresources of a resource that is missing as a whole', () => {
    const { differing } = compared({
      a: { serves: ['v1/pods', 'v1/pods/log'], version: 'v1.1.0' },
      b: { serves: ['v1/pods', 'v1/pods/log', 'apps/v1/deployments', 'apps/v1/deployments/scale'] },
    });
    assert.deepEqual(
      differing.flatMap(({ rows }) => rows.map(({ resource, subresource }) => resource + subresource)),
      ['deployments'],
    );
  });

  it('knows a resource called like a property of every object', () => {
    const { differing } = compared({
      a: { serves: ['v1/pods', 'x.io/v1/constructor'], version: 'v1.1.0' },
      b: { serves: ['v1/pods', 'v1/pods/constructor'], version: 'v1.2.0' },
    });
    assert.deepEqual(
      differing.map(({ group }) => group),
      ['x.io'],
    );
  });
});
