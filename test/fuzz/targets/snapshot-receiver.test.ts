import assert from 'node:assert/strict';
import fc from 'fast-check';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { createAddressPolicy } from '../../../src/snapshot/addresses/address-policy.ts';
import { SnapshotError } from '../../../src/snapshot/format/snapshot-error.ts';
import { SnapshotReceiver } from '../../../src/snapshot/receiving/receiver.ts';
import { createMemorySnapshotStore } from '../../../src/snapshot/receiving/snapshot-store.ts';
import { generateSigningKey } from '../../../src/snapshot/signing/seal.ts';
import { at, minute, next, noon, old, pinned, sealed } from '../../support/snapshots/snapshot-receiver.ts';
import { fuzz } from '../fuzz-target.ts';

const stranger = await generateSigningKey('ES256');
const signers = { old, next, stranger } as const;
const keySets = {
  both: await pinned(old.publicJwk, next.publicJwk),
  old: await pinned(old.publicJwk),
  next: await pinned(next.publicJwk),
  // A file of keys cannot be empty.
  neither: await pinned((await generateSigningKey('ES256')).publicJwk),
} as const;

/** The highest generation that can have been reached at noon: seconds since the epoch, and a day. */
const highest = noon / 1_000 + 24 * 60 * 60;
const generations = [1, 2, 3, highest - 60, highest, highest + 1, highest + 60, Number.MAX_SAFE_INTEGER];
const contents = [['v1/pods'], ['v1/pods', 'batch/v1/jobs'], ['v1/nodes']] as const;

interface Pushed {
  readonly generation: number;
  /** Place in `contents`. */
  readonly content: number;
  readonly cluster: string | null;
  /** Minutes after noon. */
  readonly made: number;
  readonly signer: keyof typeof signers;
}

type Step =
  | { readonly kind: 'push'; readonly pushed: Pushed; readonly isTampered: boolean }
  /** In minutes after noon. */
  | { readonly kind: 'clock'; readonly now: number }
  | { readonly kind: 'keys'; readonly set: keyof typeof keySets }
  | { readonly kind: 'restart' };

const texts = new Map<string, Promise<string>>();

/** Each is sealed once: the same snapshot pushed again is the same text. */
function textOf(pushed: Pushed): Promise<string> {
  const { generation, content, cluster, made, signer } = pushed;
  const key = JSON.stringify([generation, content, cluster, made, signer]);
  const options = { createdAt: at(noon + made * minute), ...(cluster === null ? {} : { cluster }) };
  const text = texts.get(key) ?? sealed(generation, [...(contents[content] ?? [])], options, signers[signer]);
  texts.set(key, text);
  return text;
}

const isSameContent = (one: Pushed, other: Pushed): boolean =>
  one.generation === other.generation && one.content === other.content && one.cluster === other.cluster;

/** A receiver as the design has it: what is held, and what the next push must be. */
class Model {
  held: Pushed | undefined;
  stored: Pushed | undefined;
  now = 0;
  keys: keyof typeof keySets = 'both';
  readonly #cluster: string | null;

  constructor(cluster: string | null) {
    this.#cluster = cluster;
  }

  /** @returns how it ends */
  push(pushed: Pushed, isTampered: boolean): string {
    const refusal = this.#refusal(pushed, isTampered);
    if (refusal !== undefined) return refusal;
    const { held } = this;
    const isHeld = held !== undefined && isSameContent(held, pushed);
    if (isHeld && pushed.made < held.made) return 'unchanged';
    this.held = pushed;
    this.stored = pushed;
    if (!isHeld) return 'accepted';
    return pushed.made > held.made ? 'renewed' : 'unchanged';
  }

  restart(): void {
    const { stored } = this;
    this.held = stored !== undefined && this.#isReadable(stored) ? stored : undefined;
  }

  #refusal(pushed: Pushed, isTampered: boolean): string | undefined {
    if (!this.#isPinned(pushed)) return 'UnknownKey';
    if (isTampered) return 'BadSignature';
    if (!this.#isReadable(pushed)) return 'Invalid';
    const { held } = this;
    if (held !== undefined && isSameContent(held, pushed)) return undefined;
    const isBinding = held !== undefined && this.#isPinned(held) && !this.#isAhead(held);
    if (this.#isAhead(pushed)) return 'GenerationAhead';
    const cluster = this.#cluster ?? (isBinding ? held.cluster : null);
    if (cluster !== null && pushed.cluster !== null && pushed.cluster !== cluster) return 'OtherCluster';
    return isBinding && pushed.generation <= held.generation ? 'NotNewer' : undefined;
  }

  #isPinned({ signer }: Pushed): boolean {
    return signer === this.keys || (this.keys === 'both' && signer !== 'stranger');
  }

  #isReadable(pushed: Pushed): boolean {
    return this.#isPinned(pushed) && pushed.made <= this.now + 5;
  }

  #isAhead({ generation }: Pushed): boolean {
    return generation > highest + this.now * 60;
  }
}

const minutes = fc.constantFrom(0, 0, 0, 1, 2, 5, 6, -1);
const push: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('push' as const),
  pushed: fc.record({
    generation: fc.constantFrom(1, 1, 2, 2, 3, ...generations),
    content: fc.constantFrom(0, 0, 1, 2),
    cluster: fc.constantFrom(null, null, 'prod', 'prod', 'test'),
    made: minutes,
    signer: fc.constantFrom('old', 'old', 'next', 'next', 'stranger'),
  }),
  isTampered: fc.constantFrom(false, false, false, false, false, false, true),
});

fuzz<{ readonly cluster: string | null; readonly steps: readonly Step[] }>({
  name: 'snapshot-receiver',
  runs: 150,
  arbitrary: fc.record({
    cluster: fc.constantFrom(null, null, 'prod'),
    steps: fc.array(
      fc.oneof(
        { weight: 6, arbitrary: push },
        fc.record({ kind: fc.constant('clock' as const), now: minutes }),
        fc.record({
          kind: fc.constant('keys' as const),
          set: fc.constantFrom('both', 'both', 'old', 'next', 'neither'),
        }),
        fc.constant({ kind: 'restart' } as const),
      ),
      { minLength: 2, maxLength: 12 },
    ),
  }),
  async holds({ cluster, steps }) {
    const model = new Model(cluster);
    const store = createMemorySnapshotStore();
    const start = (): SnapshotReceiver =>
      new SnapshotReceiver({
        keys: () => keySets[model.keys],
        addressPolicy: createAddressPolicy(),
        ...{ store, cluster: cluster ?? undefined, logger: silentLogger },
        now: () => noon + model.now * minute,
      });
    let receiver = start();
    for (const step of steps) {
      switch (step.kind) {
        case 'clock':
          model.now = step.now;
          break;
        case 'keys':
          model.keys = step.set;
          break;
        case 'restart':
          await receiver.settled();
          receiver = start();
          await receiver.restore();
          model.restart();
          break;
        case 'push': {
          const { pushed, isTampered } = step;
          const [head = '', payload = '', ...rest] = (await textOf(pushed)).split('.');
          // Another word in what is signed.
          const signed = isTampered ? `${payload.slice(0, -8)}AAAA${payload.slice(-4)}` : payload;
          const text = [head, signed, ...rest].join('.');
          const before = receiver.current();
          const result = await receiver.accept(text).then(
            (acceptance) => acceptance.result,
            (error: unknown) => {
              assert.ok(error instanceof SnapshotError, String(error));
              assert.equal(receiver.current(), before, 'a refusal changes nothing');
              return error.code;
            },
          );
          assert.equal(result, model.push(pushed, isTampered));
        }
      }
      const table = receiver.current();
      assert.equal(table?.generation, model.held?.generation);
      assert.equal(table?.createdAt, model.held && noon + model.held.made * minute);
      assert.equal(table?.snapshot.metadata.cluster, model.held?.cluster ?? undefined);
    }
  },
});
