import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v from 'valibot';
import type { APIResourceDiscovery } from '../../apimachinery/discovery-types.ts';
import { type resourceDiscovery, server } from './schema.ts';

// Compiling is the test: a field that only one of schema and type has, or has otherwise, is a type error.
type Writable<T> = T extends object ? { -readonly [Key in keyof T]: Writable<T[Key]> } : T;
type Same<Left, Right> = [Left, Writable<Right>] extends [Writable<Right>, Left]
  ? [keyof Left, keyof Right] extends [keyof Right, keyof Left]
    ? true
    : false
  : false;

test('the schema and the wire type of a resource in discovery say the same', () => {
  const same: Same<v.InferOutput<typeof resourceDiscovery>, APIResourceDiscovery> = true;
  assert.equal(same, true);
});

test('output is what was given, member for member', () => {
  const given = { id: 'a', address: '10.0.0.1:6443', serves: 'sha256:0', stale: false };
  assert.deepEqual(v.parse(server, given), given);
});
