import fc from 'fast-check';

/** One change to a text; positions are taken modulo its length. */
type Mutation =
  | { readonly kind: 'delete'; readonly at: number; readonly length: number }
  | { readonly kind: 'insert'; readonly at: number; readonly text: string }
  | { readonly kind: 'replace'; readonly at: number; readonly text: string }
  | { readonly kind: 'repeat'; readonly at: number; readonly length: number };

function mutate(text: string, mutation: Mutation): string {
  const at = text.length === 0 ? 0 : mutation.at % text.length;
  const before = text.slice(0, at);
  switch (mutation.kind) {
    case 'delete':
      return before + text.slice(at + mutation.length);
    case 'insert':
      return before + mutation.text + text.slice(at);
    case 'replace':
      return before + mutation.text + text.slice(at + mutation.text.length);
    case 'repeat':
      return before + text.slice(at, at + mutation.length) + text.slice(at);
  }
}

/**
 * A text of `seeds` with a few changes, or none.
 * @param pieces what is put in: where a grammar has its seams
 */
export function mutated(seeds: fc.Arbitrary<string>, pieces: readonly string[]): fc.Arbitrary<string> {
  const at = fc.nat({ max: 100_000 });
  const length = fc.integer({ min: 1, max: 40 });
  // Byte strings: each character is one byte.
  const text = fc.oneof(
    fc.constantFrom(...pieces),
    fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte)),
  );
  const mutation: fc.Arbitrary<Mutation> = fc.oneof(
    fc.record({ kind: fc.constant('insert' as const), at, text }),
    fc.record({ kind: fc.constant('replace' as const), at, text }),
    fc.record({ kind: fc.constant('delete' as const), at, length }),
    fc.record({ kind: fc.constant('repeat' as const), at, length }),
  );
  return fc
    .tuple(seeds, fc.array(mutation, { maxLength: 5 }))
    .map(([seed, mutations]) => mutations.reduce(mutate, seed));
}
