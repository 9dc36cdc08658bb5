import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listedServer, statusView } from '../../../test/support/snapshots/status-view.ts';
import { parseRouterStatus } from './status-schema.ts';

test('what a router of a newer release says besides is kept, at every depth', () => {
  const server = { ...listedServer(), zone: 'a', health: { ...listedServer().health, probes: [1, 2] } };
  const said = { ...statusView('cp-a'), servers: [server], colour: { deep: true } };
  assert.deepEqual(parseRouterStatus(JSON.stringify(said)), said);
});

test('a name that reaches into prototypes is not kept', () => {
  const text = JSON.stringify(statusView('cp-a')).replace('{', '{"__proto__":{"polluted":true},');
  const parsed = parseRouterStatus(text);
  assert.deepEqual(parsed, statusView('cp-a'));
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});

test('what is no status is told from one', () => {
  for (const text of ['', 'null', '[]', '{}', JSON.stringify({ ...statusView('cp-a'), servers: 'none' })]) {
    assert.equal(parseRouterStatus(text), undefined, text);
  }
});
