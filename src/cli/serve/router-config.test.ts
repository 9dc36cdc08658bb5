import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createCertificateAuthority } from '../../../demo/certificate-authority.ts';
import { assertionKeysFile, speaker } from '../../../test/support/assertions.ts';
import {
  type FlagChanges,
  ServeOptionsCheck,
  serveFiles,
} from '../../../test/support/routers/serve-options.ts';

// Messages about flags, alone and together, stand in test/fixtures/flags (test/flags/golden.test.ts).

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
});

const nobodyIsAuthenticated: FlagChanges = {
  'client-ca-file': undefined,
  'requestheader-client-ca-file': undefined,
  'requestheader-allowed-names': undefined,
};
const withoutFrontProxy: FlagChanges = {
  'proxy-client-cert-file': undefined,
  'proxy-client-key-file': undefined,
};
const gateway: FlagChanges = { gateway: ['true'], 'server-id': undefined, 'local-server': undefined };
const gateOff: FlagChanges = {
  'feature-gates': ['UnknownVersionInteroperabilityProxy=false'],
  'peer-ca-file': undefined,
  'local-server-ca-file': ['ca.crt'],
  'snapshot-keys': undefined,
  'snapshot-file': undefined,
};

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
    assert.equal(config.settings.serving.port, 6443);
    assert.equal(config.serving.certificate.path, 'serving.crt');
    assert.equal(config.proxyClient?.privateKey.path, 'front-proxy-client.key');
    assert.deepEqual(config.requestHeader?.allowedNames, ['front-proxy-client']);
    assert.deepEqual(config.identityHeaderNames, {
      username: ['X-Remote-User'],
      uid: ['X-Remote-Uid'],
      group: ['X-Remote-Group'],
      extraPrefix: ['X-Remote-Extra-'],
    });
    assert.equal(config.snapshotKeys?.size, 1);
    assert.equal(config.assertionKeys, undefined);
    assert.deepEqual(
      [config.settings.peers.allowLoopback, config.settings.peers.allowedCIDRs],
      [false, undefined],
    );
    assert.deepEqual(config.advertisedAddress, { host: '10.0.0.7', port: 6443, source: 'default-interface' });
    assert.deepEqual(config.tls, { minVersion: 'TLSv1.2' });
    assert.deepEqual(config.timeouts, { responseHeader: 45_000, tlsHandshake: 10_000 });
    assert.equal(config.settings.timeouts.request, 60_000);
    assert.equal(config.health?.interval, 5_000);
    assert.deepEqual(config.settings.limits, {
      requestsInFlight: 4_000,
      mutatingRequestsInFlight: 2_000,
      longRunningRequests: 20_000,
      goawayChance: 0,
      http2MaxStreamsPerConnection: 0,
    });
    assert.deepEqual(config.settings.shutdown, { delay: 0, watchTerminationGracePeriod: 10_000 });
    assert.equal(config.settings.admin.bindAddress, undefined);
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

  it('count the last of a repeated value and all of a repeated list, commas included', async () => {
    const config = await check.config({
      'server-id': ['cp-a', 'cp-b'],
      'requestheader-allowed-names': ['one,two', '"three, and a half"', 'four'],
    });
    assert.equal(config.serverId, 'cp-b');
    assert.deepEqual(config.requestHeader?.allowedNames, ['one', 'two', 'three, and a half', 'four']);
  });

  it('are read as Go writes durations and numbers', async () => {
    const { timeouts, settings, health } = await check.config({
      'request-timeout': ['1m30s'],
      'max-requests-inflight': ['0'],
      'goaway-chance': ['0.001'],
      'shutdown-delay-duration': ['15s'],
      'shutdown-watch-termination-grace-period': ['0s'],
      'health-check-interval': ['500ms'],
      'secure-port': ['0'],
    });
    assert.equal(settings.timeouts.request, 90_000);
    assert.equal(timeouts.responseHeader, 45_000);
    assert.equal(settings.limits.requestsInFlight, 0);
    assert.equal(settings.limits.goawayChance, 0.001);
    assert.deepEqual(settings.shutdown, { delay: 15_000, watchTerminationGracePeriod: 0 });
    assert.equal(health?.interval, 500);
    assert.equal(settings.serving.port, 0);
    assert.equal((await check.config({ 'health-check-interval': ['0s'] })).health, undefined);
    const short = await check.config({ 'request-timeout': ['20s'] });
    assert.equal(short.timeouts.responseHeader, 15_000);
  });
});

describe('who calls', () => {
  it('may be told by any front proxy where the list of names is blank, and by none where there is no authority', async () => {
    const blank: FlagChanges = { 'requestheader-allowed-names': [''] };
    assert.deepEqual((await check.config(blank)).requestHeader?.allowedNames, []);
    assert.equal((await check.config(nobodyIsAuthenticated)).requestHeader, undefined);
  });

  it('is told by the assertions of several routers', async () => {
    const [edgeA, edgeB] = [await speaker('edge-a'), await speaker('edge-b', 'ES256')];
    const files = new Map([...check.files, ['routers.json', assertionKeysFile([edgeA, edgeB])]]);
    const { assertionKeys } = await new ServeOptionsCheck(files).config({
      'assertion-keys': ['routers.json'],
    });
    assert.deepEqual([...(assertionKeys?.keys() ?? [])], [edgeA.kid, edgeB.kid]);
  });
});

describe('the forms of a router', () => {
  it('a gateway has no local server, and without a front-proxy pair passes tokens through', async () => {
    const { serverId, local, peerCa } = await check.config(gateway);
    assert.deepEqual([serverId, local, peerCa?.path], [undefined, undefined, 'ca.crt']);
    const tokensOnly = {
      ...gateway,
      ...withoutFrontProxy,
      ...nobodyIsAuthenticated,
      'client-ca-file': ['ca.crt'],
    };
    assert.equal((await check.config(tokensOnly)).proxyClient, undefined);
  });

  it("the feature gate may be turned on in so many words, in all of Go's spellings", async () => {
    for (const word of ['true', 'True', 'TRUE', 't', '1']) {
      const config = await check.config({ 'feature-gates': [`UnknownVersionInteroperabilityProxy=${word}`] });
      assert.equal(config.featureGateEnabled, true, word);
    }
  });

  it('turned off it makes a plain pass-through that needs neither peers nor snapshots, and probes nothing', async () => {
    const { featureGateEnabled, peerCa, local, snapshotKeys, health } = await check.config(gateOff);
    assert.deepEqual([featureGateEnabled, local?.ca.path], [false, 'ca.crt']);
    assert.deepEqual([peerCa, snapshotKeys, health], [undefined, undefined, undefined]);
    const plain = await check.config({ ...gateOff, ...withoutFrontProxy, ...nobodyIsAuthenticated });
    assert.equal(plain.proxyClient, undefined);
  });
});

describe('addresses', () => {
  it('are advertised as set, by a certificate that peers accept in place of the API server’s', async () => {
    const config = await check.config({ 'peer-advertise-ip': ['fd00::1'], 'peer-advertise-port': ['7443'] });
    assert.deepEqual(config.advertisedAddress, { host: 'fd00::1', port: 7443, source: 'peer-advertise-ip' });
    const authority = await createCertificateAuthority('cluster');
    const named = await authority.issue({
      commonName: 'router',
      dnsNames: ['kubernetes.default.svc'],
      usage: 'server',
    });
    const files = new Map([
      ...check.files,
      ['serving.crt', named.certificate],
      ['serving.key', named.privateKey],
    ]);
    assert.deepEqual(await new ServeOptionsCheck(files).warnings({ 'advertise-address': ['10.0.0.1'] }), []);
  });

  it('of the local server may be IPv6, of peers are bounded by the blocks that are allowed', async () => {
    const { local, settings } = await check.config({
      'local-server': ['https://[::1]:6444/'],
      'allowed-peer-cidrs': ['10.0.0.0/8,fd00::/8'],
      'allow-loopback-peers': ['true'],
    });
    assert.equal(local?.origin, 'https://[::1]:6444');
    assert.deepEqual(settings.peers, {
      caFile: 'ca.crt',
      allowLoopback: true,
      allowedCIDRs: ['10.0.0.0/8', 'fd00::/8'],
    });
  });

  it('of the administrator are an IP address and a port, of which 0 is any', async () => {
    for (const [text, host, port] of [
      ['127.0.0.1:9443', '127.0.0.1', 9443],
      ['[::1]:0', '::1', 0],
    ] as const) {
      const { settings } = await check.config({ 'admin-bind-address': [text] });
      assert.deepEqual(settings.admin.bindAddress, { host, port });
    }
  });
});

describe('certificates', () => {
  it('are warned about once they have expired or before they are valid', async () => {
    const year = 365 * 24 * 3_600_000;
    for (const [now, said] of [
      [Date.now() + year, /CN=router in serving\.crt expired/],
      [Date.now() - year, /is not valid before/],
    ] as const) {
      const { warnings } = await check.validate({}, now);
      assert.match(warnings.map(({ message }) => message).join('\n'), said);
    }
  });

  it('with names are a pair for each flag, with names or without', async () => {
    const given = ['serving.crt,serving.key', ' serving.crt, serving.key : *.foo.com , foo.com'];
    const { namedServing } = await check.config({ 'tls-sni-cert-key': given });
    assert.deepEqual(
      namedServing.map(({ certificate, privateKey, names }) => [certificate.path, privateKey.path, ...names]),
      [
        ['serving.crt', 'serving.key'],
        ['serving.crt', 'serving.key', '*.foo.com', 'foo.com'],
      ],
    );
  });
});

describe('TLS of the serving port', () => {
  it('may begin with 1.3', async () => {
    const { tls: given } = await check.config({ 'tls-min-version': ['VersionTLS13'] });
    assert.equal(given.minVersion, 'TLSv1.3');
  });
});
