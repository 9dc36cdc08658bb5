import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { messagesOf, syncFlagValues } from '../../../test/support/sync-plan.ts';
import type { SyncArguments } from '../flags/sync-flag-groups.ts';
import { readSyncTargets } from './sync-flags.ts';

function read(given: SyncArguments, files: Readonly<Record<string, string>> = {}) {
  const stored = new Map(Object.entries(files));
  const flags = syncFlagValues(given, stored);
  return { targets: readSyncTargets(flags), issues: messagesOf(flags), stored };
}

describe('the target flags of sync', () => {
  it('name routers and Workers', async () => {
    const { targets, issues, stored } = read(
      {
        target: ['https://10.0.0.1:7443'],
        'target-server-name': ['router.example.com'],
        'target-token-file': ['token'],
        'worker-target': ['https://router.example.workers.dev'],
      },
      { token: 'first\n' },
    );
    assert.deepEqual(issues, []);
    assert.deepEqual(targets.routers, [
      { url: 'https://10.0.0.1:7443', serverName: 'router.example.com' },
      { url: 'https://router.example.workers.dev', publicAuthorities: true },
    ]);
    assert.equal(await targets.routerBearerToken?.(), 'first');
    // Rotated: the file counts as it is when it is needed.
    stored.set('token', 'second');
    assert.equal(await targets.routerBearerToken?.(), 'second');
    // Into something that no header can carry: Node's own words would name no file.
    stored.set('token', 'SECRET\u0000');
    assert.throws(() => targets.routerBearerToken?.(), {
      message: '--target-token-file: token must hold one token and nothing else',
    });
  });

  it('say what is missing', () => {
    assert.match(
      read({ 'worker-target': ['https://w.example.com'] }).issues.join(),
      /--worker-target needs --target-token-file/,
    );
  });

  it('refuse a file that holds no token, without showing it', () => {
    const noise = read(
      { 'target-token-file': ['noise'] },
      { noise: '{"password": "hunter2"}\nmore' },
    ).issues.join();
    assert.match(noise, /--target-token-file: noise must hold one token and nothing else/);
    assert.doesNotMatch(noise, /hunter2/);
    assert.match(
      read({ 'target-token-file': ['empty'] }, { empty: '\n' }).issues.join(),
      /must hold one token/,
    );
  });
});
