import assert from 'node:assert/strict';
import { test } from 'node:test';
import { middleOf } from './middle-of.ts';

const pass = (cpuTimePerRequest: number, p99?: number) => ({
  ...{ requestsPerSecond: 1_000 / cpuTimePerRequest, cpuTimePerRequest, peakMemory: cpuTimePerRequest },
  ...(p99 !== undefined && { latency: { p50: 1, p99 } }),
});

test('a pass that was disturbed does not show in the figures of its round, but for the peak of memory', () => {
  assert.deepEqual(middleOf([pass(50, 2), pass(500, 90), pass(50, 4)]), {
    ...{ requestsPerSecond: 20, cpuTimePerRequest: 50, leastCpuTimePerRequest: 50, peakMemory: 500 },
    latency: { p50: 1, p99: 4 },
  });
});

test('of two passes the figures lie in between, and without a rate there is no latency', () => {
  assert.deepEqual(middleOf([pass(40), pass(50)]), {
    ...{ requestsPerSecond: 22.5, cpuTimePerRequest: 45, leastCpuTimePerRequest: 40, peakMemory: 50 },
  });
});
