import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRouterUnderTest } from '../../test/support/security/router-under-test.ts';
import { snapshotOf } from '../../test/support/snapshot-builder.ts';

test('a wrong --server-id is noticed as soon as there is a snapshot', async (context) => {
  const { logLines, push } = await startRouterUnderTest(context, {
    snapshot: () => snapshotOf({ 'cp-a': ['v1/pods'], 'cp-b': ['v1/pods'] }),
  });
  // Each line is kept in two forms.
  const warnings = (): string[] =>
    logLines.filter((line) => line.startsWith('{"level"') && line.includes('--server-id'));
  assert.equal(warnings().length, 1);
  assert.match(warnings()[0] ?? '', /cp-a.*cp-b/);
  assert.equal((await push(snapshotOf({ local: ['v1/pods'] }, { generation: 2 }))).status, 200);
  assert.equal(warnings().length, 1);
});
