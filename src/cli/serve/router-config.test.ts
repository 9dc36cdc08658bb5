import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import {
  completeServeOptions,
  type FlagChanges,
  ServeOptionsCheck,
  serveFiles,
} from '../../../test/support/serve-options.ts';

const authenticatingFlags = ['client-ca-file', 'requestheader-client-ca-file', 'assertion-keys'] as const;

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
});

describe('the options of serve', () => {
  it('make a configuration when they are complete', async () => {
    const config = await check.config();
    assert.equal(config.serverId, 'cp-a');
    assert.equal(config.featureGateEnabled, true);
    assert.deepEqual(config.local, {
      origin: 'https://127.0.0.1:6444',
      serverName: 'kubernetes.default.svc',
      ca: { path: 'ca.crt', pem: check.files.get('ca.crt') },
    });
    assert.equal(config.securePort, 6443);
    assert.equal(config.serving.certificate.path, 'serving.crt');
    assert.equal(config.proxyClient?.privateKey.path, 'front-proxy-client.key');
    assert.deepEqual(config.requestHeader?.allowedNames, ['front-proxy-client']);
    assert.deepEqual(config.identityHeaderNames, {
      username: ['X-Remote-User'],
      uid: ['X-Remote-Uid'],
      group: ['X-Remote-Group'],
      extraPrefix: ['X-Remote-Extra-'],
    });
    assert.equal(config.snapshotKeys?.pinned.size, 1);
    assert.deepEqual(config.peerAddresses, { allowLoopbackPeers: false, allowedCidrs: undefined });
    assert.deepEqual(config.advertisedAddress, { host: '10.0.0.7', port: 6443, source: 'default-interface' });
    assert.deepEqual(await check.warnings({}), []);
  });

  it('report every error at once, in words that name the flag', async () => {
    assert.deepEqual(
      await check.issues({
        'server-id': undefined,
        'secure-port': ['70000'],
        'peer-ca-file': ['missing.crt'],
        'bind-address': ['localhost'],
        'tls-private-key-file': ['front-proxy-client.key'],
      }),
      ['--bind-address', '--secure-port', '--server-id', '--tls-private-key-file', '--peer-ca-file'],
    );
  });

  it('are all missing when nothing is given', async () => {
    const nothing = Object.fromEntries(Object.keys(completeServeOptions).map((name) => [name, undefined]));
    assert.deepEqual(await check.issues(nothing), [
      '--server-id',
      '--tls-cert-file',
      '--tls-private-key-file',
      '--peer-ca-file',
      '--local-server',
      '--proxy-client-cert-file',
      '--proxy-client-key-file',
      '--snapshot-keys',
    ]);
  });

  it('count the last of a repeated value and all of a repeated list, commas included', async () => {
    const config = await check.config({
      'server-id': ['cp-a', 'cp-b'],
      'requestheader-allowed-names': ['one,two', '"three, and a half"', 'four'],
    });
    assert.equal(config.serverId, 'cp-b');
    assert.deepEqual(config.requestHeader?.allowedNames, ['one', 'two', 'three, and a half', 'four']);
  });
});

describe('a router that authenticates no caller', () => {
  it('warns of it, with every flag by which it could', async () => {
    const warnings = await check.warnings({
      'client-ca-file': undefined,
      'requestheader-client-ca-file': undefined,
      'requestheader-allowed-names': undefined,
    });
    assert.equal(warnings.length, 1);
    assert.match(
      warnings[0] ?? '',
      /^none of --client-ca-file, --requestheader-client-ca-file and --assertion-keys is set: no caller is authenticated here/,
    );
  });
});

describe('the feature gate', () => {
  const off = ['UnknownVersionInteroperabilityProxy=false'];
  const gateOff: FlagChanges = {
    'feature-gates': off,
    'peer-ca-file': undefined,
    'local-server-ca-file': ['ca.crt'],
    'snapshot-keys': undefined,
    'snapshot-file': undefined,
  };

  it("may be turned on in so many words, in all of Go's spellings", async () => {
    for (const word of ['true', 'True', 'TRUE', 't', '1']) {
      const config = await check.config({ 'feature-gates': [`UnknownVersionInteroperabilityProxy=${word}`] });
      assert.equal(config.featureGateEnabled, true, word);
    }
  });

  it('turned off makes a plain pass-through that needs neither peers nor snapshots', async () => {
    const config = await check.config(gateOff);
    assert.equal(config.featureGateEnabled, false);
    assert.equal(config.peerCa, undefined);
    assert.equal(config.local?.ca.path, 'ca.crt');
    assert.equal(config.snapshotKeys, undefined);
  });

  it("turned off makes each flag that needs it an error in upstream's words", async () => {
    const messages = await check.messages({
      ...gateOff,
      'peer-ca-file': ['ca.crt'],
      'peer-advertise-ip': ['10.0.0.1'],
      'peer-advertise-port': ['6443'],
    });
    for (const flag of ['--peer-ca-file', '--peer-advertise-ip', '--peer-advertise-port']) {
      assert.ok(
        messages.includes(`${flag} requires UnknownVersionInteroperabilityProxy feature to be turned on`),
        messages,
      );
    }
  });

  it('turned off still needs a CA for the local server, and the front-proxy pair where callers are authenticated', async () => {
    assert.deepEqual(await check.issues({ ...gateOff, 'local-server-ca-file': undefined }), [
      '--local-server-ca-file',
    ]);
    const withoutPair = {
      ...gateOff,
      'proxy-client-cert-file': undefined,
      'proxy-client-key-file': undefined,
    };
    assert.deepEqual(await check.issues(withoutPair), [
      '--proxy-client-cert-file',
      '--proxy-client-key-file',
    ]);
    const config = await check.config({
      ...withoutPair,
      'client-ca-file': undefined,
      'requestheader-client-ca-file': undefined,
      'requestheader-allowed-names': undefined,
    });
    assert.equal(config.proxyClient, undefined);
  });

  it('turned off needs the front-proxy pair for every flag that authenticates callers: without it none is', async () => {
    for (const name of authenticatingFlags) {
      const issues = await check.issues({
        ...gateOff,
        'client-ca-file': undefined,
        'requestheader-client-ca-file': undefined,
        'requestheader-allowed-names': undefined,
        'proxy-client-cert-file': undefined,
        'proxy-client-key-file': undefined,
        [name]: ['missing'],
      });
      assert.ok(issues.includes('--proxy-client-cert-file'), name);
      assert.ok(issues.includes('--proxy-client-key-file'), name);
    }
  });

  it('is refused when it is another one or has no value', async () => {
    assert.match(
      await check.messages({ 'feature-gates': ['Nonsense=true'] }),
      /unrecognized feature gate: Nonsense/,
    );
    assert.match(
      await check.messages({ 'feature-gates': ['UnknownVersionInteroperabilityProxy'] }),
      /UnknownVersionInteroperabilityProxy must be true or false/,
    );
    assert.match(
      await check.messages({ 'feature-gates': ['UnknownVersionInteroperabilityProxy=maybe'] }),
      /UnknownVersionInteroperabilityProxy must be true or false/,
    );
  });
});
