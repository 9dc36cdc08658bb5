import assert from 'node:assert/strict';
import { once } from 'node:events';
import { before, describe, it } from 'node:test';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { createWaiting } from './own-server-id.ts';

describe('a router that cannot start yet', () => {
  let config: ServeConfig;
  before(async () => {
    const result = await new ServeOptionsCheck(await serveFiles()).validate();
    assert.ok(result.ok);
    config = result.config;
  });

  function waiting(listen: () => Promise<void> = async () => {}) {
    const clock = manualClock();
    const written: string[] = [];
    const events: string[] = [];
    const { promise: asked, resolve: ask } = Promise.withResolvers<'SIGTERM'>();
    let waits = 0;
    const { beforeRetry, ending, end } = createWaiting({
      writeError: (text) => written.push(text),
      shutdownSignal: () => {
        waits++;
        return asked;
      },
      async listen() {
        await listen();
        events.push('listens');
        return { close: async () => void events.push('closed') };
      },
      clock,
    });
    const retry = async (reason: string) => {
      const over = beforeRetry(reason, config);
      await clock.advance(2_000);
      await over;
    };
    return { clock, written, events, ask, beforeRetry, ending, end, retry, waits: () => waits };
  }

  it('tells the reason at once, again each minute, and a new one at once', async () => {
    const { written, retry } = waiting();
    for (let attempt = 0; attempt < 30; attempt++) await retry('no Lease');
    assert.deepEqual(written, ['waiting, and asking again every 2 s: no Lease\n']);
    await retry('no Lease');
    assert.equal(written.length, 2);
    await retry('no server');
    assert.equal(written.at(-1), 'waiting, and asking again every 2 s: no server\n');
  });

  it('listens until the wait is over, and frees the port for the router', async () => {
    const { events, retry, end } = waiting();
    await retry('no Lease');
    await retry('no Lease');
    assert.deepEqual(events, ['listens']);
    await end();
    assert.deepEqual(events, ['listens', 'closed']);
  });

  it('goes on where it cannot listen yet, and tries again', async () => {
    let isTaken = true;
    const { events, written, retry } = waiting(async () => {
      if (isTaken) throw new Error('--secure-port: 0.0.0.0:6443 is in use');
    });
    await retry('no Lease');
    await retry('no Lease');
    assert.equal(written.filter((line) => line.includes('6443 is in use')).length, 1);
    isTaken = false;
    await retry('no Lease');
    assert.deepEqual(events, ['listens']);
  });

  it('ends when it is asked to', async () => {
    const { ask, beforeRetry, clock } = waiting();
    const over = beforeRetry('no Lease', config);
    ask('SIGTERM');
    await assert.rejects(over, { message: 'ended by SIGTERM before it could start', exitCode: 1 });
    assert.deepEqual(clock.sleeping, []);
  });

  it('ends an attempt that is under way when it is asked to end, and tells no reason of that', async () => {
    const { ask, beforeRetry, ending, retry, waits, written } = waiting();
    for (let attempt = 0; attempt < 3; attempt++) await retry('no Lease');
    assert.equal(waits(), 1, 'each one more would be kept until the end');
    const aborted = once(ending, 'abort');
    ask('SIGTERM');
    await aborted;
    await assert.rejects(beforeRetry('The operation was aborted', config), { exitCode: 1 });
    assert.equal(written.length, 1);
  });
});
