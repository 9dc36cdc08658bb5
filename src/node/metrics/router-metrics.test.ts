import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RouterMetrics } from './router-metrics.ts';

test('attack: many scrapes at a time ask the other processes once', async () => {
  let gatherings = 0;
  const answered = Promise.withResolvers<void>();
  const metrics = new RouterMetrics({
    version: 'v0.0.0',
    nodeVersion: 'v26.0.0',
    configHash: 'sha256:0',
    features: {},
    table: () => undefined,
    sharing: {
      reportWith() {},
      async gather() {
        gatherings++;
        await answered.promise;
        return [];
      },
    },
  });
  const scrapes = Array.from({ length: 10 }, () => metrics.scrape(undefined));
  answered.resolve();
  await Promise.all(scrapes);
  assert.equal(gatherings, 1);
  await metrics.scrapeHealth(undefined);
  assert.equal(gatherings, 2);
});
