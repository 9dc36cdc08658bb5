import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v from 'valibot';
import type { APIResourceDiscovery } from '../../apimachinery/discovery-types.ts';
import {
  type apiService,
  type customResourceGroup,
  type metadata,
  type resourceDiscovery,
  server,
} from './schema.ts';
import type { Snapshot, SnapshotApiService, SnapshotMetadata, SnapshotServer } from './types.ts';

// Compiling is the test: a field that only one of schema and type has, or has otherwise, is a type error.
type Writable<T> = T extends object ? { -readonly [Key in keyof T]: Writable<T[Key]> } : T;
type Same<Left, Right> = [Left, Writable<Right>] extends [Writable<Right>, Left]
  ? [keyof Left, keyof Right] extends [keyof Right, keyof Left]
    ? true
    : false
  : false;

test('the schema and the types of a snapshot say the same', () => {
  const same: [
    Same<v.InferOutput<typeof metadata>, SnapshotMetadata>,
    Same<v.InferOutput<typeof server>, SnapshotServer>,
    Same<v.InferOutput<typeof apiService>, SnapshotApiService>,
    Same<v.InferOutput<typeof customResourceGroup>, Snapshot['customResourceGroups'][number]>,
    Same<v.InferOutput<typeof resourceDiscovery>, APIResourceDiscovery>,
  ] = [true, true, true, true, true];
  assert.deepEqual(same, [true, true, true, true, true]);
});

test('output is what was given, member for member', () => {
  const given = { id: 'a', address: '10.0.0.1:6443', serves: 'sha256:0', stale: false };
  assert.deepEqual(v.parse(server, given), given);
});
