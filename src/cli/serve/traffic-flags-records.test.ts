import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

let check: ServeOptionsCheck;
before(async () => {
  const files = new Map(await serveFiles());
  files.set(
    'tracing.yaml',
    'apiVersion: apiserver.config.k8s.io/v1beta1\nkind: TracingConfiguration\nendpoint: collector:4317\nsamplingRatePerMillion: 100\n',
  );
  files.set('broken.yaml', 'rules: [hunter2\n');
  check = new ServeOptionsCheck(files);
});

test('nothing is traced unless a file says so', async () => {
  assert.deepEqual((await check.config()).records, { tracing: undefined });
});

test('tracing is read from its file, and what has less effect here is warned of', async () => {
  const result = await check.validate({ 'tracing-config-file': ['tracing.yaml'] });
  assert.ok(result.ok);
  const { tracing } = result.config.records;
  assert.deepEqual(tracing, { url: 'http://collector:4317/v1/traces', samplingRatePerMillion: 100 });
  assert.ok(result.warnings.some(({ flag }) => flag === '--tracing-config-file'));
});

test('a file that is missing or broken is an error, and is not quoted', async () => {
  const result = await check.validate({ 'tracing-config-file': ['broken.yaml'] });
  assert.ok(!result.ok);
  assert.deepEqual(
    result.issues.map(({ flag }) => flag),
    ['--tracing-config-file'],
  );
  assert.doesNotMatch(JSON.stringify(result), /hunter2/);
  assert.deepEqual(await check.issues({ 'tracing-config-file': ['missing.yaml'] }), [
    '--tracing-config-file',
  ]);
});
