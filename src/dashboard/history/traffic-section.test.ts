import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryView, Traffic } from '../../own-paths/history/history-view.ts';
import { trafficSection } from './traffic-section.ts';

const quiet = new Array<number>(58).fill(0);
const noLatency = new Array<null>(58).fill(null);
const traffic: Traffic = {
  requests: 660,
  perSecond: 1,
  refused: 0,
  failed: 0,
  milliseconds: { mean: 3, p50: 2, p99: 64 },
  perMinute: [...quiet, 600, 60],
  p99PerMinute: [...noLatency, 1, 32_768],
};
const history: HistoryView = {
  since: '2026-01-31T12:00:00.000Z',
  total: traffic,
  servers: [],
  versions: [{ version: 'v1.36.0', ...traffic }],
  rerouted: { requests: 0, reasons: [], resources: [], others: 0 },
  timeline: [],
  partlyServed: [],
  otherPartlyServed: 0,
};

test('the last hour is drawn minute by minute, requests to a scale that is told, latency to one for all rows', async () => {
  const text = String(
    await trafficSection(history, () => 'version-1', new Map(), Date.parse('2026-01-31T13:00:00Z')),
  );
  assert.match(text, /requests a second by version, up to 10; lines: events/);
  const drawings = [...text.matchAll(/class="sparkline".*? d="([^"]*)"/g)].map(([, path]) => path);
  assert.deepEqual(drawings, [
    // The row's greatest is as high as the drawing, a tenth of it a tenth.
    'M58 10V0h.9V10zM59 10V9h.9V10z',
    // 1 ms is the first of sixteen steps, 32 s the last.
    'M58 10V9.4h.9V10zM59 10V0h.9V10z',
  ]);
});
