import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { applyConfiguration, type ConfigurationUsers } from './apply-configuration.ts';
import { LiveAddressPolicy, LiveConfiguration } from './live-configuration.ts';
import { LiveCredentials } from './live-credentials.ts';
import type { RouterHandlers } from './router-handlers.ts';

let started: ServeConfig;
let next: ServeConfig;

before(async () => {
  const check = new ServeOptionsCheck(await serveFiles());
  started = await check.config();
  next = await check.config({
    'client-ca-file': ['both-cas.crt'],
    'requestheader-client-ca-file': undefined,
    'requestheader-allowed-names': undefined,
    'peer-ca-file': ['both-cas.crt'],
    'allowed-peer-cidrs': ['10.0.0.0/8'],
    'allowed-users': ['alice'],
  });
});

/** Users that note what they are told; each of them can be made to refuse. */
function usersThat(refusal?: 'buildHandlers' | 'server' | 'transport' | 'jwt') {
  const told: string[] = [];
  const live = new LiveConfiguration(started);
  const credentials = new LiveCredentials(started);
  const addressPolicy = new LiveAddressPolicy(started.peerAddresses);
  /** Refuses what is new, never what it had before. */
  const tell = (who: string, isNew = true): void => {
    if (who === refusal && isNew) throw new TypeError(`${who} refuses`);
    told.push(isNew ? who : `${who} as before`);
  };
  const users: ConfigurationUsers = {
    live,
    credentials,
    addressPolicy,
    server: {
      setSecureContext: ({ ca }) => tell('server', String(ca) !== anchorsOf(started)),
      configure: () => tell('limits'),
    },
    admin: undefined,
    transport: {
      updateCredentials: ({ peerCertificateAuthorities }) =>
        tell('transport', peerCertificateAuthorities !== started.peerCa?.pem),
      setTimeouts: () => {},
    },
    handlers: { replace: () => tell('handlers') },
    async buildHandlers(): Promise<RouterHandlers> {
      tell('buildHandlers');
      return {
        fetch: () => new Response(),
        admin: () => new Response(),
        onUpgrade() {},
      };
    },
    jwt: { replace: () => tell('jwt') },
    traffic: { configure: () => tell('traffic') },
    endPeerConnections: () => tell('peers'),
    servers: { configure: () => tell('servers') },
    onApplied: () => tell('applied'),
  };
  return { users, told, live, credentials, addressPolicy };
}

function anchorsOf(config: ServeConfig): string {
  const { clientAuthorities } = new LiveCredentials(config).current;
  return [...clientAuthorities.clientCa, ...clientAuthorities.requestHeaderCa].map(String).join();
}

describe('a configuration that is taken into use', () => {
  it('reaches every part, the handlers behind what they rely on', async () => {
    const { users, told, live, addressPolicy } = usersThat();
    await applyConfiguration(next, users);
    assert.deepEqual(told, [
      'buildHandlers',
      'server',
      'transport',
      'jwt',
      'traffic',
      'servers',
      'peers',
      'handlers',
      'applied',
    ]);
    assert.equal(live.current, next);
    assert.equal(addressPolicy.allowedCidrs?.length, 1);
  });

  it('leaves connections to API servers alone where nothing about them has changed', async () => {
    const { users, told } = usersThat();
    await applyConfiguration({ ...started, allowedUsers: ['alice'] }, users);
    assert.deepEqual(told, [
      'buildHandlers',
      'server as before',
      'jwt',
      'traffic',
      'servers',
      'handlers',
      'applied',
    ]);
  });

  for (const [refusal, before] of [
    ['buildHandlers', []],
    ['server', ['buildHandlers']],
    ['transport', ['buildHandlers', 'server', 'server as before']],
    ['jwt', ['buildHandlers', 'server', 'transport', 'server as before', 'transport as before']],
  ] as const) {
    it(`is not, in any part, when ${refusal} refuses it`, async () => {
      const { users, told, live, credentials, addressPolicy } = usersThat(refusal);
      const last = credentials.current;
      await assert.rejects(applyConfiguration(next, users), new TypeError(`${refusal} refuses`));
      assert.deepEqual(told, before);
      assert.equal(live.current, started);
      assert.equal(credentials.current, last);
      assert.equal(addressPolicy.allowedCidrs, undefined);
    });
  }
});
