import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricCatalogue } from './catalogue.ts';

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

test('no two metrics share a name, not even without _total, which OpenMetrics leaves out', () => {
  const names = metrics.map(({ name }) => name.replace(/_total$/, ''));
  assert.deepEqual(names, [...new Set(names)]);
});

test('what is not upstream has the prefix of the project', () => {
  for (const { name } of metrics) {
    assert.match(name, /^(mixed_version_proxy|apiserver|aggregator|kubernetes|process|nodejs)_/);
  }
});
