import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createAssertionSigner } from '../../../src/identity/assertion/sign-assertion.ts';
import {
  PeerAssertionAuthenticator,
  PeerAssertionError,
} from '../../../src/identity/assertion/verify-assertion.ts';

import { jane, janesRequest, pinned, signedAt, speaker } from '../../support/assertions.ts';
import { fuzz } from '../fuzz-target.ts';

const router = await speaker('cp-a');
const keys = await pinned(router);
const assertion = await createAssertionSigner({
  key: router.key,
  issuer: 'cp-a',
  clock: () => signedAt,
}).sign(janesRequest);

/** What the signature is of (RFC 7515 section 5.2). The signature itself has more than one spelling. */
const signedPart = (jws: string): string => jws.split('.').slice(0, 2).join('.');

interface Input {
  /** Where the assertion is changed. */
  readonly at: number;
  readonly text: string;
  readonly cut: number;
  readonly method: string;
  readonly target: string;
  readonly rerouted: boolean;
  /** Milliseconds after it was signed. */
  readonly later: number;
}

fuzz<Input>({
  name: 'assertion',
  runs: 1_000,
  arbitrary: fc.record({
    at: fc.nat({ max: assertion.length }),
    text: fc.oneof(
      fc.constant(''),
      fc.stringMatching(/^[A-Za-z0-9_-]{1,3}$/),
      fc.constantFrom('.', '=', ' ', ',', '\0'),
    ),
    cut: fc.constantFrom(0, 0, 1, 10),
    method: fc.constantFrom(janesRequest.method, janesRequest.method, 'DELETE'),
    target: fc.oneof(
      fc.constant(janesRequest.target),
      fc.constantFrom('/', `${janesRequest.target}?x=1`, janesRequest.target.toUpperCase()),
    ),
    rerouted: fc.constantFrom(janesRequest.rerouted, !janesRequest.rerouted),
    later: fc.oneof(fc.constant(0), fc.integer({ min: -120_000, max: 120_000 })),
  }),
  async holds({ at, text, cut, method, target, rerouted, later }) {
    const verifier = new PeerAssertionAuthenticator({
      keys: () => keys,
      audience: 'cp-b',
      clock: () => signedAt + later,
    });
    const changed = assertion.slice(0, at) + text + assertion.slice(at + cut);
    const isGood =
      signedPart(changed) === signedPart(assertion) &&
      method === janesRequest.method &&
      target === janesRequest.target &&
      rerouted === janesRequest.rerouted;
    const verify = () => verifier.verify(changed, { method, target, rerouted });
    const believed = await verify().catch((error: unknown) => {
      assert.ok(error instanceof PeerAssertionError, String(error));
      return undefined;
    });
    if (believed !== undefined) {
      assert.ok(isGood, 'only what was signed, for the request that it was signed for');
      assert.ok(later > -10_000 && later < 60_000, 'and in its time');
      assert.deepEqual(believed.user, jane);
      await assert.rejects(verify, { code: 'Replayed' });
    } else if (later === 0 && changed === assertion) {
      assert.ok(!isGood, 'what is good is believed');
    }
  },
});
