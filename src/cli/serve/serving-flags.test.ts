import assert from 'node:assert/strict';
import { before, describe, it, test } from 'node:test';
import { createSecureContext } from 'node:tls';
import { createCertificateAuthority } from '../../../demo/certificate-authority.ts';
import { type FlagChanges, ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
});

describe('addresses', () => {
  it('are refused half set: upstream ignores them without a word', async () => {
    assert.deepEqual(await check.issues({ 'peer-advertise-ip': ['10.0.0.1'] }), ['--peer-advertise-ip']);
    assert.deepEqual(await check.issues({ 'peer-advertise-port': ['6443'] }), ['--peer-advertise-port']);
  });

  it('are advertised as set', async () => {
    const config = await check.config({ 'peer-advertise-ip': ['fd00::1'], 'peer-advertise-port': ['7443'] });
    assert.deepEqual(config.advertisedAddress, { host: 'fd00::1', port: 7443, source: 'peer-advertise-ip' });
  });

  it('need a serving certificate that peers accept in place of the API server’s', async () => {
    const given: FlagChanges = { 'advertise-address': ['10.0.0.1'] };
    assert.match(
      (await check.warnings(given)).join('\n'),
      /--tls-cert-file does not name kubernetes\.default/,
    );
    const authority = await createCertificateAuthority('cluster');
    const named = await authority.issue({
      commonName: 'router',
      dnsNames: ['kubernetes.default.svc'],
      usage: 'server',
    });
    const pair = [
      ['serving.crt', named.certificate],
      ['serving.key', named.privateKey],
    ] as const;
    const files = new Map([...check.files, ...pair]);
    assert.deepEqual(await new ServeOptionsCheck(files).warnings(given), []);
    assert.deepEqual(await check.warnings({}), [], 'nothing is given, and nobody calls it');
  });

  it('are of no use to a gateway, which stands in front of no server of its own', async () => {
    const given: FlagChanges = {
      gateway: ['true'],
      'server-id': undefined,
      'local-server': undefined,
      'advertise-address': ['10.0.0.1'],
    };
    assert.match((await check.warnings(given)).join('\n'), /--advertise-address has no use with --gateway/);
  });

  it('are refused where they are no IP addresses, or none that a peer can call', async () => {
    assert.deepEqual(await check.issues({ 'advertise-address': ['example.com'] }), ['--advertise-address']);
    for (const useless of ['0.0.0.0', '::', '224.0.0.1', '169.254.1.1']) {
      const given: FlagChanges = { 'peer-advertise-ip': [useless], 'peer-advertise-port': ['6443'] };
      assert.deepEqual(await check.issues(given), ['--peer-advertise-ip'], useless);
    }
  });

  it('have ports from 1 to 65535; only the serving port may be 0, for any free one', async () => {
    assert.equal((await check.config({ 'secure-port': ['0'] })).securePort, 0);
    for (const port of ['65536', '-1', '6443.5', '0x10', '']) {
      assert.deepEqual(await check.issues({ 'secure-port': [port] }), ['--secure-port'], port);
    }
    assert.deepEqual(
      await check.issues({ 'peer-advertise-ip': ['10.0.0.1'], 'peer-advertise-port': ['0'] }),
      ['--peer-advertise-port'],
    );
  });

  it('of the local server are an https origin and nothing else', async () => {
    assert.equal(
      (await check.config({ 'local-server': ['https://[::1]:6444/'] })).local?.origin,
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
      assert.deepEqual(await check.issues({ 'local-server': [wrong] }), ['--local-server'], wrong);
    }
  });

  it('of peers are bounded by the blocks that are allowed', async () => {
    const config = await check.config({
      'allowed-peer-cidrs': ['10.0.0.0/8,fd00::/8'],
      'allow-loopback-peers': ['true'],
    });
    assert.deepEqual(config.peerAddresses, {
      allowLoopbackPeers: true,
      allowedCidrs: ['10.0.0.0/8', 'fd00::/8'],
    });
    assert.deepEqual(await check.issues({ 'allowed-peer-cidrs': ['10.0.0.0/40'] }), ['--allowed-peer-cidrs']);
    assert.deepEqual(await check.issues({ 'allow-loopback-peers': ['perhaps'] }), ['--allow-loopback-peers']);
  });
});

describe('snapshot flags', () => {
  it('refuse a file of keys that is none, or that holds a private key', async () => {
    assert.deepEqual(await check.issues({ 'snapshot-keys': ['empty.crt'] }), ['--snapshot-keys']);
    assert.match(await check.messages({ 'snapshot-keys': ['private-keys.json'] }), /private/);
  });

  it('warn when nothing survives a restart', async () => {
    assert.match((await check.warnings({ 'snapshot-file': undefined })).join('\n'), /after a restart/);
  });
});

describe('--admin-bind-address', () => {
  it('is off unless it is given', async () => {
    assert.equal((await check.config()).settings.admin.bindAddress, undefined);
  });

  it('is an IP address and a port, of which 0 is any', async () => {
    for (const [text, host, port] of [
      ['127.0.0.1:9443', '127.0.0.1', 9443],
      ['[::1]:0', '::1', 0],
      ['0.0.0.0:9443', '0.0.0.0', 9443],
    ] as const) {
      const { settings } = await check.config({ 'admin-bind-address': [text] });
      assert.deepEqual(settings.admin.bindAddress, { host, port });
    }
    for (const text of ['9443', ':9443', 'localhost:9443', '127.0.0.1', '::1:9443', '127.0.0.1:70000', '0']) {
      assert.deepEqual(await check.issues({ 'admin-bind-address': [text] }), ['--admin-bind-address'], text);
    }
  });

  it('warns of an address that others can reach', async () => {
    assert.deepEqual(await check.warnings({ 'admin-bind-address': ['127.0.0.2:9443'] }), []);
    const [warning] = await check.warnings({ 'admin-bind-address': ['10.0.0.7:9443'] });
    assert.match(warning ?? '', /--admin-bind-address: 10\.0\.0\.7 is no loopback address/);
  });
});

const tls = async (...names: string[]) => (await check.config({ 'tls-cipher-suites': names })).tls;

describe('TLS of the serving port', () => {
  it('is 1.2 or later with OpenSSL’s suites, unless something is given', async () => {
    assert.deepEqual((await check.config()).tls, { minVersion: 'TLSv1.2', ciphers: undefined });
    const { tls: given } = await check.config({ 'tls-min-version': ['VersionTLS13'] });
    assert.equal(given.minVersion, 'TLSv1.3');
  });

  it('knows suites by the names of kube-apiserver, and keeps those of TLS 1.3', async () => {
    const { ciphers = '' } = await tls(
      'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
      'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
    );
    assert.equal(
      ciphers,
      'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305',
    );
    assert.doesNotThrow(() => createSecureContext({ ciphers }));
    const only13 = await tls('TLS_AES_128_GCM_SHA256');
    assert.doesNotThrow(() => createSecureContext({ ciphers: only13.ciphers }));
  });

  it('refuses versions and suites that are too old, and lists the others', async () => {
    assert.match(
      await check.messages({ 'tls-cipher-suites': ['TLS_RSA_WITH_AES_128_CBC_SHA'] }),
      /has "TLS_RSA_WITH_AES_128_CBC_SHA", which HTTP\/2 does not allow; it allows TLS_ECDHE_ECDSA_WITH_AES_128_GCM/,
    );
    assert.match(
      await check.messages({ 'tls-min-version': ['VersionTLS11'] }),
      /--tls-min-version must be one of VersionTLS12, VersionTLS13/,
    );
  });
});

describe('serving pairs with names', () => {
  const named = async (...given: string[]) =>
    (await check.config({ 'tls-sni-cert-key': given })).namedServing.map(
      ({ certificate, privateKey, names }) => [certificate.path, privateKey.path, ...names],
    );

  it('are files with names or without, one pair for each flag', async () => {
    assert.deepEqual(
      await named('serving.crt,serving.key', ' serving.crt, serving.key : *.foo.com , foo.com'),
      [
        ['serving.crt', 'serving.key'],
        ['serving.crt', 'serving.key', '*.foo.com', 'foo.com'],
      ],
    );
  });

  it('must be written that way, and fit each other', async () => {
    for (const given of ['serving.crt', 'serving.crt,serving.key:', 'a,b,c', ',serving.key:foo.com']) {
      assert.match(
        await check.messages({ 'tls-sni-cert-key': [given] }),
        /--tls-sni-cert-key must be a certificate and its key, as a flag cert\.crt,cert\.key/,
        given,
      );
    }
    assert.match(
      await check.messages({ 'tls-sni-cert-key': ['serving.crt,front-proxy-client.key'] }),
      /--tls-sni-cert-key: the key in front-proxy-client\.key does not belong/,
    );
  });

  it('are never chosen by an address', async () => {
    const warnings = await check.warnings({ 'tls-sni-cert-key': ['serving.crt,serving.key:10.0.0.1,::1'] });
    assert.match(warnings.join('\n'), /10\.0\.0\.1 is never asked for.*\n.*::1 is never asked for/);
  });
});

describe('time-out, overload and shutdown flags', () => {
  it('have defaults that hold without a word from the operator', async () => {
    const { timeouts, settings } = await check.config();
    assert.deepEqual(timeouts, { request: 60_000, responseHeader: 45_000 });
    assert.deepEqual(settings.limits, {
      requestsInFlight: 4_000,
      mutatingRequestsInFlight: 2_000,
      longRunningRequests: 20_000,
      goawayChance: 0,
    });
    assert.deepEqual(settings.shutdown, { delay: 0, watchTerminationGracePeriod: 10_000 });
  });

  it('are read as Go writes durations and numbers', async () => {
    const { timeouts, settings } = await check.config({
      'request-timeout': ['1m30s'],
      'response-header-timeout': ['30s'],
      'max-requests-inflight': ['0'],
      'goaway-chance': ['0.001'],
      'shutdown-delay-duration': ['15s'],
      'shutdown-watch-termination-grace-period': ['0s'],
    });
    assert.equal(timeouts.request, 90_000);
    assert.equal(timeouts.responseHeader, 30_000);
    assert.equal(settings.limits.requestsInFlight, 0);
    assert.equal(settings.limits.goawayChance, 0.001);
    assert.deepEqual(settings.shutdown, { delay: 15_000, watchTerminationGracePeriod: 0 });
  });

  it('are all reported at once when they are wrong', async () => {
    assert.deepEqual(
      await check.issues({
        'request-timeout': ['0s'],
        'response-header-timeout': ['-1s'],
        'max-requests-inflight': ['-1'],
        'max-mutating-requests-inflight': ['1e3'],
        'max-long-running-requests': [''],
        'goaway-chance': ['0.5'],
        'shutdown-delay-duration': ['90'],
        'shutdown-watch-termination-grace-period': ['2h'],
      }),
      [
        '--request-timeout',
        '--response-header-timeout',
        '--max-requests-inflight',
        '--max-mutating-requests-inflight',
        '--max-long-running-requests',
        '--goaway-chance',
        '--shutdown-delay-duration',
        '--shutdown-watch-termination-grace-period',
      ],
    );
  });

  it('say what a value should have been', async () => {
    const messages = await check.messages({ 'request-timeout': ['60'], 'goaway-chance': ['1'] });
    assert.match(messages, /--request-timeout must be a duration from 1s to 24h, such as 10s, not "60"/);
    assert.match(messages, /--goaway-chance must be a number from 0 to 0\.02, not 1/);
  });

  it('warn of a wait that never ends by itself', async () => {
    const warnings = await check.warnings({ 'response-header-timeout': ['60s'] });
    assert.ok(warnings.some((warning) => warning.includes('--response-header-timeout is not shorter')));
  });
});

test('servers are probed every five seconds unless something else is asked for', async () => {
  assert.deepEqual((await check.config()).health, { interval: 5_000 });
  const given = await check.config({ 'health-check-interval': ['500ms'] });
  assert.deepEqual(given.health, { interval: 500 });
});

test('an interval of zero turns probes off', async () => {
  assert.equal((await check.config({ 'health-check-interval': ['0s'] })).health, undefined);
});

test('an interval that would hammer the servers is an error', async () => {
  assert.deepEqual(await check.issues({ 'health-check-interval': ['1ms'] }), ['--health-check-interval']);
});

test('with the feature gate off nothing is probed, and a flag for it is an error', async () => {
  const off = {
    'feature-gates': ['UnknownVersionInteroperabilityProxy=false'],
    'peer-ca-file': undefined,
    'local-server-ca-file': ['ca.crt'],
  } as const;
  assert.equal((await check.config(off)).health, undefined);
  assert.deepEqual(await check.issues({ ...off, 'health-check-interval': ['1s'] }), [
    '--health-check-interval',
  ]);
});
