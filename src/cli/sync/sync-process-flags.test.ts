import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { messagesOf, syncFlagValues } from '../../../test/support/sync-plan.ts';
import type { SyncArguments } from '../flags/sync-flag-groups.ts';
import { readEndpointFlags } from './sync-flags.ts';

function endpoints(given: SyncArguments) {
  const flags = syncFlagValues(given, new Map());
  return { result: readEndpointFlags(flags), issues: messagesOf(flags) };
}

describe('the endpoints of a sync job', () => {
  it('are on loopback unless told otherwise', () => {
    assert.deepEqual(endpoints({}), {
      result: { address: '127.0.0.1', port: 7469 },
      issues: [],
    });
  });

  it('take address and port, and can be turned off', () => {
    const flags = {
      'bind-address': ['::'],
      'health-port': ['80'],
    };
    assert.deepEqual(endpoints(flags), {
      result: { address: '::', port: 80 },
      issues: [],
    });
    assert.deepEqual(endpoints({ 'health-port': ['0'] }), { result: undefined, issues: [] });
  });

  it('name every error', () => {
    const { issues } = endpoints({
      'bind-address': ['localhost'],
      'health-port': ['70000'],
    });
    assert.match(issues[0] ?? '', /--health-port must be a port .*, not "70000"/);
    assert.match(issues[1] ?? '', /--bind-address must be an IP address, not "localhost"/);
  });
});
