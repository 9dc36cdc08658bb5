import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ServerOptions, snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { statusOf } from '../../../test/support/snapshots/status-view.ts';
import { otherRouters } from './read-routers.ts';

const at = (address: string): ServerOptions => ({ serves: ['v1/pods'], address });

const origins = (servers: Readonly<Record<string, ServerOptions>>, own: string | undefined) => {
  const status = { ...statusOf(snapshotOf(servers)), serverId: 'cp-a' };
  const others = otherRouters(status, own && `https://${own}`);
  return Object.fromEntries(others.map(({ serverId, origin }) => [serverId, origin]));
};

describe('the routers of other servers', () => {
  it('are taken to listen on the same port as this one, at the host of their server', () => {
    assert.deepEqual(
      origins(
        { 'cp-a': at('10.0.0.1:6444'), 'cp-b': at('10.0.0.2:6444'), 'cp-c': at('[fd00::3]:6444') },
        '10.0.0.1:6443',
      ),
      { 'cp-b': 'https://10.0.0.2:6443', 'cp-c': 'https://[fd00::3]:6443' },
    );
  });

  it('are where they say themselves, if they say so', () => {
    const advertised = { address: '10.0.0.9:7443', by: 'advertise-address' } as const;
    const servers = { 'cp-a': at('10.0.0.1:6444'), 'cp-b': { ...at('10.0.0.2:6444'), advertised } };
    for (const own of ['10.0.0.1:6443', undefined]) {
      assert.deepEqual(origins(servers, own), { 'cp-b': 'https://10.0.0.9:7443' });
    }
  });

  it('are not known on a host with several servers, nor where this one says nothing of itself', () => {
    const servers = {
      'cp-a': at('10.0.0.1:6443'),
      'cp-b': at('10.0.0.1:6444'),
      'cp-c': at('10.0.0.3:6443'),
      'cp-d': at('10.0.0.3:6444'),
      'cp-e': at('10.0.0.5:6443'),
    };
    const known = { 'cp-b': undefined, 'cp-c': undefined, 'cp-d': undefined };
    assert.deepEqual(origins(servers, '10.0.0.1:7443'), { ...known, 'cp-e': 'https://10.0.0.5:7443' });
    assert.deepEqual(origins(servers, undefined), { ...known, 'cp-e': undefined });
  });
});
