import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../test/support/command-context.ts';
import { exampleCluster } from '../../../test/support/example-cluster.ts';
import { plannedSync } from '../../../test/support/sync-plan.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { generateSigningKey } from '../../snapshot/signing/seal.ts';
import type { SyncOptions } from '../../sync/node/sync-options.ts';
import type { SyncFlags } from './plan-sync.ts';

const { privateJwk } = await generateSigningKey('EdDSA');
const files = new Map([
  ['ca.crt', 'CA'],
  ['signing-key.json', JSON.stringify(privateJwk)],
]);

function liveOptions(given: SyncFlags): SyncOptions {
  const { plan, issues } = plannedSync(given, files);
  assert.equal(issues, '');
  assert.ok(plan.kind === 'live');
  return plan.options;
}

const issuesOf = (given: SyncFlags): string => plannedSync(given, files).issues;

const pushing: SyncFlags = { target: ['https://10.0.0.1:7443'], 'signing-key': ['signing-key.json'] };

test('a kubeconfig is enough to find and to reach the servers', () => {
  const given = { ...pushing, kubeconfig: ['admin.conf'], context: ['blue'] };
  const { kubernetes, servers, certificateAuthorities } = liveOptions(given);
  assert.deepEqual(kubernetes, { kubeconfig: 'admin.conf', context: 'blue' });
  assert.deepEqual([servers, certificateAuthorities], [[], undefined]);
});

test('servers listed by hand, and authorities, go beside it', () => {
  const { servers, certificateAuthorities } = liveOptions({
    ...pushing,
    kubeconfig: ['admin.conf'],
    server: ['a=https://10.0.0.1:6443'],
    'peer-ca-file': ['ca.crt'],
  });
  assert.equal(servers.length, 1);
  assert.equal(certificateAuthorities, 'CA');
});

test('flags that contradict each other are named', () => {
  assert.match(issuesOf(pushing), /--server is required.*or --kubeconfig or --in-cluster/);
  assert.match(issuesOf({ ...pushing, context: ['blue'] }), /--context needs --kubeconfig/);
  assert.match(
    issuesOf({ ...pushing, kubeconfig: ['a'], 'in-cluster': ['true'] }),
    /name two clusters: keep one/,
  );
  // A service account has a token; routers want a certificate, or one of their own tokens.
  assert.match(issuesOf({ ...pushing, 'in-cluster': ['true'] }), /--target needs --client-cert-file/);
  assert.match(
    issuesOf({ from: ['folder'], out: ['x'], unsigned: ['true'], kubeconfig: ['a'] }),
    /--kubeconfig has no use/,
  );
  assert.match(issuesOf({ record: ['folder'], kubeconfig: ['a'] }), /--kubeconfig has no use with --record/);
});

test('one round through a kubeconfig writes what the cluster serves', async (context) => {
  const cluster = await exampleCluster(context);
  const a = await cluster.start('cp-a', '1.36');
  const b = await cluster.start('cp-b', '1.26');
  const folder = await temporaryDirectory(context);
  const out = join(folder, 'snapshot.json');
  const kubeconfig = await cluster.kubeconfig(a.url);
  const { code, errors } = await runCommand(new Map(), [
    'sync',
    '--once',
    '--unsigned',
    `--kubeconfig=${kubeconfig}`,
    `--out=${out}`,
  ]);
  assert.equal(code, 0, errors);
  const { servers } = JSON.parse(await readFile(out, 'utf8'));
  assert.deepEqual(
    servers.map(({ id }: { id: string }) => id),
    [a.serverId, b.serverId].sort(),
  );
});

test('a kubeconfig that cannot be used ends the command with its reason', async () => {
  const { code, errors } = await runCommand(new Map(), [
    'sync',
    '--once',
    '--unsigned',
    '--out=x',
    '--kubeconfig=/nowhere/kubeconfig',
  ]);
  assert.equal(code, 2);
  assert.match(errors, /\/nowhere\/kubeconfig cannot be used as a kubeconfig/);
});
