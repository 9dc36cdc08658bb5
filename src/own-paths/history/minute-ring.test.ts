import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MinuteRing } from './minute-ring.ts';

test('servers beyond those that are told apart are counted together, and as none of the others', () => {
  const ring = new MinuteRing();
  for (let round = 0; round < 2; round++) {
    for (let server = 0; server < 140; server++) ring.responded(0, `server-${server}`, () => 'v1.36.0', 200);
  }
  const [minute] = ring.kept(0);
  const requests = new Map(minute?.servers.map(({ id, requests: count }) => [id, count]));
  assert.equal(requests.size, 129);
  assert.equal(requests.get('server-127'), 2, 'its own alone');
  assert.equal(requests.get('further servers'), 24);
});
