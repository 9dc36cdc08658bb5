import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { RequestInfoError } from './request-info-error.ts';
import { acceptRequestTarget } from './request-target.ts';

interface CorpusEntry {
  readonly target: string;
  readonly refusal?: string;
  readonly path?: string;
}

const corpus = JSON.parse(
  readFileSync(new URL('../../test/fixtures/request-target-corpus.json', import.meta.url), 'utf8'),
) as readonly CorpusEntry[];

/** Patterns of the message of each class of refusal. */
const refusals: Readonly<Record<string, RegExp>> = {
  'not origin-form': /does not begin with '\/'/,
  'outside visible ASCII': /outside visible ASCII/,
  fragment: /holds a '#'/,
  backslash: /holds a backslash/,
  'malformed escape': /without two hexadecimal digits/,
  'not UTF-8': /are no UTF-8/,
  'control character': /encoded control character/,
  'dot segment': /segment '\.' or '\.\.'/,
};

function refusalOf(target: string): RequestInfoError {
  try {
    acceptRequestTarget(target);
  } catch (error) {
    assert.ok(error instanceof RequestInfoError, `threw ${String(error)}`);
    return error;
  }
  return assert.fail(`accepted ${JSON.stringify(target)}`);
}

describe('hostile request targets of the seed corpus', () => {
  for (const refusal of Object.keys(refusals)) {
    test(`are refused: ${refusal}`, () => {
      const entries = corpus.filter((entry) => entry.refusal === refusal);
      assert.notEqual(entries.length, 0);
      for (const { target } of entries) {
        const error = refusalOf(target);
        assert.equal(error.code, 'AmbiguousRequestTarget');
        assert.match(error.message, refusals[refusal] ?? /^$/, JSON.stringify(target));
      }
    });
  }

  test('belong to a known class of refusal, or are accepted and mean what they mean to Go', () => {
    for (const { target, refusal, path } of corpus) {
      if (refusal !== undefined) assert.ok(refusal in refusals, refusal);
      else assert.equal(acceptRequestTarget(target).path, path, JSON.stringify(target));
    }
  });
});

test('a bare question mark is told from no query at all', () => {
  assert.equal(acceptRequestTarget('/api').rawQuery, undefined);
  assert.equal(acceptRequestTarget('/api?').rawQuery, '');
  assert.equal(acceptRequestTarget('/api?a?b').rawQuery, 'a?b');
});

test('a percent escape is decoded once', () => {
  assert.equal(acceptRequestTarget('/a/%2525').path, '/a/%25');
});

test('a refusal says where a forbidden character stands and what to do, and quotes nothing else', () => {
  const { message } = refusalOf('/secret\u0000/x');
  assert.match(message, /U\+0000 at offset 7/);
  assert.match(message, /percent-encode it/);
  assert.doesNotMatch(message, /secret/);
  assert.match(refusalOf('/a?b#c').message, /offset 4: write a literal one as %23/);
  assert.match(refusalOf('/\u{1f600}').message, /U\+1F600 at offset 1/);
});

test('the cause of an undecodable path is kept', () => {
  assert.ok(refusalOf('/%ff').cause instanceof URIError);
});

// Pieces that targets are attacked with, next to harmless ones.
const piece = fc.constantFrom(
  ...[
    '/',
    '//',
    '.',
    '..',
    '%2e',
    '%2E',
    '%2f',
    '%2F',
    '%5c',
    '%5C',
    '\\',
    '%25',
    '%252e',
    '%00',
    '%0a',
    '%c0%ae',
  ],
  ...[
    '%e2%82%ac',
    '%',
    '%z',
    '?',
    '#',
    ';',
    '&',
    '=',
    '+',
    ' ',
    '\u00e9',
    '\ufeff',
    '\r\n',
    '\u0000',
    '\ud800',
  ],
  ...['api', 'apis', 'v1', 'namespaces', 'pods', 'a', ':', '@', 'http://evil.example', '*'],
);
const hostileTarget = fc.oneof(
  fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
  fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join('')}`),
  fc.string({ unit: 'binary' }),
);

test('any string is accepted byte for byte or refused with RequestInfoError', () => {
  fc.assert(
    fc.property(hostileTarget, (target) => {
      try {
        const { rawPath, rawQuery } = acceptRequestTarget(target);
        assert.equal(rawQuery === undefined ? rawPath : `${rawPath}?${rawQuery}`, target);
      } catch (error) {
        assert.ok(error instanceof RequestInfoError, `threw ${String(error)}`);
      }
    }),
    { numRuns: 2000 },
  );
});

test('no accepted path holds a dot segment, a backslash or a control character', () => {
  fc.assert(
    fc.property(hostileTarget, (target) => {
      let path: string;
      try {
        ({ path } = acceptRequestTarget(target));
      } catch {
        return;
      }
      for (const segment of path.split('/')) assert.ok(segment !== '.' && segment !== '..', path);
      for (const character of path) {
        const codePoint = character.codePointAt(0) ?? 0;
        assert.ok(codePoint > 0x1f && (codePoint < 0x7f || codePoint > 0x9f) && character !== '\\', path);
      }
    }),
    { numRuns: 2000 },
  );
});

test('a WHATWG URL parser leaves an accepted path as it is, whichever segments it would resolve', () => {
  // RFC 3986 pchar only: WHATWG percent-encodes a few further characters in place, which moves no segment.
  const character = fc.constantFrom(
    ..."abz019-._~!$&'()*+,;=:@/".split(''),
    '%2e',
    '%2F',
    '%5C',
    '%25',
    '//',
    '/../',
  );
  fc.assert(
    fc.property(fc.array(character, { maxLength: 15 }), (characters) => {
      const target = `/${characters.join('')}`;
      let rawPath: string;
      try {
        ({ rawPath } = acceptRequestTarget(target));
      } catch {
        return;
      }
      assert.equal(new URL(`https://router.example${target}`).pathname, rawPath);
    }),
    { numRuns: 2000 },
  );
});
