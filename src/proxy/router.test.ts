import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { recordingTransport } from '../../test/support/recording-transport.ts';
import { type ServerOptions, snapshotOf } from '../../test/support/snapshot-builder.ts';
import { testApp } from '../../test/support/test-app.ts';
import type { ServedSet } from '../snapshot/format/schema.ts';

const autoscalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web';
const pods = '/api/v1/namespaces/default/pods/x';
const start = Date.UTC(2026, 0, 31);

function server(minor: string): ServerOptions {
  const schemas: ServedSet['schemas'] = {
    'core.pods': { v1: 'c2FtZS4uLi4=' },
    'autoscaling.horizontalpodautoscalers': { v2: btoa(`min-${minor}`.padEnd(8, '.')) },
  };
  return { serves: ['v1/pods', 'autoscaling/v2/horizontalpodautoscalers'], version: `v${minor}.2`, schemas };
}

/** A router that learned that two of three servers are 1.36, and when that begins to count. */
async function routerThatChangesAt(milliseconds: number, enabled = true) {
  const at = new Date(start + milliseconds).toISOString();
  const transport = recordingTransport();
  const servers = { local: server('1.35'), b: server('1.36'), c: server('1.36') };
  const versionChanges = ['b', 'c'].map((id) => ({ server: id, from: '1.35', to: '1.36', at }));
  const snapshot = snapshotOf(servers, { versionChanges });
  const { app } = await testApp({ snapshot, transport, enabled, clock: () => Date.now() });
  const newer = () => transport.sent.filter(({ destination }) => destination.id !== 'local').length;
  const older = () => transport.sent.length - newer();
  const ask = async (path: string, method = 'GET') => {
    const response = await app.request(`https://router${path}`, { method });
    await response.text();
  };
  return { ask, newer, older };
}

async function pass(context: TestContext, milliseconds: number): Promise<void> {
  context.mock.timers.tick(milliseconds);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test('when the preferred version changes, no router sends anything to the version of before once another one sends to the new one', async (context) => {
  const [early, late] = [await routerThatChangesAt(5_000), await routerThatChangesAt(6_900)];
  context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start });
  const asked: Promise<void>[] = [];
  let lastOlder = 0;
  let firstNewer: number | undefined;
  for (let time = 0; time <= 8_000; time += 100) {
    const before = early.older() + late.older();
    for (const { ask } of [early, late]) asked.push(ask(autoscalers), ask(autoscalers, 'PUT'));
    await pass(context, 0);
    if (early.older() + late.older() > before) lastOlder = time;
    if (early.newer() + late.newer() > 0) firstNewer ??= time;
    await pass(context, 100);
  }
  await Promise.all(asked);
  assert.equal(firstNewer, 5_000);
  assert.equal(lastOlder, 4_800);
  assert.equal(
    early.older() + early.newer() + late.older() + late.newer(),
    asked.length,
    'all were carried out',
  );
});

test('what all versions understand alike does not wait for the change of the preferred version', async (context) => {
  const router = await routerThatChangesAt(5_000);
  context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start + 4_000 });
  await router.ask(pods);
  assert.equal(router.older(), 1);
});

test('nothing waits where the feature gate is off', async (context) => {
  const router = await routerThatChangesAt(5_000, false);
  context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start + 4_000 });
  await router.ask(autoscalers);
  assert.equal(router.older(), 1);
});
