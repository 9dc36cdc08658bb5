import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
});

test('servers are probed every five seconds unless something else is asked for', async () => {
  const defaults = { interval: 5_000, timeout: 5_000, rise: 2, fall: 3, slowStart: 30_000 };
  assert.deepEqual((await check.config()).health, defaults);
  const given = await check.config({
    'health-check-interval': ['500ms'],
    'health-check-timeout': ['2s'],
    'health-check-rise': ['1'],
    'health-check-fall': ['5'],
    'slow-start-duration': ['0s'],
  });
  assert.deepEqual(given.health, { interval: 500, timeout: 2_000, rise: 1, fall: 5, slowStart: 0 });
});

test('an interval of zero turns probes off', async () => {
  assert.equal((await check.config({ 'health-check-interval': ['0s'] })).health, undefined);
});

test('values that would hammer the servers, or never decide, are errors, all at once', async () => {
  assert.deepEqual(
    await check.issues({
      'health-check-interval': ['1ms'],
      'health-check-timeout': ['0s'],
      'health-check-rise': ['0'],
      'health-check-fall': ['-1'],
      'slow-start-duration': ['soon'],
    }),
    [
      '--health-check-interval',
      '--health-check-timeout',
      '--health-check-rise',
      '--health-check-fall',
      '--slow-start-duration',
    ],
  );
});

test('with the feature gate off nothing is probed, and a flag for it is an error', async () => {
  const off = {
    'feature-gates': ['UnknownVersionInteroperabilityProxy=false'],
    'peer-ca-file': undefined,
    'local-server-ca-file': ['ca.crt'],
  } as const;
  assert.equal((await check.config(off)).health, undefined);
  assert.deepEqual(await check.issues({ ...off, 'health-check-rise': ['1'] }), ['--health-check-rise']);
});
