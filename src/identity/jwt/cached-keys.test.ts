import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { goodClaims, keySetOf, type TokenSigner, tokenSigner } from '../../../test/support/token-signer.ts';
import { CachedKeys } from './cached-keys.ts';
import type { KeySet } from './key-set.ts';
import { verifySignature } from './verify-signature.ts';

/** An issuer whose keys and fate a test decides. */
function issuerUnderTest() {
  const { logger, lines } = recordingLogger();
  const state = { now: 1_000_000, loads: 0, signers: [] as TokenSigner[], down: false };
  const keys = new CachedKeys({
    issuer: 'https://issuer.example',
    async load(): Promise<KeySet> {
      state.loads++;
      if (state.down) throw new Error('connection refused');
      return keySetOf(...state.signers);
    },
    clock: () => state.now,
    logger,
  });
  return { state, keys, lines };
}

describe('keys of an issuer', () => {
  it('are loaded once for many tokens, also when they come at once', async () => {
    const { state, keys } = issuerUnderTest();
    const signer = await tokenSigner();
    state.signers = [signer];
    const token = await signer.sign(goodClaims());
    await Promise.all(Array.from({ length: 20 }, () => verifySignature(token, keys)));
    await verifySignature(token, keys);
    assert.equal(state.loads, 1);
  });

  it('that are rotated are picked up with the first token of the new one', async () => {
    const { state, keys } = issuerUnderTest();
    const [old, renewed] = [await tokenSigner('old'), await tokenSigner('new')];
    state.signers = [old];
    await verifySignature(await old.sign(goodClaims()), keys);
    state.signers = [renewed];
    state.now += 30_000;
    assert.equal((await verifySignature(await renewed.sign(goodClaims()), keys))['sub'], 'jane');
    assert.equal(state.loads, 2);
    await assert.rejects(verifySignature(await old.sign(goodClaims()), keys), { code: 'UnknownKey' });
  });

  it('that are rotated without key IDs are picked up too', async () => {
    const { state, keys } = issuerUnderTest();
    const [old, renewed] = [await tokenSigner('old'), await tokenSigner('new')];
    state.signers = [old];
    await keys.refresh();
    state.signers = [renewed];
    state.now += 30_000;
    const token = await renewed.sign(goodClaims(), { kid: undefined });
    assert.equal((await verifySignature(token, keys))['sub'], 'jane');
  });

  it('are not loaded for every made-up key ID: one fetch in a cool-down', async () => {
    const { state, keys } = issuerUnderTest();
    state.signers = [await tokenSigner()];
    await keys.refresh();
    const attack = async (): Promise<void> => {
      for (let number = 0; number < 50; number++) {
        const forger = await tokenSigner(`made-up-${number}`);
        await assert.rejects(verifySignature(await forger.sign(goodClaims()), keys), { code: 'UnknownKey' });
      }
    };
    state.now += 29_999;
    await attack();
    assert.equal(state.loads, 1);
    state.now += 1;
    await attack();
    assert.equal(state.loads, 2);
  });

  it('are not loaded again for a bad signature under a known key ID', async () => {
    const { state, keys } = issuerUnderTest();
    state.signers = [await tokenSigner('key-1')];
    await keys.refresh();
    state.now += 60_000;
    const forger = await tokenSigner('key-1');
    await assert.rejects(verifySignature(await forger.sign(goodClaims()), keys), {
      code: 'InvalidSignature',
    });
    assert.equal(state.loads, 1);
  });

  it('that grow old are renewed while the old ones answer', async () => {
    const { state, keys } = issuerUnderTest();
    const [old, renewed] = [await tokenSigner('old'), await tokenSigner('new')];
    state.signers = [old];
    await keys.refresh();
    state.signers = [renewed];
    state.now += 600_000;
    const token = await old.sign(goodClaims());
    await verifySignature(token, keys);
    await keys.refresh();
    assert.equal(state.loads, 2, 'the renewal under way is joined, not repeated');
    await assert.rejects(verifySignature(token, keys), { code: 'UnknownKey' });
  });

  it('stay in use when the issuer goes down, and the log says so', async () => {
    const { state, keys, lines } = issuerUnderTest();
    const signer = await tokenSigner();
    state.signers = [signer];
    await keys.refresh();
    state.down = true;
    state.now += 3_600_000;
    await keys.refresh();
    assert.equal(state.loads, 2);
    assert.equal((await verifySignature(await signer.sign(goodClaims()), keys))['sub'], 'jane');
    assert.equal(lines.length, 1);
    assert.match(lines[0]?.message ?? '', /could not be renewed: the known ones stay in use/);
    assert.equal(lines[0]?.fields['issuer'], 'https://issuer.example');
  });

  it('that never came leave tokens unjudged, ask rarely, and come when the issuer does', async () => {
    const { state, keys, lines } = issuerUnderTest();
    const signer = await tokenSigner();
    const token = await signer.sign(goodClaims());
    state.down = true;
    for (let count = 0; count < 10; count++) {
      await assert.rejects(verifySignature(token, keys), { code: 'KeysUnavailable' });
    }
    assert.equal(state.loads, 1);
    assert.equal(lines.length, 1);
    assert.match(lines[0]?.message ?? '', /pass through unverified/);
    state.down = false;
    state.signers = [signer];
    state.now += 30_000;
    assert.equal((await verifySignature(token, keys))['sub'], 'jane');
  });

  it('are renewed although the clock was set back', async () => {
    const { state, keys } = issuerUnderTest();
    state.signers = [await tokenSigner()];
    await keys.refresh();
    state.now -= 3_600_000;
    await keys.refresh();
    assert.equal(state.loads, 2);
  });
});
