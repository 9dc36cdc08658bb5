import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mixedCluster } from '../../../test/support/clusters/decision-rows.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { testApp } from '../../../test/support/routers/test-app.ts';
import type { AnalyticsDataset } from '../platform/bindings.ts';
import { createRequestObservers } from './request-observers.ts';

test('the access log of a Worker has a line for each request, without the secrets of its path', async () => {
  const { logger, lines } = recordingLogger();
  const observers = createRequestObservers({ accessLog: true, analytics: undefined }, logger);
  const { app } = await testApp({ snapshot: mixedCluster, observers });
  await app.request('https://edge/apis/batch/v1/jobs?token=secret&limit=5');
  const [line] = lines.map(({ message, fields }) => ({ message, ...fields }) as Record<string, unknown>);
  assert.deepEqual(
    [line?.['message'], line?.['verb'], line?.['resp'], line?.['URI']],
    ['HTTP', 'list', 200, '/apis/batch/v1/jobs?token=[masked]&limit=5'],
  );
});

test('a bound dataset gets one data point for each request, in columns that stay', async () => {
  const { logger, lines } = recordingLogger();
  const points: Parameters<AnalyticsDataset['writeDataPoint']>[0][] = [];
  const analytics: AnalyticsDataset = { writeDataPoint: (point) => void points.push(point) };
  let now = 0;
  const monotonicClock = () => (now += 10);
  const observers = createRequestObservers({ accessLog: false, analytics }, logger);
  const { app } = await testApp({ snapshot: mixedCluster, observers, monotonicClock });
  await app.request('https://edge/apis/batch/v1/namespaces/a/jobs/b');
  const [point, ...others] = points;
  assert.deepEqual(others, []);
  assert.deepEqual(point?.indexes, ['ServedByPeer']);
  assert.deepEqual(point?.blobs.slice(0, 8), [
    'get',
    'batch',
    'v1',
    'jobs',
    '',
    '200',
    'peer',
    'ServedByPeer',
  ]);
  assert.deepEqual([point?.blobs.length, point?.doubles.length, point?.doubles[0]], [11, 4, 1]);
  assert.deepEqual(lines, []);
});

test('a dataset that fails fails no request', async () => {
  const { logger, lines } = recordingLogger();
  const analytics: AnalyticsDataset = {
    writeDataPoint() {
      throw new Error('limit');
    },
  };
  const observers = createRequestObservers({ accessLog: false, analytics }, logger);
  const { app } = await testApp({ snapshot: mixedCluster, observers });
  assert.equal((await app.request('https://edge/apis/batch/v1/jobs')).status, 200);
  assert.equal(lines.length, 1);
});
