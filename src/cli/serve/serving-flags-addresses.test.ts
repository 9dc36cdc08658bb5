import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
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
