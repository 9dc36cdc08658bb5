import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { janesRequest, pinned, signedAt, speaker } from '../../../test/support/assertions.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { AssertionKeySet } from './assertion-keys.ts';
import { createAssertionSigner } from './sign-assertion.ts';
import { AssertionVerifier, type AssertionVerifierOptions } from './verify-assertion.ts';

const routerA = await speaker('cp-a');
const routerC = await speaker('cp-c', 'ES256');
const keys = await pinned(routerA, routerC);

const verifier = (options: Partial<AssertionVerifierOptions> = {}): AssertionVerifier =>
  new AssertionVerifier({ keys: () => keys, audience: 'cp-b', clock: () => signedAt, ...options });

/** Signs Jane's request. */
async function sign(by = routerA, now = signedAt): Promise<string> {
  const signer = createAssertionSigner({ key: by.key, issuer: by.issuer, clock: () => now });
  return signer.sign(janesRequest);
}

describe('a replayed assertion', () => {
  it('is refused the second time', async () => {
    const text = await sign();
    const one = verifier();
    await one.verify(text, janesRequest);
    await assert.rejects(one.verify(text, janesRequest), { code: 'Replayed' });
  });

  it('is believed exactly once of a hundred times at once', async () => {
    const text = await sign();
    const one = verifier();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, () => one.verify(text, janesRequest)),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'Replayed');
    }
  });

  it('is refused until the last second of its life', async () => {
    const text = await sign();
    let now = signedAt;
    const one = verifier({ clock: () => now });
    await one.verify(text, janesRequest);
    now += 34_999;
    await assert.rejects(one.verify(text, janesRequest), { code: 'Replayed' });
    now += 1;
    await assert.rejects(one.verify(text, janesRequest), { code: 'Expired' });
    // Set back, the clock says that it is valid; its nonce is forgotten by then.
    await one.verify(await sign(routerA, now), janesRequest);
    now = signedAt;
    await assert.rejects(one.verify(text, janesRequest), { code: 'Replayed' });
  });

  it('used up nothing while it was refused for something else', async () => {
    const text = await sign();
    const one = verifier();
    await assert.rejects(one.verify(text, { ...janesRequest, method: 'PUT' }), { code: 'RequestMismatch' });
    await one.verify(text, janesRequest);
  });
});

describe('a flood of valid assertions', () => {
  it('is refused beyond the capacity, said so once, and stops nobody but its issuer', async () => {
    const errors: unknown[] = [];
    const logger: Logger = {
      debug() {},
      info() {},
      warn() {},
      error: (fields) => errors.push(fields),
    };
    let now = signedAt;
    const one = verifier({ replayCapacity: 3, logger, clock: () => now });
    const send = async (): Promise<unknown> => one.verify(await sign(routerA, now), janesRequest);
    for (let sent = 0; sent < 3; sent++) await send();
    await assert.rejects(send(), { code: 'ReplayWindowFull' });
    await assert.rejects(send(), { code: 'ReplayWindowFull' });
    assert.deepEqual(errors, [{ issuer: 'cp-a', remembered: 3 }]);
    await one.verify(await sign(routerC), janesRequest);
    now += 35_000;
    await send();
  });
});

describe('a rotation', () => {
  it('has two keys of one issuer valid, and then only the new one', async () => {
    const renewed = await speaker('cp-a', 'ES256');
    let current: AssertionKeySet = await pinned(routerA, renewed);
    const one = verifier({ keys: () => current });
    assert.equal((await one.verify(await sign(), janesRequest)).kid, routerA.kid);
    assert.equal((await one.verify(await sign(renewed), janesRequest)).kid, renewed.kid);
    current = await pinned(renewed);
    assert.equal((await one.verify(await sign(renewed), janesRequest)).kid, renewed.kid);
    await assert.rejects(one.verify(await sign(), janesRequest), { code: 'UnknownKey' });
  });
});
