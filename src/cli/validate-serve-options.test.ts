import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import {
  type CertificateAuthority,
  createCertificateAuthority,
} from '../../scripts/demo/certificate-authority.ts';
import { generateSigningKey } from '../snapshot/signing-key.ts';
import type { RawServeOptions, ServeFlagName } from './serve-flags.ts';
import { type ServeOptionsResult, validateServeOptions } from './validate-serve-options.ts';

const files = new Map<string, string>();
const network = {
  addresses: [{ interface: 'eth0', address: '10.0.0.7', internal: false }],
  defaultRouteInterfaces: ['eth0'],
};
let clusterCa: CertificateAuthority;

const complete: RawServeOptions = {
  'server-id': ['cp-a'],
  'local-server': ['https://127.0.0.1:6444'],
  'tls-cert-file': ['serving.crt'],
  'tls-private-key-file': ['serving.key'],
  'client-ca-file': ['ca.crt'],
  'peer-ca-file': ['ca.crt'],
  'proxy-client-cert-file': ['front-proxy-client.crt'],
  'proxy-client-key-file': ['front-proxy-client.key'],
  'requestheader-client-ca-file': ['front-proxy-ca.crt'],
  'requestheader-allowed-names': ['front-proxy-client'],
  'snapshot-keys': ['snapshot-keys.json'],
  'snapshot-file': ['snapshot'],
};

type Changes = Partial<Record<ServeFlagName, readonly string[] | undefined>>;

/** The complete options with some flags changed, or left out where the change is `undefined`. */
function validate(changes: Changes = {}, now = Date.now()): Promise<ServeOptionsResult> {
  const raw = Object.fromEntries(
    Object.entries({ ...complete, ...changes }).filter(([, given]) => given !== undefined),
  );
  return validateServeOptions(raw, {
    network,
    now,
    readFile: (path) => {
      const text = files.get(path);
      if (text === undefined) throw new Error('ENOENT: no such file or directory');
      return text;
    },
  });
}

async function faultsOf(changes: Changes): Promise<string[]> {
  const result = await validate(changes);
  if (result.ok) return [];
  for (const { flag, message } of result.faults) {
    assert.ok(message.includes(flag), `"${message}" names ${flag}`);
  }
  return result.faults.map(({ flag }) => flag);
}

async function messagesOf(changes: Changes): Promise<string> {
  const result = await validate(changes);
  assert.ok(!result.ok);
  return result.faults.map(({ message }) => message).join('\n');
}

async function warningsOf(changes: Changes): Promise<string[]> {
  const result = await validate(changes);
  assert.ok(result.ok, JSON.stringify(result));
  return result.warnings.map(({ message }) => message);
}

async function configOf(changes: Changes = {}) {
  const result = await validate(changes);
  assert.ok(result.ok, JSON.stringify(result));
  return result.config;
}

before(async () => {
  clusterCa = await createCertificateAuthority('cluster');
  const frontProxyCa = await createCertificateAuthority('front-proxy');
  const serving = await clusterCa.issue({ commonName: 'router', usage: 'server' });
  const frontProxy = await frontProxyCa.issue({ commonName: 'front-proxy-client', usage: 'client' });
  const { publicJwk, privateJwk } = await generateSigningKey('EdDSA');
  files.set('ca.crt', clusterCa.certificate);
  files.set('front-proxy-ca.crt', frontProxyCa.certificate);
  files.set('both-cas.crt', frontProxyCa.certificate + clusterCa.certificate);
  files.set('serving.crt', serving.certificate + clusterCa.certificate);
  files.set('serving.key', serving.privateKey);
  files.set('front-proxy-client.crt', frontProxy.certificate);
  files.set('front-proxy-client.key', frontProxy.privateKey);
  files.set('empty.crt', 'no certificate in here\n');
  files.set('broken.crt', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  files.set('snapshot-keys.json', JSON.stringify({ keys: [publicJwk] }));
  files.set('private-keys.json', JSON.stringify({ keys: [privateJwk] }));
});

describe('the options of serve', () => {
  it('make a configuration when they are complete', async () => {
    const config = await configOf();
    assert.equal(config.serverId, 'cp-a');
    assert.equal(config.featureGateEnabled, true);
    assert.deepEqual(config.local, {
      origin: 'https://127.0.0.1:6444',
      serverName: 'kubernetes.default.svc',
      ca: { path: 'ca.crt', pem: clusterCa.certificate },
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
    assert.deepEqual(config.allowedGroups, ['system:masters']);
    assert.deepEqual(config.allowedUsers, []);
    assert.equal(config.snapshot.stalePolicy, 'local');
    assert.equal(config.snapshot.keys?.pinned.size, 1);
    assert.equal(config.extensionRouting, 'local');
    assert.deepEqual(config.peerAddresses, { allowLoopbackPeers: false, allowedCidrs: undefined });
    assert.deepEqual(config.advertisedAddress, { host: '10.0.0.7', port: 6443, source: 'default-interface' });
    assert.deepEqual(await warningsOf({}), []);
  });

  it('report every fault at once, in words that name the flag', async () => {
    assert.deepEqual(
      await faultsOf({
        'server-id': undefined,
        'secure-port': ['70000'],
        'peer-ca-file': ['missing.crt'],
        'bind-address': ['localhost'],
        'snapshot-stale-policy': ['never'],
        'tls-private-key-file': ['front-proxy-client.key'],
      }),
      [
        '--server-id',
        '--bind-address',
        '--secure-port',
        '--tls-private-key-file',
        '--peer-ca-file',
        '--snapshot-stale-policy',
      ],
    );
  });

  it('are all missing when nothing is given', async () => {
    const nothing = Object.fromEntries(Object.keys(complete).map((name) => [name, undefined]));
    assert.deepEqual(await faultsOf(nothing), [
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
    const config = await configOf({
      'server-id': ['cp-a', 'cp-b'],
      'requestheader-allowed-names': ['one,two', '"three, and a half"', 'four'],
      'allowed-users': ['alice', 'bob'],
    });
    assert.equal(config.serverId, 'cp-b');
    assert.deepEqual(config.requestHeader?.allowedNames, ['one', 'two', 'three, and a half', 'four']);
    assert.deepEqual(config.allowedUsers, ['alice', 'bob']);
  });
});

describe('the feature gate', () => {
  const off = ['UnknownVersionInteroperabilityProxy=false'];
  const gateOff: Changes = {
    'feature-gates': off,
    'peer-ca-file': undefined,
    'local-server-ca-file': ['ca.crt'],
    'snapshot-keys': undefined,
    'snapshot-file': undefined,
  };

  it("may be turned on in so many words, in all of Go's spellings", async () => {
    for (const word of ['true', 'True', 'TRUE', 't', '1']) {
      const config = await configOf({ 'feature-gates': [`UnknownVersionInteroperabilityProxy=${word}`] });
      assert.equal(config.featureGateEnabled, true, word);
    }
  });

  it('turned off makes a plain pass-through that needs neither peers nor snapshots', async () => {
    const config = await configOf(gateOff);
    assert.equal(config.featureGateEnabled, false);
    assert.equal(config.peerCa, undefined);
    assert.equal(config.local.ca.path, 'ca.crt');
    assert.equal(config.snapshot.keys, undefined);
  });

  it("turned off makes each flag that needs it an error in upstream's words", async () => {
    const messages = await messagesOf({
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
    assert.deepEqual(await faultsOf({ ...gateOff, 'local-server-ca-file': undefined }), [
      '--local-server-ca-file',
    ]);
    const withoutPair = {
      ...gateOff,
      'proxy-client-cert-file': undefined,
      'proxy-client-key-file': undefined,
    };
    assert.deepEqual(await faultsOf(withoutPair), ['--proxy-client-cert-file', '--proxy-client-key-file']);
    const config = await configOf({
      ...withoutPair,
      'client-ca-file': undefined,
      'requestheader-client-ca-file': undefined,
      'requestheader-allowed-names': undefined,
    });
    assert.equal(config.proxyClient, undefined);
  });

  it('is refused when it is another one or has no value', async () => {
    assert.match(
      await messagesOf({ 'feature-gates': ['Nonsense=true'] }),
      /unrecognized feature gate: Nonsense/,
    );
    assert.match(
      await messagesOf({ 'feature-gates': ['UnknownVersionInteroperabilityProxy'] }),
      /must be set to true or false/,
    );
    assert.match(
      await messagesOf({ 'feature-gates': ['UnknownVersionInteroperabilityProxy=maybe'] }),
      /must be set to true or false/,
    );
  });
});

describe('certificates and keys', () => {
  it("are missed in upstream's words when the front-proxy pair is not there", async () => {
    const messages = await messagesOf({
      'proxy-client-cert-file': undefined,
      'proxy-client-key-file': undefined,
    });
    assert.match(messages, /error building peer proxy handler, proxy-cert-file not specified/);
    assert.match(messages, /error building peer proxy handler, proxy-key-file not specified/);
  });

  it('are refused when the file cannot be read, holds none or a broken one', async () => {
    assert.match(await messagesOf({ 'client-ca-file': ['missing.crt'] }), /cannot read missing\.crt: ENOENT/);
    assert.match(
      await messagesOf({ 'client-ca-file': ['empty.crt'] }),
      /empty\.crt holds no PEM certificate/,
    );
    assert.match(await messagesOf({ 'peer-ca-file': ['broken.crt'] }), /certificate 1 of 1 in broken\.crt/);
    assert.deepEqual(await faultsOf({ 'tls-private-key-file': ['serving.crt'] }), ['--tls-private-key-file']);
  });

  it('are refused when the key belongs to another certificate', async () => {
    assert.match(
      await messagesOf({ 'proxy-client-key-file': ['serving.key'] }),
      /serving\.key does not belong to the first certificate of --proxy-client-cert-file/,
    );
  });

  it('are refused when a CA would make ordinary clients front proxies', async () => {
    const same: Changes = { 'requestheader-client-ca-file': ['ca.crt'] };
    assert.deepEqual(await faultsOf(same), ['--requestheader-client-ca-file']);
    assert.deepEqual(await faultsOf({ 'requestheader-client-ca-file': ['both-cas.crt'] }), [
      '--requestheader-client-ca-file',
    ]);
  });

  it('are warned about once they have expired or before they are valid', async () => {
    const year = 365 * 24 * 3_600_000;
    const later = await validate({}, Date.now() + year);
    assert.ok(
      later.ok && later.warnings.some(({ message }) => /CN=router in serving\.crt expired/.test(message)),
    );
    const earlier = await validate({}, Date.now() - year);
    assert.ok(earlier.ok && earlier.warnings.some(({ message }) => /is not valid before/.test(message)));
  });

  it('never show what is in a key file', async () => {
    files.set('secret.key', 'hunter2');
    assert.doesNotMatch(await messagesOf({ 'tls-private-key-file': ['secret.key'] }), /hunter2/);
    assert.doesNotMatch(await messagesOf({ 'snapshot-keys': ['secret.key'] }), /hunter2/);
  });
});

describe('request-header flags', () => {
  it('take a blank list of names as "any", and say what that means', async () => {
    const blank: Changes = { 'requestheader-allowed-names': [''] };
    assert.equal((await configOf(blank)).requestHeader?.allowedNames, 'any');
    assert.match((await warningsOf(blank)).join('\n'), /--requestheader-allowed-names is blank/);
  });

  it('refuse a forgotten list of names, and one that guards nothing', async () => {
    assert.deepEqual(await faultsOf({ 'requestheader-allowed-names': undefined }), [
      '--requestheader-allowed-names',
    ]);
    assert.deepEqual(await faultsOf({ 'requestheader-client-ca-file': undefined }), [
      '--requestheader-allowed-names',
    ]);
  });

  it("refuse blank entries in upstream's words", async () => {
    for (const flag of [
      'requestheader-allowed-names',
      'requestheader-username-headers',
      'requestheader-uid-headers',
      'requestheader-group-headers',
      'requestheader-extra-headers-prefix',
    ] as const) {
      const given = flag === 'requestheader-allowed-names' ? 'one,,two' : 'X-Remote-User,';
      assert.ok((await messagesOf({ [flag]: [given] })).includes(`empty value in "--${flag}"`), flag);
    }
    assert.match(await messagesOf({ 'requestheader-group-headers': [''] }), /empty value in/);
  });

  it('warn when a standard header is left out, and refuse it for the UID', async () => {
    assert.deepEqual(await warningsOf({ 'requestheader-username-headers': ['X-User'] }), [
      '--requestheader-username-headers is set without specifying the standard X-Remote-User header - API aggregation will not work',
    ]);
    assert.deepEqual(await warningsOf({ 'requestheader-extra-headers-prefix': ['X-Extra-'] }), [
      '--requestheader-extra-headers-prefix is set without specifying the standard X-Remote-Extra- header prefix - API aggregation will not work',
    ]);
    assert.deepEqual(await faultsOf({ 'requestheader-uid-headers': ['X-Uid'] }), [
      '--requestheader-uid-headers',
    ]);
    assert.deepEqual(await warningsOf({ 'requestheader-group-headers': ['x-remote-group,X-Group'] }), []);
  });

  it('refuse what is no header name', async () => {
    assert.match(
      await messagesOf({ 'requestheader-group-headers': ['X-Remote-Group,X Group'] }),
      /no header name/,
    );
  });

  it('may be left out, with a warning when nothing authenticates callers then', async () => {
    const without: Changes = {
      'client-ca-file': undefined,
      'requestheader-client-ca-file': undefined,
      'requestheader-allowed-names': undefined,
    };
    assert.equal((await configOf(without)).requestHeader, undefined);
    assert.match((await warningsOf(without)).join('\n'), /no caller is authenticated/);
  });
});

describe('addresses', () => {
  it('are refused half set: upstream ignores them without a word', async () => {
    assert.deepEqual(await faultsOf({ 'peer-advertise-ip': ['10.0.0.1'] }), ['--peer-advertise-ip']);
    assert.deepEqual(await faultsOf({ 'peer-advertise-port': ['6443'] }), ['--peer-advertise-port']);
  });

  it('are advertised as set', async () => {
    const config = await configOf({ 'peer-advertise-ip': ['fd00::1'], 'peer-advertise-port': ['7443'] });
    assert.deepEqual(config.advertisedAddress, { host: 'fd00::1', port: 7443, source: 'peer-advertise-ip' });
  });

  it('are refused where they are no IP addresses, or none that a peer can call', async () => {
    assert.deepEqual(await faultsOf({ 'advertise-address': ['example.com'] }), ['--advertise-address']);
    for (const useless of ['0.0.0.0', '::', '224.0.0.1', '169.254.1.1']) {
      const given: Changes = { 'peer-advertise-ip': [useless], 'peer-advertise-port': ['6443'] };
      assert.deepEqual(await faultsOf(given), ['--peer-advertise-ip'], useless);
    }
  });

  it('have ports from 1 to 65535; only the serving port may be 0, for any free one', async () => {
    assert.equal((await configOf({ 'secure-port': ['0'] })).securePort, 0);
    for (const port of ['65536', '-1', '6443.5', '0x10', '']) {
      assert.deepEqual(await faultsOf({ 'secure-port': [port] }), ['--secure-port'], port);
    }
    assert.deepEqual(await faultsOf({ 'peer-advertise-ip': ['10.0.0.1'], 'peer-advertise-port': ['0'] }), [
      '--peer-advertise-port',
    ]);
  });

  it('of the local server are an https origin and nothing else', async () => {
    assert.equal(
      (await configOf({ 'local-server': ['https://[::1]:6444/'] })).local.origin,
      'https://[::1]:6444',
    );
    for (const wrong of [
      'http://127.0.0.1:6444',
      '127.0.0.1:6444',
      'https://127.0.0.1:6444/api',
      'https://127.0.0.1:6444?x=y',
      'https://user@127.0.0.1:6444',
      'https://127.0.0.1:99999',
      'https://127.0.0.1\\evil',
    ]) {
      assert.deepEqual(await faultsOf({ 'local-server': [wrong] }), ['--local-server'], wrong);
    }
  });

  it('of peers are bounded by the blocks that are allowed', async () => {
    const config = await configOf({
      'allowed-peer-cidrs': ['10.0.0.0/8,fd00::/8'],
      'allow-loopback-peers': ['true'],
    });
    assert.deepEqual(config.peerAddresses, {
      allowLoopbackPeers: true,
      allowedCidrs: ['10.0.0.0/8', 'fd00::/8'],
    });
    assert.deepEqual(await faultsOf({ 'allowed-peer-cidrs': ['10.0.0.0/40'] }), ['--allowed-peer-cidrs']);
    assert.deepEqual(await faultsOf({ 'allow-loopback-peers': ['perhaps'] }), ['--allow-loopback-peers']);
  });
});

describe('snapshot flags', () => {
  it('refuse a file of keys that is none, or that holds a private key', async () => {
    assert.deepEqual(await faultsOf({ 'snapshot-keys': ['empty.crt'] }), ['--snapshot-keys']);
    assert.match(await messagesOf({ 'snapshot-keys': ['private-keys.json'] }), /private/);
  });

  it('warn when nothing survives a restart', async () => {
    assert.match((await warningsOf({ 'snapshot-file': undefined })).join('\n'), /after a restart/);
  });

  it('let nobody use the own paths when that is asked for', async () => {
    assert.deepEqual((await configOf({ 'allowed-groups': [''] })).allowedGroups, []);
  });
});
