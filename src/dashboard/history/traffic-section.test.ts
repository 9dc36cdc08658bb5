import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryView, Traffic } from '../../own-paths/history/history-view.ts';
import { trafficSection } from './traffic-section.ts';

const quiet = new Array<number>(58).fill(0);
const traffic: Traffic = {
  requests: 660,
  perSecond: 1,
  refused: 0,
  failed: 0,
  perMinute: [...quiet, 600, 60],
};
const history: HistoryView = {
  since: '2026-01-31T12:00:00.000Z',
  secondsOfMinutes: new Array<number>(60).fill(60),
  total: traffic,
  servers: [],
  versions: [{ version: 'v1.36.0', ...traffic }],
  rerouted: { requests: 0, reasons: [] },
  timeline: [],
  partlyServed: [],
  otherPartlyServed: 0,
};

const drawn = async (shown: HistoryView) => {
  const text = String(await trafficSection(shown, () => 'version-1', Date.parse('2026-01-31T13:00:00Z')));
  return { text, path: /class="version-1" d="([^"]*)"/.exec(text)?.[1] };
};

test('the last hour is drawn minute by minute, to a scale that is told and over the time that has requests', async () => {
  const { text, path } = await drawn(history);
  assert.match(text, /requests a second by version, up to 10; lines: events/);
  // Two minutes of five: the greatest is as high as the drawing, a tenth of it a tenth.
  assert.match(text, /5 min ago/);
  assert.equal(path, 'M3 40V0h.9V40zM4 40V36h.9V40z');
  const perMinute = [1, ...quiet, 1];
  const long = await drawn({
    ...history,
    total: { ...traffic, perMinute },
    versions: [{ version: null, ...traffic, perMinute }],
  });
  assert.match(long.text, /60 min ago/);
});

test('the running minute is as high as its rate: a steady rate does not end in a drop', async () => {
  const perMinute = [...quiet, 600, 100];
  const steady = { ...traffic, perMinute };
  const { path } = await drawn({
    ...history,
    secondsOfMinutes: [...new Array<number>(59).fill(60), 10],
    total: steady,
    versions: [{ version: 'v1.36.0', ...steady }],
  });
  assert.equal(path, 'M3 40V0h.9V40zM4 40V0h.9V40z');
});
