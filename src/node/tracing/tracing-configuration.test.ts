import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTracingConfiguration } from './tracing-configuration.ts';

const head = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'TracingConfiguration' };

test('an endpoint is a host and a port, or a URL, and has a default', () => {
  for (const [endpoint, url] of [
    [undefined, 'http://localhost:4318/v1/traces'],
    ['collector:4318', 'http://collector:4318/v1/traces'],
    ['[::1]:4318', 'http://[::1]:4318/v1/traces'],
    ['https://collector.example/otlp/traces', 'https://collector.example/otlp/traces'],
  ] as const) {
    const parsed = parseTracingConfiguration({ ...head, ...(endpoint === undefined ? {} : { endpoint }) });
    assert.deepEqual(parsed, { ok: true, value: { url, samplingRatePerMillion: 0 }, warnings: [] });
  }
});

test('the port of OTLP over gRPC is doubtful here', () => {
  const parsed = parseTracingConfiguration({ ...head, endpoint: 'localhost:4317' });
  assert.ok(parsed.ok);
  assert.deepEqual(
    parsed.warnings.map(({ path }) => path),
    ['endpoint'],
  );
});

test('every error is told with its path, and nothing is half applied', () => {
  for (const [document, paths] of [
    [[], ['']],
    [{ ...head, kind: 'Policy', apiVersion: 'v1', sampling: 1 }, ['apiVersion', 'kind', 'sampling']],
    [{ ...head, samplingRatePerMillion: -1 }, ['samplingRatePerMillion']],
    [{ ...head, samplingRatePerMillion: 1_000_001 }, ['samplingRatePerMillion']],
    [{ ...head, samplingRatePerMillion: '5' }, ['samplingRatePerMillion']],
    [{ ...head, endpoint: 'https://user:hunter2@collector' }, ['endpoint']],
    [{ ...head, endpoint: 'ftp://collector' }, ['endpoint']],
    [{ ...head, endpoint: 'not a host' }, ['endpoint']],
  ] as const) {
    const parsed = parseTracingConfiguration(document);
    assert.ok(!parsed.ok);
    assert.deepEqual(parsed.issues.map(({ path }) => path).sort(), [...paths], JSON.stringify(document));
    assert.doesNotMatch(JSON.stringify(parsed), /hunter2/);
  }
});
