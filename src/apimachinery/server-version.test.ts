import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  areSeveralVersions,
  compareCountedVersions,
  countedVersionOf,
  countedVersionPattern,
  emulatedVersion,
  mayBeOneVersion,
  shortVersionNames,
} from './server-version.ts';

const [one, other] = ['0c11d5aa', '7fe90b12'];

test('a server is counted by what it does: the version that it emulates, its feature gates and its APIs', () => {
  assert.equal(countedVersionOf({ version: 'v1.36.0' }), '1.36');
  assert.equal(countedVersionOf({ version: 'v1.36.0', emulates: '1.35' }), '1.36 emulating 1.35');
  const whole = countedVersionOf({
    version: 'v1.36.0',
    emulates: '1.35',
    featureGates: one,
    apis: other,
  });
  assert.equal(whole, `1.36 emulating 1.35, feature gates ${one}, APIs ${other}`);
  assert.match(whole, countedVersionPattern);
  assert.equal(countedVersionOf({ featureGates: one }), undefined);
});

test('/version tells which version is emulated, since 1.33 and where it is another one', () => {
  const gitVersion = 'v1.36.0';
  assert.equal(emulatedVersion({ gitVersion, emulationMajor: '1', emulationMinor: '35' }), '1.35');
  assert.equal(emulatedVersion({ gitVersion, emulationMajor: '1', emulationMinor: '36' }), undefined);
  assert.equal(emulatedVersion({ gitVersion }), undefined);
});

test('names are as short as tells versions apart', () => {
  const named = (...versions: readonly string[]) => versions.map(shortVersionNames(versions));
  assert.deepEqual(named(`1.35, feature gates ${one}`, `1.36, feature gates ${other}`), ['1.35', '1.36']);
  assert.deepEqual(
    named(`1.36, feature gates ${one}, APIs ${one}`, `1.36, feature gates ${other}, APIs ${one}`),
    [`1.36, feature gates ${one}`, `1.36, feature gates ${other}`],
  );
  assert.deepEqual(named(`1.36, APIs ${one}`, `1.36 emulating 1.35, APIs ${other}`), [
    '1.36',
    '1.36 emulating 1.35',
  ]);
});

test('what is not known of a server makes it no other version', () => {
  assert.equal(mayBeOneVersion('1.36', `1.36, feature gates ${one}`), true);
  assert.equal(areSeveralVersions(['1.36', `1.36, feature gates ${one}`, undefined]), false);
  assert.equal(
    areSeveralVersions(['1.36', `1.36, feature gates ${one}`, `1.36, feature gates ${other}`]),
    true,
  );
  assert.equal(mayBeOneVersion('1.36', '1.36 emulating 1.35'), false);
  assert.equal(mayBeOneVersion(undefined, '1.36'), false);
});

test('the version that is emulated decides which is newer, then that of the program', () => {
  const sorted = ['1.36', '1.36 emulating 1.35', '1.35', '1.37 emulating 1.36', '1.9'];
  assert.deepEqual(sorted.toSorted(compareCountedVersions), [
    '1.9',
    '1.35',
    '1.36 emulating 1.35',
    '1.36',
    '1.37 emulating 1.36',
  ]);
  assert.equal(compareCountedVersions(`1.36, feature gates ${one}`, `1.36, feature gates ${other}`), 0);
});
