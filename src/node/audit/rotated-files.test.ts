import assert from 'node:assert/strict';
import { test } from 'node:test';
import { days, expiredNames, rotatedAt, rotatedName } from './rotated-files.ts';

const noon = Date.UTC(2026, 0, 31, 12, 0, 0, 7);

test('a full file is named after the moment, and knows it again', () => {
  const rotated = rotatedName('/var/log/audit.log', noon);
  assert.equal(rotated, '/var/log/audit-2026-01-31T12-00-00.007.log');
  assert.equal(rotatedAt('/var/log/audit.log', 'audit-2026-01-31T12-00-00.007.log'), noon);
  assert.equal(rotatedName('/var/log/audit', noon), '/var/log/audit-2026-01-31T12-00-00.007');
});

test('files that only look alike are left alone', () => {
  for (const name of [
    'audit.log',
    'audit-2026.log',
    'audit-2026-01-31T12-00-00.007.log.gz',
    'my-audit-2026-01-31T12-00-00.007.log',
    'audit-9999-99-99T99-99-99.999.log',
    'audit-policy.yaml',
  ]) {
    assert.equal(rotatedAt('/var/log/audit.log', name), undefined, name);
  }
});

test('the oldest go: those beyond the number, and those beyond the age', () => {
  const names = [0, 1, 2, 3].map((age) => rotatedName('audit.log', noon - days(age)));
  const others = ['audit.log', 'policy.yaml'];
  const expired = (maximumAge: number, maximumBackups: number) =>
    expiredNames('audit.log', [...names, ...others], { maximumAge, maximumBackups }, noon);
  assert.deepEqual(expired(0, 0), []);
  assert.deepEqual(expired(0, 3), names.slice(3));
  assert.deepEqual(expired(days(1), 0), names.slice(2));
  assert.deepEqual(expired(days(1), 1), names.slice(1));
});
