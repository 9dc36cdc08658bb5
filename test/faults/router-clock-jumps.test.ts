import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAssertionSigner } from '../../src/identity/assertion/sign-assertion.ts';
import { PeerAssertionAuthenticator } from '../../src/identity/assertion/verify-assertion.ts';
import { TransportError } from '../../src/request/destination.ts';
import { janesRequest, pinned, speaker } from '../support/assertions.ts';
import { recordingTransport } from '../support/routers/recording-transport.ts';
import { testApp } from '../support/routers/test-app.ts';
import { snapshotOf } from '../support/snapshots/snapshot-builder.ts';

const second = 1_000;
const hour = 3_600 * second;
const start = Date.now();

/** A machine's two clocks: what `setTo` does to the wall, an administrator or NTP does. */
function clocks() {
  let elapsed = 0;
  let wall = start;
  return {
    wall: () => wall + elapsed,
    monotonic: () => elapsed,
    pass(milliseconds: number): void {
      elapsed += milliseconds;
    },
    jump(milliseconds: number): void {
      wall += milliseconds;
    },
  };
}

const jobs = 'https://router/apis/batch/v1/jobs';
const cluster = snapshotOf(
  { local: ['v1/pods'], a: ['batch/v1/jobs'], b: ['batch/v1/jobs'] },
  { createdAt: new Date(start).toISOString() },
);

test('a snapshot whose time of making is in the past or in the future is used as ever, whatever the clock says', async () => {
  const clock = clocks();
  const { app } = await testApp({ snapshot: cluster, clock: clock.wall });
  for (const jump of [0, 5 * hour, -10 * hour]) {
    clock.jump(jump);
    assert.match(JSON.parse(await (await app.request(jobs)).text()).answeredBy, /^[ab]$/);
    assert.equal((await app.request('https://router/readyz')).status, 200);
  }
});

describe('durations', () => {
  for (const [what, jump] of [
    ['back', -5 * hour],
    ['forth', 5 * hour],
  ] as const) {
    test(`a server that could not be reached is avoided for seconds, not hours, when the clock is set ${what}`, async () => {
      const clock = clocks();
      let down: string | undefined = 'a';
      const transport = recordingTransport((outbound) => {
        const { id } = outbound.destination;
        if (id !== down) return Response.json({ answeredBy: id });
        throw new TransportError('ConnectFailed', 'refused', { mayHaveBeenProcessed: false });
      });
      const { app } = await testApp({
        snapshot: cluster,
        transport,
        clock: clock.wall,
        monotonicClock: clock.monotonic,
        // The first of two that are equal.
        random: () => 0,
      });
      const asked = async (): Promise<string[]> => {
        transport.sent.length = 0;
        assert.equal((await app.request(jobs)).status, 200);
        return transport.sent.map(({ destination }) => destination.id);
      };
      // Until the draw falls on it.
      while ((await asked()).length < 2);
      down = undefined;
      clock.jump(jump);
      const during = new Set<string>();
      for (let request = 0; request < 20; request++) for (const id of await asked()) during.add(id);
      assert.deepEqual([...during], ['b'], 'it is avoided whatever the wall clock says');
      clock.pass(6 * second);
      const after = new Set<string>();
      for (let request = 0; request < 20; request++) for (const id of await asked()) after.add(id);
      assert.ok(after.has('a'), 'it is asked again once the seconds have passed');
    });
  }
});

describe('peer assertions, each believed once', async () => {
  const router = await speaker('cp-a');
  const keys = await pinned(router);
  const start = () => {
    const clock = clocks();
    const signer = createAssertionSigner({ key: router.key, issuer: router.issuer, clock: clock.wall });
    const verifier = new PeerAssertionAuthenticator({
      keys: () => keys,
      audience: 'cp-b',
      clock: clock.wall,
    });
    const sign = (): Promise<string> => signer.sign(janesRequest);
    const isBelieved = (assertion: string): Promise<boolean> =>
      verifier.verify(assertion, janesRequest).then(
        () => true,
        () => false,
      );
    return { clock, sign, isBelieved };
  };

  test('a clock that was hours ahead for a moment brings no old one back, and locks no new one out', async () => {
    const { clock, sign, isBelieved } = start();
    const before = await sign();
    assert.ok(await isBelieved(before));
    clock.jump(5 * hour);
    const ahead = await sign();
    assert.ok(await isBelieved(ahead));
    clock.pass(2 * second);
    clock.jump(-5 * hour);
    assert.equal(await isBelieved(before), false, 'its nonce was forgotten while the clock was ahead');
    assert.equal(await isBelieved(ahead), false, 'it is from the future');
    // As soon as what was forgotten could have been believed no more.
    clock.pass(120 * second);
    assert.ok(await isBelieved(await sign()));
    clock.pass(5 * hour - 122 * second);
    assert.equal(await isBelieved(ahead), false, 'its hour has come, and it was believed once');
    clock.pass(200 * second);
    assert.ok(await isBelieved(await sign()));
  });

  test('a clock that is set back brings nothing back that was believed before', async () => {
    const { clock, sign, isBelieved } = start();
    const first = await sign();
    assert.ok(await isBelieved(first));
    for (let minute = 0; minute < 60; minute++) {
      clock.pass(60 * second);
      assert.ok(await isBelieved(await sign()));
    }
    clock.jump(-1 * hour);
    assert.equal(await isBelieved(first), false);
  });
});
