import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { startRouterWithFiles } from '../../../test/support/started-router.ts';
import { askOverHttp2, openHttp2 } from '../../../test/support/tls-client.ts';

function policy(level: 'None' | 'Metadata'): string {
  return JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level }] });
}

it('another verbosity and another audit policy count for the next request', async (context) => {
  const log = { path: 'audit.log' };
  const started = await startRouterWithFiles(context, {
    files: { 'silent.json': policy('None'), 'telling.json': policy('Metadata') },
    configuration: { audit: { policyFile: 'silent.json', log } },
  });
  const { router, configure, logs, path, port, authorities } = started;
  const pair = await started.user('jane');
  const session = openHttp2(context, { port, ca: authorities.cluster.certificate, pair });
  const lines = () => logs.filter(({ fields }) => fields['URI'] !== undefined);
  assert.equal((await askOverHttp2(session, '/api/v1/pods?first')).status, 200);

  await configure({ audit: { policyFile: 'telling.json', log }, logging: { verbosity: 3 } });
  await router.reload();
  assert.equal((await askOverHttp2(session, '/api/v1/pods?second')).status, 200);
  await eventually(() => lines().length > 0);
  await router.close(0);
  assert.deepEqual(
    lines().map(({ fields }) => fields['URI']),
    ['/api/v1/pods?second'],
  );
  const events = (await readFile(path('audit.log'), 'utf8')).trim().split('\n');
  assert.deepEqual(
    [...new Set(events.map((event) => JSON.parse(event).requestURI))],
    ['/api/v1/pods?second'],
  );
});

it('an audit policy that changes in its file counts for the next request, and one with an error does not', async (context) => {
  const started = await startRouterWithFiles(context, {
    files: { 'policy.json': policy('None') },
    configuration: { audit: { policyFile: 'policy.json', log: { path: 'audit.log' } } },
  });
  const { router, write, logs, path, port, authorities } = started;
  const pair = await started.user('jane');
  const session = openHttp2(context, { port, ca: authorities.cluster.certificate, pair });
  assert.equal((await askOverHttp2(session, '/api/v1/pods?first')).status, 200);
  await write('policy.json', policy('Metadata'));
  await router.reload();
  await write('policy.json', policy('None').replace('rules', 'rulez'));
  await router.reload();
  assert.equal((await askOverHttp2(session, '/api/v1/pods?second')).status, 200);
  await router.close(0);
  const events = (await readFile(path('audit.log'), 'utf8')).trim().split('\n');
  assert.deepEqual(
    [...new Set(events.map((event) => JSON.parse(event).requestURI))],
    ['/api/v1/pods?second'],
  );
  const [error] = logs.filter(({ level }) => level === 'error');
  assert.match(String(error?.fields['error']), /--audit-policy-file: .*policy\.json: rulez/);
});
