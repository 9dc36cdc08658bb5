import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createAssertionSigner } from '../../../src/identity/assertion/sign-assertion.ts';
import {
  PeerAssertionAuthenticator,
  PeerAssertionError,
} from '../../../src/identity/assertion/verify-assertion.ts';

import {
  claims,
  jane,
  janesRequest,
  pinned,
  type Speaker,
  signClaims,
  signedAt,
  speaker,
} from '../../support/assertions.ts';
import { fuzz } from '../fuzz-target.ts';

const router = await speaker('cp-a');
const otherRouter = await speaker('cp-c');
const stranger = await speaker('cp-a');
const keys = await pinned(router, otherRouter);
const speakers: Readonly<Record<string, Speaker>> = { 'cp-a': router, 'cp-c': otherRouter, nobody: stranger };
const assertion = await createAssertionSigner({
  key: router.key,
  issuer: 'cp-a',
  clock: () => signedAt,
}).sign(janesRequest);

/** The part that is signed (RFC 7515 section 5.2). The signature itself has more than one spelling. */
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

/** Claims that are validly signed, whatever they say. */
interface Made {
  readonly signedBy: string;
  readonly iss: string;
  readonly aud: string;
  /** Seconds after `signedAt`. */
  readonly iat: number;
  readonly nbf: number;
  readonly lifetime: number;
  readonly nonce: number;
  readonly method: string;
  readonly path: string;
  readonly rerouted: boolean;
}

interface Presented {
  /** Place in the list of those that were made, and round again. */
  readonly which: number;
  readonly method: string;
  readonly target: string;
  readonly rerouted: boolean;
  /** Seconds after `signedAt`. */
  readonly at: number;
}

interface Exchange {
  readonly audience: string;
  readonly made: readonly Made[];
  readonly presented: readonly Presented[];
}

/** Mostly the first. */
const mostly = <Value>(first: Value, ...others: readonly Value[]): fc.Arbitrary<Value> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(first) }, fc.constantFrom(...others));
const { method, target } = janesRequest;
const methods = mostly(method, 'DELETE', 'get', '');
const targets = mostly(target, `${target}&x=1`, target.slice(0, -1), target.toUpperCase(), '/');
/** One begins with another, or differs in case alone. */
const names = ['cp-b', 'cp-', 'cp', 'cp-bb', 'cp-b2', 'CP-B', 'p-b', 'cp-a', '*'] as const;
const seconds = mostly(0, -66, -36, -31, -6, -5, -4, 4, 5, 6, 29, 30, 34, 35, 36, 59, 60, 61, 66);

const isFrom = ({ signedBy, iss }: Made): boolean => signedBy === iss;

/** By the page of the design: who, for whom, when, for which request (RFC 7519 section 4.1). */
function isGood(one: Made, { method, target, rerouted, at }: Presented, audience: string): boolean {
  const exp = one.iat + one.lifetime;
  const isInTime = at < exp + 5 && at >= Math.max(one.iat, one.nbf) - 5 && one.lifetime <= 60;
  const isItsRequest = one.method === method && one.path === target && one.rerouted === rerouted;
  return isFrom(one) && one.aud === audience && isInTime && isItsRequest && method !== '';
}

fuzz<Exchange>({
  name: 'assertion-claims',
  runs: 300,
  arbitrary: fc.record({
    audience: mostly(...names),
    made: fc.array(
      fc.record({
        signedBy: mostly('cp-a', 'cp-c', 'nobody'),
        iss: mostly('cp-a', 'cp-c', 'cp-b'),
        aud: mostly(...names),
        iat: seconds,
        nbf: mostly(0, -100, 10, 100),
        lifetime: mostly(30, 0, 1, 5, 59, 60, 61, 3_600),
        nonce: fc.nat({ max: 2 }),
        method: methods,
        path: targets,
        rerouted: mostly(true, false),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    presented: fc.array(
      fc.record({
        which: fc.nat({ max: 2 }),
        method: methods,
        target: targets,
        rerouted: mostly(true, false),
        at: seconds,
      }),
      { minLength: 1, maxLength: 5 },
    ),
  }),
  async holds({ audience, made, presented }) {
    let now = 0;
    const verifier = new PeerAssertionAuthenticator({
      keys: () => keys,
      audience,
      clock: () => signedAt + now * 1_000,
    });
    const tokens = await Promise.all(
      made.map(({ signedBy, iss, aud, iat, nbf, lifetime, nonce, ...request }) => {
        const base = signedAt / 1_000;
        const times = { iat: base + iat, nbf: base + nbf, exp: base + iat + lifetime };
        const jti = String(nonce).repeat(22);
        return signClaims(claims({ iss, aud, ...times, jti, ...request }), speakers[signedBy] ?? stranger);
      }),
    );
    /** The nonces of each issuer, which may not be believed again, with the time at which they may be forgotten. */
    const used = new Set<string>();
    let latest = Number.NEGATIVE_INFINITY;
    for (const each of presented) {
      const place = each.which % made.length;
      const one = made[place];
      const token = tokens[place];
      assert.ok(one !== undefined && token !== undefined);
      const key = `${one.iss} ${one.nonce} ${one.iat + one.lifetime}`;
      now = each.at;
      const believed = await verifier.verify(token, each).catch((error: unknown) => {
        assert.ok(error instanceof PeerAssertionError, String(error));
        return undefined;
      });
      const mayBe = isGood(one, each, audience) && !used.has(key);
      assert.ok(mayBe || believed === undefined, 'only once, for whom it was made, in its time');
      // After a clock that was set back it may seem old.
      assert.ok(believed !== undefined || !mayBe || now < latest, 'what is good is believed');
      if (believed !== undefined) used.add(key);
      latest = Math.max(latest, now);
    }
  },
});
