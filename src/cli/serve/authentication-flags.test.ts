import assert from 'node:assert/strict';
import { before, describe, it, test } from 'node:test';
import { type FlagChanges, ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
});

describe('request-header flags', () => {
  it('take a blank list of names as "any", and say what that means', async () => {
    const blank: FlagChanges = { 'requestheader-allowed-names': [''] };
    assert.equal((await check.config(blank)).requestHeader?.allowedNames, 'any');
    assert.match((await check.warnings(blank)).join('\n'), /--requestheader-allowed-names is blank/);
  });

  it('refuse a forgotten list of names, and one that guards nothing', async () => {
    assert.deepEqual(await check.issues({ 'requestheader-allowed-names': undefined }), [
      '--requestheader-allowed-names',
    ]);
    assert.deepEqual(await check.issues({ 'requestheader-client-ca-file': undefined }), [
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
      assert.ok((await check.messages({ [flag]: [given] })).includes(`empty value in "--${flag}"`), flag);
    }
    assert.match(await check.messages({ 'requestheader-group-headers': [''] }), /empty value in/);
    const { warnings } = await check.validate({ 'requestheader-allowed-names': ['one,,two'] });
    assert.deepEqual(warnings, [], 'it is no blank list');
  });

  it('warn when a standard header is left out, and refuse it for the UID', async () => {
    assert.deepEqual(await check.warnings({ 'requestheader-username-headers': ['X-User'] }), [
      '--requestheader-username-headers is set without specifying the standard X-Remote-User header - API aggregation will not work',
    ]);
    assert.deepEqual(await check.warnings({ 'requestheader-extra-headers-prefix': ['X-Extra-'] }), [
      '--requestheader-extra-headers-prefix is set without specifying the standard X-Remote-Extra- header prefix - API aggregation will not work',
    ]);
    assert.deepEqual(await check.issues({ 'requestheader-uid-headers': ['X-Uid'] }), [
      '--requestheader-uid-headers',
    ]);
    assert.deepEqual(await check.warnings({ 'requestheader-group-headers': ['x-remote-group,X-Group'] }), []);
  });

  it('refuse what is no header name', async () => {
    assert.match(
      await check.messages({ 'requestheader-group-headers': ['X-Remote-Group,X Group'] }),
      /must be a header name, not "X Group"/,
    );
  });

  it('may be left out, with a warning when nothing authenticates callers then', async () => {
    const without: FlagChanges = {
      'client-ca-file': undefined,
      'requestheader-client-ca-file': undefined,
      'requestheader-allowed-names': undefined,
    };
    assert.equal((await check.config(without)).requestHeader, undefined);
    assert.match((await check.warnings(without)).join('\n'), /no caller is authenticated/);
  });
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

describe('certificates and keys', () => {
  it('are missed when the front-proxy pair is not there', async () => {
    const messages = await check.messages({
      'proxy-client-cert-file': undefined,
      'proxy-client-key-file': undefined,
    });
    assert.match(
      messages,
      /--proxy-client-cert-file is required: the certificate that proves this router to API servers/,
    );
    assert.match(
      messages,
      /--proxy-client-key-file is required: the private key for --proxy-client-cert-file/,
    );
  });

  it('are refused when the file cannot be read, holds none or a broken one', async () => {
    assert.match(
      await check.messages({ 'client-ca-file': ['missing.crt'] }),
      /cannot read missing\.crt: ENOENT/,
    );
    assert.match(
      await check.messages({ 'client-ca-file': ['empty.crt'] }),
      /empty\.crt holds no PEM certificate/,
    );
    assert.match(
      await check.messages({ 'peer-ca-file': ['broken.crt'] }),
      /certificate 1 of 1 in broken\.crt/,
    );
    assert.deepEqual(await check.issues({ 'tls-private-key-file': ['serving.crt'] }), [
      '--tls-private-key-file',
    ]);
  });

  it('are refused when a CA bundle that is to give identity holds no certificate', async () => {
    for (const flag of ['client-ca-file', 'requestheader-client-ca-file'] as const) {
      assert.deepEqual(await check.issues({ [flag]: ['empty.crt'] }), [`--${flag}`]);
      assert.deepEqual(await check.issues({ [flag]: [''] }), [`--${flag}`]);
    }
  });

  it('are refused when either half of a pair cannot be read, or does not fit the other', async () => {
    for (const [certificate, key, otherKey] of [
      ['tls-cert-file', 'tls-private-key-file', 'front-proxy-client.key'],
      ['proxy-client-cert-file', 'proxy-client-key-file', 'serving.key'],
    ] as const) {
      assert.deepEqual(await check.issues({ [certificate]: ['missing.crt'] }), [`--${certificate}`]);
      assert.deepEqual(await check.issues({ [certificate]: ['broken.crt'] }), [`--${certificate}`]);
      assert.deepEqual(await check.issues({ [key]: ['missing.key'] }), [`--${key}`]);
      assert.deepEqual(await check.issues({ [key]: ['secret.key'] }), [`--${key}`]);
      assert.deepEqual(await check.issues({ [key]: [otherKey] }), [`--${key}`]);
    }
  });

  it('are refused when the key belongs to another certificate', async () => {
    assert.match(
      await check.messages({ 'proxy-client-key-file': ['serving.key'] }),
      /serving\.key does not belong to the first certificate of --proxy-client-cert-file/,
    );
  });

  it('are refused when a CA would make ordinary clients front proxies', async () => {
    const same: FlagChanges = { 'requestheader-client-ca-file': ['ca.crt'] };
    assert.deepEqual(await check.issues(same), ['--requestheader-client-ca-file']);
    assert.deepEqual(await check.issues({ 'requestheader-client-ca-file': ['both-cas.crt'] }), [
      '--requestheader-client-ca-file',
    ]);
  });

  it('are warned about once they have expired or before they are valid', async () => {
    const year = 365 * 24 * 3_600_000;
    const later = await check.validate({}, Date.now() + year);
    assert.ok(
      later.ok && later.warnings.some(({ message }) => /CN=router in serving\.crt expired/.test(message)),
    );
    const earlier = await check.validate({}, Date.now() - year);
    assert.ok(earlier.ok && earlier.warnings.some(({ message }) => /is not valid before/.test(message)));
  });

  it('never show what is in a key file', async () => {
    assert.doesNotMatch(await check.messages({ 'tls-private-key-file': ['secret.key'] }), /hunter2/);
    assert.doesNotMatch(await check.messages({ 'snapshot-keys': ['secret.key'] }), /hunter2/);
  });
});
