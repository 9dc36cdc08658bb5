import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commandContext } from '../../../test/support/command-context.ts';
import type { GivenSyncFlags } from '../flags/sync-flag-groups.ts';
import { readEndpointFlags, readLeaderElectionFlags } from './sync-flags.ts';

function endpoints(flags: GivenSyncFlags) {
  const files = new Map([
    ['tls.crt', 'CERTIFICATE'],
    ['tls.key', 'KEY'],
  ]);
  const issues: string[] = [];
  return { result: readEndpointFlags(flags, commandContext(files).context, issues), issues };
}

function leaderElection(flags: GivenSyncFlags) {
  const issues: string[] = [];
  return { result: readLeaderElectionFlags(flags, issues), issues };
}

describe('the endpoints of a sync job', () => {
  it('are on loopback unless told otherwise', () => {
    assert.deepEqual(endpoints({}), {
      result: { address: '127.0.0.1', port: 7469, tls: undefined },
      issues: [],
    });
  });

  it('take address, port and certificate, and can be turned off', () => {
    const flags = {
      bindAddress: '::',
      healthPort: '80',
      tlsCertFile: 'tls.crt',
      tlsPrivateKeyFile: 'tls.key',
    };
    assert.deepEqual(endpoints(flags), {
      result: { address: '::', port: 80, tls: { certificate: 'CERTIFICATE', key: 'KEY' } },
      issues: [],
    });
    assert.deepEqual(endpoints({ healthPort: '0' }), { result: undefined, issues: [] });
  });

  it('name every error', () => {
    const { issues } = endpoints({ bindAddress: 'localhost', healthPort: '70000', tlsCertFile: 'missing' });
    assert.match(issues[0] ?? '', /--health-port must be a port .*, not "70000"/);
    assert.match(issues[1] ?? '', /--bind-address must be an IP address, not "localhost"/);
    assert.match(issues[2] ?? '', /--tls-cert-file: cannot read missing/);
    assert.match(issues[3] ?? '', /--tls-private-key-file is required/);
  });
});

describe('leader election', () => {
  it('is off unless asked for, and has names and a duration of its own', () => {
    assert.deepEqual(leaderElection({}), { result: undefined, issues: [] });
    assert.deepEqual(leaderElection({ leaderElect: true }).result, {
      name: 'mixed-version-proxy-sync',
      namespace: 'kube-system',
      leaseDuration: 15_000,
    });
    const flags = {
      leaderElect: true,
      leaderElectLeaseName: 'x',
      leaderElectLeaseNamespace: 'y',
      leaderElectLeaseDuration: '1m',
    } as const;
    assert.deepEqual(leaderElection(flags), {
      result: { name: 'x', namespace: 'y', leaseDuration: 60_000 },
      issues: [],
    });
  });

  it('takes whole seconds, since a Lease holds no others, and nothing without being on', () => {
    for (const leaderElectLeaseDuration of ['500ms', '1.5s', '0s', 'soon']) {
      const { issues } = leaderElection({ leaderElect: true, leaderElectLeaseDuration });
      assert.match(issues.join(), /must be whole seconds/, leaderElectLeaseDuration);
    }
    assert.match(leaderElection({ leaderElectLeaseName: 'x' }).issues.join(), /needs --leader-elect/);
  });
});
