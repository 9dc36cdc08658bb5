import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

test('the V8 of this Node knows the settings of the garbage collector', () => {
  const script = `
    import { setGarbageCollectorForServing } from './garbage-collection.ts';
    setGarbageCollectorForServing();
    console.log('set');`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  assert.equal(stdout, 'set\n');
  // Of one it does not know it says so, and goes on.
  assert.equal(stderr, '');
});
