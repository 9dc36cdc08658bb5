import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFeatureGateReader } from './feature-gates.ts';
import type { ServerDocument } from './server-documents.ts';

const { signal } = new AbortController();
const metricsOf = (...gates: readonly string[]): ServerDocument => ({
  status: 200,
  contentType: 'text/plain',
  body: `# HELP kubernetes_feature_enabled [BETA] This metric records…\n${gates
    .map(
      (gate) =>
        `kubernetes_feature_enabled{name="${gate.split('=')[0]}",stage="BETA"} ${gate.split('=')[1]}\n`,
    )
    .join('')}process_start_time_seconds 1.7e+09\n`,
});

/** Responds with each in turn; `undefined`: not in time. */
function serverOf(...responses: readonly (ServerDocument | undefined)[]) {
  let asked = 0;
  return {
    asked: () => asked,
    documents: {
      get: async (path: string) => {
        assert.equal(path, '/metrics');
        const response = responses[asked++];
        if (response === undefined) throw new Error('not in time');
        return response;
      },
    },
  };
}

test('servers with the same gates on have one digest, in whatever order they list them', async () => {
  const [reader, other, third] = [0, 0, 0].map(createFeatureGateReader);
  const digest = await reader?.read(serverOf(metricsOf('A=1', 'B=0')).documents, signal);
  assert.match(digest ?? '', /^[0-9a-f]{8}$/);
  assert.equal(await other?.read(serverOf(metricsOf('B=0', 'A=1')).documents, signal), digest);
  assert.notEqual(await third?.read(serverOf(metricsOf('A=1', 'B=1')).documents, signal), digest);
});

test('a process is asked once, and its successor anew', async () => {
  const server = serverOf(metricsOf('A=1'), metricsOf('A=0'));
  const reader = createFeatureGateReader();
  const digest = await reader.read(server.documents, signal);
  assert.equal(await reader.read(server.documents, signal), digest);
  assert.equal(server.asked(), 1);
  reader.outdate();
  assert.notEqual(await reader.read(server.documents, signal), digest);
});

test('where metrics may not be read, gates are not known, and nobody asks again', async () => {
  const server = serverOf({ status: 403, contentType: 'application/json', body: '{}' });
  const reader = createFeatureGateReader();
  assert.equal(await reader.read(server.documents, signal), undefined);
  assert.equal(await reader.read(server.documents, signal), undefined);
  assert.equal(server.asked(), 1);
});

test('a server that does not respond in time is asked again, three times', async () => {
  const slow = serverOf(undefined, metricsOf('A=1'));
  const reader = createFeatureGateReader();
  assert.equal(await reader.read(slow.documents, signal), undefined);
  assert.notEqual(await reader.read(slow.documents, signal), undefined);
  const silent = serverOf();
  const other = createFeatureGateReader();
  for (let time = 0; time < 10; time++) await other.read(silent.documents, signal);
  assert.equal(silent.asked(), 3);
});
