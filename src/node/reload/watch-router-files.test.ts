import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';
import { filesAgain } from './watch-router-files.ts';

const policy = (level: string): string =>
  JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level }] });

test('a router that a program has started takes what its files hold, its audit policy too, once it is checked', async () => {
  const files = new Map([...(await serveFiles()), ['policy.json', policy('None')]]);
  const check = new ServeOptionsCheck(files);
  const config = await check.config({
    'audit-policy-file': ['policy.json'],
    'audit-log-path': ['audit.log'],
  });
  const read = async (text: string) => {
    const { records } = (await filesAgain(config).read(new Map([...files, ['policy.json', text]]))).config;
    return records.audit?.policy.rules.map(({ level }) => level);
  };
  assert.deepEqual(await read(policy('Metadata')), ['Metadata']);
  await assert.rejects(
    read(policy('None').replace('rules', 'rulez')),
    /--audit-policy-file: .*policy\.json: rulez/,
  );
  await assert.rejects(read('{'), /--audit-policy-file: policy\.json is neither YAML nor JSON/);
});
