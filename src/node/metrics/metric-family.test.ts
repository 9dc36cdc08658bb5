import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { labelOf, parseScrape } from '../../../test/support/prometheus-text.ts';
import { metricCatalogue } from './catalogue.ts';
import { expose, familyOf } from './metric-family.ts';

const metrics = metricCatalogue.flatMap((section) => section.metrics);

for (const { name, type, help, labels, buckets } of metrics) {
  test(`${name} follows the naming rules of Prometheus`, () => {
    assert.match(name, /^[a-z][a-z0-9_]*$/);
    assert.equal(name.endsWith('_total'), type === 'counter', 'counters and nothing else end in _total');
    assert.doesNotMatch(name, /_(milliseconds|ms|kilobytes|minutes|count|sum|bucket)\b/, 'base units');
    if (type === 'histogram') assert.match(name, /_seconds$/, 'what is measured here is time');
    assert.match(help, /^\S[^\n]*[^\n.]\.$/, 'the help is one line of whole sentences');
    for (const label of labels) {
      assert.match(label, /^[a-z][a-z_]*$/);
      assert.ok(
        !['le', 'quantile', 'job', 'instance'].includes(label),
        'no label that Prometheus uses itself',
      );
    }
    assert.equal(new Set(labels).size, labels.length);
    assert.equal(buckets !== undefined, type === 'histogram');
    assert.deepEqual(
      buckets,
      buckets?.toSorted((left, right) => left - right),
    );
  });
}

test('no two metrics share a name', () => {
  const names = metrics.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)]);
});

test('what is not upstream has the prefix of the project', () => {
  for (const { name } of metrics) {
    assert.match(name, /^(mixed_version_proxy|apiserver|aggregator|kubernetes|process|nodejs)_/);
  }
});

const counter = (help = 'Things.') =>
  familyOf({
    name: 'things_total',
    type: 'counter',
    help,
    labels: ['a', 'b'] as const,
  });

test('label values come back as they were, whatever is in them', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.constantFrom('"', '\\', '\n', '{}', ''), (text, tail) => {
      const family = counter();
      const value = text.replaceAll('\0', '') + tail;
      family.with(value, 'other').add(2);
      const [sample] = [...parseScrape(expose([family])).values()][0]?.samples ?? [];
      assert.equal(sample && labelOf(sample, 'a'), value.toWellFormed());
      assert.equal(sample?.value, 2);
    }),
  );
});

test('a help text with quotes, backslashes and line feeds stays one line', () => {
  const text = expose([counter('A "b" \\ c\nd.')]);
  assert.equal(parseScrape(text).size, 1);
  assert.ok(text.includes('A "b" \\\\ c\\nd.'));
});

test('a histogram counts each value in every bucket from its own on', () => {
  const family = familyOf({
    name: 'time_seconds',
    type: 'histogram',
    help: 'Time.',
    labels: [] as const,
    buckets: [0.1, 1, 10],
  });
  for (const value of [0.1, 0.5, 5, 50]) family.with().observe(value);
  assert.deepEqual(expose([family]).split('\n').slice(2), [
    'time_seconds_bucket{le="0.1"} 1',
    'time_seconds_bucket{le="1"} 2',
    'time_seconds_bucket{le="10"} 3',
    'time_seconds_bucket{le="+Inf"} 4',
    'time_seconds_sum 55.6',
    'time_seconds_count 4',
    '',
  ]);
});

test('a full family keeps code and verb, folds all else into other, and counts what it folds', () => {
  const family = familyOf({
    name: 'things_total',
    type: 'counter',
    help: 'Things.',
    labels: ['verb', 'group', 'code'] as const,
  });
  for (let index = 0; index < 5_000; index++) family.with('GET', `g${index}`, '200').add();
  assert.equal(family.folded, 0);
  for (let index = 0; index < 7; index++) family.with('GET', `new${index}`, '500').add();
  family.with('LIST', 'new', '500').add(2);
  family.with('GET', 'g1', '200').add();
  const samples = parseScrape(expose([family])).get('things_total')?.samples ?? [];
  const folded = samples.filter((sample) => labelOf(sample, 'group') === 'other');
  assert.deepEqual(
    folded.map(({ labels, value }) => [labels['verb'], labels['code'], value]),
    [
      ['GET', '500', 7],
      ['LIST', '500', 2],
    ],
  );
  assert.equal(samples.length, 5_002);
  assert.equal(family.folded, 8);
});
