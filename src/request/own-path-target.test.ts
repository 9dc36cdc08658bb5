import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { ownPathSpelling } from './own-path-target.ts';

const spelling = (target: string) => ownPathSpelling(target, parseRequestInfo('GET', target).path);

it('the prefix alone and what is under it are own paths, whatever the query', () => {
  for (const target of [
    '/.mixed-version-proxy',
    '/.mixed-version-proxy/',
    '/.mixed-version-proxy/v1/status',
    '/.mixed-version-proxy/v1/status/',
    '/.mixed-version-proxy?a=%2e//b',
    '/.mixed-version-proxy/nosuch',
  ]) {
    assert.equal(spelling(target), 'own', target);
  }
});

it('other spellings of them are disguised', () => {
  for (const target of [
    '/%2emixed-version-proxy/v1/status',
    '/.mixed%2Dversion-proxy/v1/status',
    '/.mixed-version-proxy%2Fv1%2Fstatus',
    '/.mixed-version-proxy/v1/%73tatus',
    '//.mixed-version-proxy/v1/status',
    '/%2F.mixed-version-proxy/v1/status',
    '/.mixed-version-proxy//v1/status',
    '/.mixed-version-proxy/v1//status',
  ]) {
    assert.equal(spelling(target), 'disguised', target);
  }
});

it('paths that only look like them are none', () => {
  for (const target of [
    '/',
    '/.mixed-version-proxyx/v1/status',
    '/.mixed-version-proxy;a/v1/status',
    '/.Mixed-Version-Proxy/v1/status',
    '/a/.mixed-version-proxy/v1/status',
    '/api/v1/pods?x=/.mixed-version-proxy/',
    '/%252emixed-version-proxy/v1/status',
  ]) {
    assert.equal(spelling(target), 'none', target);
  }
});

it('escaping any of its characters never makes an own path another one', () => {
  const path = '/.mixed-version-proxy/v1/status';
  fc.assert(
    fc.property(
      fc.subarray(
        [...path.slice(1)].map((_, index) => index + 1),
        { minLength: 1 },
      ),
      (indexes) => {
        const escaped = [...path].map((character, index) =>
          indexes.includes(index) ? `%${character.charCodeAt(0).toString(16)}` : character,
        );
        assert.equal(spelling(escaped.join('')), 'disguised');
      },
    ),
  );
});
