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
  files.set('policy.yaml', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Request\n');
  files.set('broken.yaml', 'rules: [hunter2\n');
  files.set('wrong.json', '{"kind": "Policy", "rules": [{"level": "Some"}]}');
  check = new ServeOptionsCheck(files);
});

test('nothing is traced and nothing audited unless files say so', async () => {
  assert.deepEqual((await check.config()).records, { tracing: undefined, audit: undefined });
});

test('tracing and audit are read from their files, and what has less effect here is warned of', async () => {
  const result = await check.validate({
    'tracing-config-file': ['tracing.yaml'],
    'audit-policy-file': ['policy.yaml'],
    'audit-log-path': ['-'],
    'audit-log-maxsize': ['1'],
    'audit-log-maxage': ['2'],
    'audit-log-maxbackup': ['3'],
    'audit-log-batch-buffer-size': ['4'],
  });
  assert.ok(result.ok);
  const { tracing, audit } = result.config.records;
  assert.deepEqual(tracing, { url: 'http://collector:4317/v1/traces', samplingRatePerMillion: 100 });
  const { policy, policyFile, ...others } = audit ?? assert.fail('there is an audit');
  assert.equal(policy.rules.length, 1);
  assert.equal(policyFile?.path, 'policy.yaml');
  assert.deepEqual(others, {
    path: '-',
    maximumSize: 1024 * 1024,
    maximumAge: 2 * 24 * 60 * 60 * 1000,
    maximumBackups: 3,
    bufferSize: 4,
  });
  const warned = result.warnings.map(({ flag }) => flag);
  assert.ok(warned.includes('--tracing-config-file') && warned.includes('--audit-policy-file'));
});

test('a policy without a log, or a log without a policy, would look like an audit: both are errors', async () => {
  assert.deepEqual(await check.issues({ 'audit-policy-file': ['policy.yaml'] }), ['--audit-policy-file']);
  assert.deepEqual(await check.issues({ 'audit-log-path': ['audit.log'] }), ['--audit-log-path']);
});

test('files that are missing, broken or wrong are errors, all at once, and are not quoted', async () => {
  const result = await check.validate({
    'tracing-config-file': ['broken.yaml'],
    'audit-policy-file': ['wrong.json'],
    'audit-log-path': ['audit.log'],
    'audit-log-maxsize': ['0'],
    'audit-log-maxage': ['-1'],
    'audit-log-batch-buffer-size': ['0'],
  });
  assert.ok(!result.ok);
  assert.deepEqual([...new Set(result.issues.map(({ flag }) => flag))].sort(), [
    '--audit-log-batch-buffer-size',
    '--audit-log-maxage',
    '--audit-log-maxsize',
    '--audit-policy-file',
    '--tracing-config-file',
  ]);
  const text = JSON.stringify(result);
  assert.doesNotMatch(text, /hunter2/);
  assert.match(text, /wrong\.json: rules\[0\]\.level must be one of/);
  assert.deepEqual(await check.issues({ 'tracing-config-file': ['missing.yaml'] }), [
    '--tracing-config-file',
  ]);
});
