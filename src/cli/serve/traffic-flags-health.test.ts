import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
});

test('servers are probed every five seconds unless something else is asked for', async () => {
  assert.deepEqual((await check.config()).health, { interval: 5_000 });
  const given = await check.config({ 'health-check-interval': ['500ms'] });
  assert.deepEqual(given.health, { interval: 500 });
});

test('an interval of zero turns probes off', async () => {
  assert.equal((await check.config({ 'health-check-interval': ['0s'] })).health, undefined);
});

test('an interval that would hammer the servers is an error', async () => {
  assert.deepEqual(await check.issues({ 'health-check-interval': ['1ms'] }), ['--health-check-interval']);
});

test('with the feature gate off nothing is probed, and a flag for it is an error', async () => {
  const off = {
    'feature-gates': ['UnknownVersionInteroperabilityProxy=false'],
    'peer-ca-file': undefined,
    'local-server-ca-file': ['ca.crt'],
  } as const;
  assert.equal((await check.config(off)).health, undefined);
  assert.deepEqual(await check.issues({ ...off, 'health-check-interval': ['1s'] }), [
    '--health-check-interval',
  ]);
});
