import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';

/** Something that takes bytes or values from anybody, and what must hold whatever it gets. */
export interface FuzzTarget<Input> {
  /** Also of its corpus. */
  readonly name: string;
  readonly arbitrary: fc.Arbitrary<Input>;
  /**
   * @param context of the test that many inputs share: what is started for it ends with it.
   * @throws when something does not hold.
   */
  readonly holds: (input: Input, context: TestContext) => void | Promise<void>;
  /** Inputs in an ordinary test run. */
  readonly runs: number;
}

interface CorpusEntry<Input> {
  /** The subject of the entry. */
  readonly name: string;
  readonly input: Input;
}

/** The same in every test run; a search takes another one each time (`npm run fuzz`). */
const defaultSeed = 20_260_101;

const setting = (name: string): number | undefined => {
  const text = process.env[name];
  return text === undefined ? undefined : Number(text);
};

/**
 * @param corpus folder of the inputs that are kept, ending in a slash: `<name>.json` has those of a target
 * @returns registers the tests of a target: each input of its corpus, then inputs that are made up. A failure names the seed, and
 *   the smallest input that shows it, for the corpus.
 */
export function fuzzWith(corpus: URL): <Input>(target: FuzzTarget<Input>) => void {
  return (target) => register(target, corpus);
}

function register<Input>({ name, arbitrary, holds, runs }: FuzzTarget<Input>, corpus: URL): void {
  // A run that only asks whether the search fails needs no corpus, and no small input.
  const isOnlyFailing = setting('FUZZ_ONLY_FAILS') === 1;
  test(`${name}: the corpus`, { skip: isOnlyFailing }, async (context) => {
    for (const entry of await corpusOf<Input>(name, corpus)) {
      await context.test(entry.name, async () => {
        await holds(entry.input, context);
      });
    }
  });
  const seed = setting('FUZZ_SEED') ?? defaultSeed;
  const numRuns = setting('FUZZ_RUNS') ?? runs;
  test(`${name}: ${numRuns} made-up inputs, seed ${seed}`, async (context) => {
    await fc.assert(
      fc.asyncProperty(arbitrary, async (input) => {
        await holds(input, context);
      }),
      { seed, numRuns, endOnFailure: isOnlyFailing },
    );
  });
}

async function corpusOf<Input>(name: string, corpus: URL): Promise<readonly CorpusEntry<Input>[]> {
  const text = await readFile(new URL(`${name}.json`, corpus), 'utf8');
  const entries = JSON.parse(text) as readonly CorpusEntry<Input>[];
  assert.ok(entries.length > 0, `${name} has no corpus`);
  return entries;
}
