import './virtual/globals.ts';
import { test } from 'node:test';
import { keptSeeds } from './kept-seeds.ts';
import { assertKept } from './support.ts';

for (const { seed, was } of keptSeeds) {
  test(`every promise holds in seed ${seed}, in which once ${was}`, () => assertKept(seed));
}
