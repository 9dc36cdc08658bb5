import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';
import type { ServeConfig } from '../serve-config.ts';
import { shareOfLimits } from './share-of-limits.ts';
import { sharedConfigurationSource } from './shared-configuration-source.ts';

const place = { number: 2, of: 3 };
let config: ServeConfig;

before(async () => {
  config = await new ServeOptionsCheck(await serveFiles()).config({
    processes: ['3'],
    'max-requests-inflight': ['100'],
    'max-mutating-requests-inflight': ['0'],
    'max-long-running-requests': ['1'],
    'max-connections': ['1000'],
    'http1-read-connections': ['64'],
  });
});

test('each process gets its share of a limit, rounded up; no limit stays none', () => {
  const { limits, performance, processes } = shareOfLimits(config, place);
  assert.deepEqual(limits.requestsInFlight, { readOnly: 34, mutating: 0, longRunning: 1 });
  assert.equal(limits.maxConnections, 334);
  assert.equal(performance.http1ReadConnections, 22);
  assert.deepEqual(processes, { count: 3, number: 2 });
});

test('the limit of connections that the open files of each process set is not shared out', () => {
  const open = { ...config, limits: { ...config.limits, maxConnections: undefined } };
  assert.equal(shareOfLimits(open, place).limits.maxConnections, undefined);
});

test('a configuration that is read again while the router runs is shared out like the first', async () => {
  const source = sharedConfigurationSource(
    {
      path: 'router.yaml',
      text: 'old',
      read: async (text) => ({ config, changed: [], needsRestart: [], warnings: [text] }),
    },
    place,
  );
  const reading = await source?.read('new', {});
  assert.deepEqual(reading?.warnings, ['new']);
  assert.deepEqual(reading?.config, shareOfLimits(config, place));
});

test('a reading of which nothing can count yet stays one', async () => {
  const source = sharedConfigurationSource(
    {
      path: 'router.yaml',
      text: 'old',
      read: async () => ({ config: undefined, changed: [], needsRestart: [], warnings: [] }),
    },
    place,
  );
  assert.equal((await source?.read('new', {}))?.config, undefined);
  assert.equal(sharedConfigurationSource(undefined, place), undefined);
});
