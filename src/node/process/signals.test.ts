import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { onReloadSignal } from './signals.ts';

it('each SIGHUP is heard, and ends nothing', async () => {
  let heard = 0;
  onReloadSignal(() => heard++);
  process.kill(process.pid, 'SIGHUP');
  await eventually(() => heard === 1);
  process.kill(process.pid, 'SIGHUP');
  await eventually(() => heard === 2);
  assert.equal(heard, 2);
});
