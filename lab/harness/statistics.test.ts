import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareWithRecorded } from '../bench/quick/compare.ts';
import { roundOf, workloadOf } from '../bench/report/throughput-figures.ts';
import { addedOver, cpuTime, ratioOver, spreadOver } from '../bench/throughput/ratios.ts';
import { quantile, significant, spreadOf } from './statistics.ts';

test('quantiles lie between the values around them', () => {
  assert.equal(quantile([1, 2, 3, 4], 0.5), 2.5);
  assert.equal(quantile([1, 2, 3], 0.5), 2);
  assert.equal(quantile([1, 2], 0.99), 1.99);
  assert.equal(quantile([7], 0.99), 7);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});

test('a spread is told in whatever order things were measured; what was not measured does not count', () => {
  assert.deepEqual(spreadOf([3, Number.NaN, 1, 2]), { median: 2, minimum: 1, maximum: 3 });
  assert.equal(spreadOf([Number.NaN]), undefined);
});

test('figures keep four digits', () => {
  assert.equal(significant(123_456), 123_500);
  assert.equal(significant(0.0123456), 0.01235);
});

test('a ratio is taken within a round: a machine that was slower in one round changes nothing', () => {
  const rounds = [roundOf({ router: 60, go: 40 }), roundOf({ router: 600, go: 400 })];
  assert.deepEqual(ratioOver(rounds, 'router', 'go', cpuTime), { median: 1.5, minimum: 1.5, maximum: 1.5 });
  assert.deepEqual(spreadOver(rounds, 'router', cpuTime), { median: 330, minimum: 60, maximum: 600 });
});

test('a round in which one of the two failed counts for no ratio', () => {
  const rounds = [roundOf({ router: 60, go: 40 }), roundOf({ router: 90 }), roundOf({ go: 40 })];
  assert.deepEqual(ratioOver(rounds, 'router', 'go', cpuTime), { median: 1.5, minimum: 1.5, maximum: 1.5 });
  assert.equal(ratioOver(rounds, 'router', 'nginx', cpuTime), undefined);
});

test('what a proxy adds is what it takes more than no proxy in the same round', () => {
  const rounds = [roundOf({ direct: 1, router: 3 }), roundOf({ direct: 10, router: 15 })];
  assert.deepEqual(addedOver(rounds, 'router', cpuTime), { median: 3.5, minimum: 2, maximum: 5 });
});

test('a change counts only beyond what the recorded rounds differed by, and a twentieth', () => {
  const recorded = {
    'http1-get': workloadOf([roundOf({ router: 100, go: 100 }), roundOf({ router: 120, go: 100 })]),
  };
  const verdictFor = (router: number) =>
    compareWithRecorded({ 'http1-get': workloadOf([roundOf({ router, go: 100 })]) }, recorded, [
      'http1-get',
    ])[0]?.verdict;
  assert.equal(verdictFor(110), 'unchanged');
  assert.equal(verdictFor(96), 'unchanged');
  assert.equal(verdictFor(125), 'unchanged');
  assert.equal(verdictFor(127), 'slower');
  assert.equal(verdictFor(94), 'faster');
});

test('a workload that was not recorded, or not with the rival, is not compared', () => {
  const now = { 'http1-get': workloadOf([roundOf({ router: 1, go: 1 })]) };
  assert.deepEqual(compareWithRecorded(now, {}, ['http1-get']), []);
  const recorded = { 'http1-get': workloadOf([roundOf({ router: 1, nginx: 1 })]) };
  assert.deepEqual(compareWithRecorded(now, recorded, ['http1-get']), []);
});
