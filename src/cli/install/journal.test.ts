import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Journal, parseJournal, planUndo, withChange } from './journal.ts';

const path = '/etc/kubernetes/patches/kube-apiserver.yaml';
const empty: Journal = { version: 1, port: 6443, routerPort: 6443, files: [] };
const changed = withChange(empty, { path, before: 'old', after: 'new', mode: 0o644 });

test('what was there before the first change is what is put back', () => {
  const again = withChange(changed, { path, before: 'new', after: 'newer', mode: 0o644 });
  const [undone] = planUndo(again, new Map([[path, 'newer']]));
  assert.deepEqual([undone?.before, undone?.after], ['newer', 'old']);
});

test('the last change is taken back first, and what was never made is passed over', () => {
  const two = withChange(changed, { path: '/made', before: undefined, after: 'x', mode: 0o600 });
  const paths = (files: Record<string, string>) =>
    planUndo(two, new Map(Object.entries(files))).map((change) => change.path);
  assert.deepEqual(paths({ [path]: 'new', '/made': 'x' }), ['/made', path]);
  assert.deepEqual(paths({ [path]: 'old' }), []);
});

test('what is changed once more is taken back in its first place', () => {
  const two = withChange(changed, { path: '/made', before: undefined, after: 'x', mode: 0o600 });
  const again = withChange(two, { path, before: 'old', after: 'newer', mode: 0o644 });
  const files = new Map([
    [path, 'newer'],
    ['/made', 'x'],
  ]);
  assert.deepEqual(
    planUndo(again, files).map((change) => change.path),
    ['/made', path],
  );
});

test('a file that was somebody’s before, and is somebody’s again, is not overwritten', () => {
  for (const files of [new Map([[path, 'mine']]), new Map<string, string>()]) {
    assert.throws(() => planUndo(changed, files), /has been changed since, or is gone: put it back by hand/);
  }
});

test('a journal comes back as it was written, and one of another version is refused', () => {
  assert.deepEqual(parseJournal(JSON.stringify(changed)), changed);
  for (const text of ['', '{"version":2}']) {
    assert.throws(() => parseJournal(text), /journal\.json is no journal of this version/);
  }
});
