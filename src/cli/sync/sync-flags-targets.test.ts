import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plannedSync } from '../../../test/support/sync-plan.ts';
import { generateSigningKey } from '../../snapshot/signing/seal.ts';
import type { SyncFlags } from './plan-sync.ts';

const { privateJwk } = await generateSigningKey('EdDSA');

/** As a job that finds its servers itself. */
function planned(given: SyncFlags, files: Readonly<Record<string, string>> = {}) {
  const stored = new Map(Object.entries({ ...files, 'key.json': JSON.stringify(privateJwk) }));
  const { plan, issues } = plannedSync(
    { 'in-cluster': ['true'], 'signing-key': ['key.json'], ...given },
    stored,
  );
  assert.ok(plan.kind === 'live');
  return { ...plan, issues, stored };
}

describe('the target flags of sync', () => {
  it('name routers and Workers', () => {
    const { options, issues, stored } = planned(
      {
        target: ['https://10.0.0.1:7443'],
        'target-server-name': ['router.example.com'],
        'target-token-file': ['token'],
        'worker-target': ['https://router.example.workers.dev'],
      },
      { token: 'first\n' },
    );
    assert.equal(issues, '');
    assert.deepEqual(options.routers, [
      { url: 'https://10.0.0.1:7443', serverName: 'router.example.com' },
      { url: 'https://router.example.workers.dev', publicAuthorities: true },
    ]);
    assert.equal(options.routerBearerToken?.(), 'first');
    // Rotated: the file counts as it is when it is needed.
    stored.set('token', 'second');
    assert.equal(options.routerBearerToken?.(), 'second');
    // Into something that no header can carry: Node's own words would name no file.
    stored.set('token', 'SECRET\u0000');
    assert.throws(() => options.routerBearerToken?.(), {
      message: '--target-token-file: token must hold one token and nothing else',
    });
  });

  it('say what is missing', () => {
    assert.match(
      planned({ 'worker-target': ['https://w.example.com'] }).issues,
      /--worker-target needs --target-token-file/,
    );
  });

  it('refuse a file that holds no token, without showing it', () => {
    const noise = planned(
      { 'target-token-file': ['noise'] },
      { noise: '{"password": "hunter2"}\nmore' },
    ).issues;
    assert.match(noise, /--target-token-file: noise must hold one token and nothing else/);
    assert.doesNotMatch(noise, /hunter2/);
    assert.match(planned({ 'target-token-file': ['empty'] }, { empty: '\n' }).issues, /must hold one token/);
  });
});

describe('the endpoints of a sync job', () => {
  const pushing = { out: ['snapshot'] };

  it('are on loopback unless told otherwise', () => {
    assert.deepEqual(planned(pushing).endpoints, { address: '127.0.0.1', port: 7469 });
  });

  it('take address and port, and can be turned off', () => {
    const { endpoints, issues } = planned({ ...pushing, 'bind-address': ['::'], 'health-port': ['80'] });
    assert.deepEqual([endpoints, issues], [{ address: '::', port: 80 }, '']);
    assert.equal(planned({ ...pushing, 'health-port': ['0'] }).endpoints, undefined);
  });

  it('name every error', () => {
    const { issues } = planned({ ...pushing, 'bind-address': ['localhost'], 'health-port': ['70000'] });
    assert.match(issues, /--health-port must be a port .*, not 70000/);
    assert.match(issues, /--bind-address must be an IP address, not "localhost"/);
  });
});
