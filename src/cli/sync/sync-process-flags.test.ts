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
  const faults: string[] = [];
  return { result: readEndpointFlags(flags, commandContext(files).context, faults), faults };
}

function leaderElection(flags: GivenSyncFlags) {
  const faults: string[] = [];
  return { result: readLeaderElectionFlags(flags, faults), faults };
}

describe('the endpoints of a sync job', () => {
  it('are on loopback unless told otherwise', () => {
    assert.deepEqual(endpoints({}), {
      result: { address: '127.0.0.1', port: 7469, tls: undefined },
      faults: [],
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
      faults: [],
    });
    assert.deepEqual(endpoints({ healthPort: '0' }), { result: undefined, faults: [] });
  });

  it('name every fault', () => {
    const { faults } = endpoints({ bindAddress: 'localhost', healthPort: '70000', tlsCertFile: 'missing' });
    assert.match(faults[0] ?? '', /--health-port must be a port .*, not "70000"/);
    assert.match(faults[1] ?? '', /--bind-address must be an IP address, not "localhost"/);
    assert.match(faults[2] ?? '', /--tls-cert-file: cannot read missing/);
    assert.match(faults[3] ?? '', /--tls-private-key-file is required/);
  });
});

describe('leader election', () => {
  it('is off unless asked for, and has names and a duration of its own', () => {
    assert.deepEqual(leaderElection({}), { result: undefined, faults: [] });
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
      faults: [],
    });
  });

  it('takes whole seconds, since a Lease holds no others, and nothing without being on', () => {
    for (const leaderElectLeaseDuration of ['500ms', '1.5s', '0s', 'soon']) {
      const { faults } = leaderElection({ leaderElect: true, leaderElectLeaseDuration });
      assert.match(faults.join(), /must be whole seconds/, leaderElectLeaseDuration);
    }
    assert.match(leaderElection({ leaderElectLeaseName: 'x' }).faults.join(), /needs --leader-elect/);
  });
});
