import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseDistinguishedName } from './platform-certificate.ts';

/** Writes a value as RFC 4514 section 2.4 has it. */
function written(value: string): string {
  return value
    .replace(/["+,;<>\\]/g, '\\$&')
    .replaceAll('\0', '\\00')
    .replace(/^[ #]/, '\\$&')
    .replace(/ $/, (space, offset: number) => (offset === 0 ? space : '\\ '));
}

test('reads what RFC 4514 writes, whatever is in a value', () => {
  const value = fc.string({ unit: 'binary', minLength: 1, maxLength: 30 });
  const attribute = fc.record({ type: fc.constantFrom('CN', 'O', 'OU'), value }, { noNullPrototype: true });
  fc.assert(
    fc.property(fc.array(attribute, { minLength: 1, maxLength: 6 }), (attributes) => {
      const text = attributes.map(({ type, value }) => `${type}=${written(value)}`).join(',');
      assert.deepEqual(parseDistinguishedName(text), attributes);
    }),
  );
});

test('resolves escapes of characters and of bytes', () => {
  for (const [text, value] of [
    ['CN=Lu\\C4\\8Di\\C4\\87', 'Lučić'],
    ['cn=a\\2Cb', 'a,b'],
    ['CN=\\ a\\ ', ' a '],
    ['CN=\\#1', '#1'],
    ['CN=a=b', 'a=b'],
    ['CN=a\\=b', 'a=b'],
    ['CN=\u{1F600}', '\u{1F600}'],
  ] as const) {
    assert.deepEqual(parseDistinguishedName(text), [{ type: 'CN', value }], text);
  }
});

test('refuses what two readers could take for two names', () => {
  for (const text of [
    '',
    'CN',
    'CN=',
    '=jane',
    'CN=jane,',
    ',CN=jane',
    'CN=jane,,O=a',
    // Multi-valued.
    'CN=jane+O=system:masters',
    'O=a+CN=jane',
    // Another separator of RFC 2253's predecessors, and the other form of a subject.
    'CN=jane;O=system:masters',
    '/O=system:masters/CN=jane',
    // Quoted and hexadecimal values.
    'CN="jane, O=system:masters"',
    'CN=#0C046A616E65',
    '2.5.4.3=jane',
    // Spaces that some readers drop.
    'CN=jane, O=a',
    'CN= jane',
    'CN=jane ',
    'CN =jane',
    // Escapes that are none.
    'CN=jane\\',
    'CN=ja\\ne',
    'CN=jane\\4',
    'CN=jane\\zz',
    // Bytes that are no UTF-8, and half a character.
    'CN=jane\\FF',
    'CN=jane\\C4',
    'CN=a<b',
    'CN=a\0b',
    `CN=${'x'.repeat(5_000)}`,
  ]) {
    assert.equal(parseDistinguishedName(text), undefined, JSON.stringify(text.slice(0, 60)));
  }
});

test('no text makes it throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      parseDistinguishedName(text);
    }),
  );
});
