import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { canConnect } from '../support/can-connect.ts';
import { startEdgeDemo } from '../support/clusters/running-demo.ts';

test('the demo leaves nothing behind: no process, no port, no file', async () => {
  const { demo, directory, stop } = await startEdgeDemo();
  const ports = [demo.edge, ...demo.routers].map(({ origin }) => Number(new URL(origin).port));
  await stop();
  assert.equal(existsSync(directory), false);
  assert.deepEqual(
    await Promise.all(ports.map(canConnect)),
    ports.map(() => false),
  );
});
