import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ResolveName, sharedLookup } from './tls-dialer.ts';

type Answer = Parameters<ResolveName>[2];

/** A resolver whose answers the test gives. */
function resolver() {
  const asked: { readonly name: string; readonly answer: Answer }[] = [];
  const lookup = sharedLookup((name, _options, answer) => asked.push({ name, answer }));
  const found: string[] = [];
  const ask = (name: string, family = 0): void =>
    lookup(name, { all: true, family }, (error, addresses) => {
      found.push(`${name} ${error?.message ?? addresses.map(({ address }) => address).join()}`);
    });
  return { asked, found, ask };
}

test('a name that hangs is asked for once, however many dials there are, and holds up no other name', () => {
  const { asked, found, ask } = resolver();
  for (let count = 0; count < 6; count++) ask('hangs.example.com');
  ask('other.example.com');
  assert.deepEqual(
    asked.map(({ name }) => name),
    ['hangs.example.com', 'other.example.com'],
  );
  asked[1]?.answer(null, [{ address: '10.0.0.2', family: 4 }]);
  assert.deepEqual(found, ['other.example.com 10.0.0.2']);
  asked[0]?.answer(new Error('EAI_AGAIN'), []);
  assert.equal(found.filter((line) => line === 'hangs.example.com EAI_AGAIN').length, 6);
  // An answer is not kept: the name may be elsewhere by the next dial.
  ask('hangs.example.com');
  assert.equal(asked.length, 3);
});

test('one kind of address is not answered with another', () => {
  const { asked, ask } = resolver();
  ask('a.example.com', 4);
  ask('a.example.com', 6);
  assert.equal(asked.length, 2);
});
