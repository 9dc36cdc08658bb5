import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readListOptions } from './list-options.ts';

const read = (options: Record<string, string>) => readListOptions(new Map(Object.entries(options)));

test('without parameters there is neither watch nor name', () => {
  assert.deepEqual(read({}), { watch: false, name: '' });
});

describe('watch', () => {
  test('is true for any value but 0 and false, the empty one included', () => {
    for (const watch of ['', '1', 'true', 'no', '00', '-0', 'false ', 'f']) {
      assert.equal(read({ watch }).watch, true, watch);
    }
    for (const watch of ['0', 'false', 'FALSE', 'fAlSe']) assert.equal(read({ watch }).watch, false, watch);
  });

  test('folds case as Go does, except beside options that cannot be converted', () => {
    assert.equal(read({ watch: 'fal\u017fe' }).watch, false);
    assert.equal(read({ watch: 'fal\u017fe', limit: 'x' }).watch, true);
  });

  test('is looked at although the options cannot be converted', () => {
    for (const watch of ['', '1', 'true']) assert.equal(read({ watch, limit: 'x' }).watch, true, watch);
    for (const watch of ['0', 'false', 'FALSE'])
      assert.equal(read({ watch, limit: 'x' }).watch, false, watch);
    assert.equal(read({ limit: 'x' }).watch, false);
  });
});

describe('the name', () => {
  const fieldSelector = 'metadata.name=a';

  test('is that of an exact match in the field selector', () => {
    assert.equal(read({ fieldSelector }).name, 'a');
    assert.equal(read({ fieldSelector: 'spec.nodeName=n,metadata.name==a' }).name, 'a');
    assert.equal(read({ fieldSelector: 'metadata.name!=a' }).name, '');
    assert.equal(read({ fieldSelector: 'metadata.name=b,metadata.name=a' }).name, 'a');
    assert.equal(read({ fieldSelector: 'metadata.name!=a,metadata.name=b' }).name, 'b');
    assert.equal(read({ fieldSelector: 'metadata.name=' }).name, '');
  });

  test('is never one that no object can have', () => {
    for (const name of ['.', '..', 'a/b', '../a', 'a%2fb', '%']) {
      assert.equal(read({ fieldSelector: `metadata.name=${name}` }).name, '', name);
    }
    assert.equal(read({ fieldSelector: 'metadata.name=...' }).name, '...');
  });

  test('falls with any option that cannot be converted', () => {
    for (const broken of [
      { limit: '' },
      { limit: '1.5' },
      { timeoutSeconds: 'abc' },
      { timeoutSeconds: '9223372036854775808' },
      { labelSelector: '=' },
      { fieldSelector: 'metadata.name=a,b' },
    ]) {
      assert.equal(read({ fieldSelector, ...broken }).name, '', JSON.stringify(broken));
    }
  });

  test('stays with options that take any value', () => {
    const options = {
      sendInitialEvents: 'x',
      allowWatchBookmarks: '',
      resourceVersionMatch: 'x',
      continue: '%',
    };
    assert.equal(
      read({ fieldSelector, limit: '-1', timeoutSeconds: '+1', labelSelector: 'a', ...options }).name,
      'a',
    );
  });
});
