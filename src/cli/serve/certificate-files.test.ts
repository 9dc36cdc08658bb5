import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type FlagChanges, ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
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
