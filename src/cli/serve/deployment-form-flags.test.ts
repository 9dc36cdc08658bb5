import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { type FlagChanges, ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
});

const gateway: FlagChanges = { gateway: ['true'], 'server-id': undefined, 'local-server': undefined };

describe('the gateway form', () => {
  test('has no local server', async () => {
    const config = await check.config(gateway);
    assert.equal(config.serverId, undefined);
    assert.equal(config.local, undefined);
    assert.equal(config.peerCa?.path, 'ca.crt');
  });

  test('has to be asked for: a forgotten --server-id does not make one', async () => {
    assert.deepEqual(await check.issues({ 'server-id': undefined, 'local-server': undefined }), [
      '--server-id',
      '--local-server',
    ]);
  });

  test('refuses every flag of a local server, all at once', async () => {
    assert.deepEqual(
      await check.issues({
        gateway: ['true'],
        'local-server-name': ['kubernetes'],
        'local-server-ca-file': ['ca.crt'],
        'assertion-keys': ['snapshot-keys.json'],
      }),
      [
        '--server-id',
        '--local-server',
        '--local-server-name',
        '--local-server-ca-file',
        '--assertion-keys',
        // And what is wrong with the file itself.
        '--assertion-keys',
      ],
    );
  });

  test('needs the feature gate', async () => {
    const issues = await check.issues({
      ...gateway,
      'feature-gates': ['UnknownVersionInteroperabilityProxy=false'],
      'peer-ca-file': undefined,
    });
    assert.ok(issues.includes('--gateway'));
  });

  test('refuses half of a front-proxy pair', async () => {
    assert.deepEqual(await check.issues({ ...gateway, 'proxy-client-key-file': undefined }), [
      '--proxy-client-key-file',
    ]);
  });
});

describe('a gateway without a front-proxy pair', () => {
  const tokensOnly: FlagChanges = {
    ...gateway,
    'proxy-client-cert-file': undefined,
    'proxy-client-key-file': undefined,
    'requestheader-client-ca-file': undefined,
    'requestheader-allowed-names': undefined,
  };

  const warnedOf = async (changes: FlagChanges) =>
    (await check.warnings(changes)).map((message) => message.split(' ')[0]);

  test('passes tokens through, and says at its start that certificates are refused', async () => {
    assert.equal((await check.config(tokensOnly)).proxyClient, undefined);
    assert.deepEqual(await warnedOf(tokensOnly), ['--proxy-client-cert-file']);
  });

  test('is warned of a setting that authenticates no caller there', async () => {
    const warned = await warnedOf({
      ...tokensOnly,
      'requestheader-client-ca-file': ['front-proxy-ca.crt'],
      'requestheader-allowed-names': ['front-proxy-client'],
    });
    assert.deepEqual(warned, ['--proxy-client-cert-file', '--requestheader-client-ca-file']);
  });
});
