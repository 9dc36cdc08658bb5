import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { ClientCertificateReader } from '../callers/client-certificate.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { applyConfiguration, type ConfigurationUsers } from './apply-configuration.ts';
import { credentialsOf } from './credentials.ts';
import { type Generation, LiveGeneration } from './generation.ts';

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

/** A generation without anything behind it. */
function generationOf(config: ServeConfig): Generation {
  const credentials = credentialsOf(config);
  return {
    config,
    settings: { needsRestart: () => [], found: () => [] },
    credentials,
    clientCertificates: new ClientCertificateReader(credentials.clientAuthorities),
    addressPolicy: createAddressPolicy(config.peerAddresses),
    jwt: undefined,
    handlers: { fetch: () => new Response(), admin: () => new Response(), onUpgrade() {} },
  };
}

/** Users that note what they are told; each of them can be made to refuse. */
function usersThat(refusal?: 'generation' | 'cluster' | 'server' | 'transport') {
  const told: string[] = [];
  const live = new LiveGeneration(generationOf(started));
  /** Refuses what is new, never what it had before. */
  const tell = (who: string, isNew = true): void => {
    if (who === refusal && isNew) throw new TypeError(`${who} refuses`);
    told.push(isNew ? who : `${who} as before`);
  };
  const users: ConfigurationUsers = {
    live,
    async createGeneration({ config }) {
      tell('generation');
      return generationOf(config);
    },
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
    traffic: { configure: () => tell('traffic') },
    endPeerConnections: () => tell('peers'),
    servers: { configure: () => tell('servers') },
    embeddedSync: {
      async prepare() {
        tell('cluster');
        return () => tell('cluster is read');
      },
    },
    onApplied: () => tell('applied'),
  };
  const apply = (config: ServeConfig) => applyConfiguration({ config, needsRestart: [] }, users);
  return { apply, told, live };
}

function anchorsOf(config: ServeConfig): string {
  const { clientAuthorities } = credentialsOf(config);
  return [...clientAuthorities.clientCa, ...clientAuthorities.requestHeaderCa].map(String).join();
}

describe('a configuration that is taken into use', () => {
  it('reaches every part, once none of them can refuse it any more', async () => {
    const { apply, told, live } = usersThat();
    await apply(next);
    assert.deepEqual(told, [
      'generation',
      'cluster',
      'server',
      'transport',
      'traffic',
      'servers',
      'peers',
      'cluster is read',
      'applied',
    ]);
    assert.equal(live.current.config, next);
    assert.equal(live.current.addressPolicy.allowedCidrs?.length, 1);
  });

  it('leaves connections to API servers alone where nothing about them has changed', async () => {
    const { apply, told } = usersThat();
    await apply({ ...started, allowedUsers: ['alice'] });
    assert.deepEqual(told, [
      'generation',
      'cluster',
      'server as before',
      'traffic',
      'servers',
      'cluster is read',
      'applied',
    ]);
  });

  for (const [refusal, before] of [
    ['generation', []],
    ['cluster', ['generation']],
    ['server', ['generation', 'cluster']],
    ['transport', ['generation', 'cluster', 'server', 'server as before']],
  ] as const) {
    it(`is not, in any part, when ${refusal} refuses it`, async () => {
      const { apply, told, live } = usersThat(refusal);
      const last = live.current;
      await assert.rejects(apply(next), new TypeError(`${refusal} refuses`));
      assert.deepEqual(told, before);
      assert.equal(live.current, last);
    });
  }
});
