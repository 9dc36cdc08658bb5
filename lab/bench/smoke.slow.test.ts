import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { test } from 'node:test';
import { findProgram } from '../../test/support/commands/find-program.ts';
import { withCleanup } from '../harness/cleanup.ts';
import { chooseCores } from '../harness/machine.ts';
import { startBackend } from './rivals/backend.ts';
import { contenderNames } from './rivals/contender.ts';
import { enter } from './rivals/contenders.ts';
import { router } from './rivals/router.ts';
import { startContender } from './rivals/running-contender.ts';
import { measureWorkload } from './throughput/measure-workload.ts';
import { workloads } from './throughput/workloads.ts';
import { measureWatches } from './watches/measure-watches.ts';
import { createWorkbench } from './workbench.ts';

const lacksPrograms = ['h2load', 'wrk'].some((name) => findProgram(name) === undefined);
const skipWatches = ['go', 'cc'].some((name) => findProgram(name) === undefined)
  ? 'Go and a C compiler have to be installed'
  : false;
const skipLoad = lacksPrograms ? 'h2load and wrk have to be installed' : skipWatches;

test('bench: every contender that is installed starts and says who calls', { skip: skipLoad }, async () => {
  await withCleanup(async (cleanup) => {
    const workbench = await createWorkbench(cleanup);
    const backend = await startBackend(workbench, cleanup, undefined);
    const { entrants } = await enter(contenderNames, [], workbench);
    const environment = { workbench, servers: backend.servers, core: undefined, cleanup };
    // Resolves only once the caller's name has come through.
    const running = await Promise.all(
      entrants.map(({ contender }) => startContender(contender, environment)),
    );
    assert.ok(running.some(({ name }) => name === 'router'));
  });
});

test('bench: a few requests of each kind of load are measured, and nothing is left', {
  skip: skipLoad,
}, async () => {
  const directory = await withCleanup(async (cleanup) => {
    const workbench = await createWorkbench(cleanup);
    const backend = await startBackend(workbench, cleanup, undefined);
    const running = await startContender(router, {
      workbench,
      servers: backend.servers,
      core: undefined,
      cleanup,
    });
    const options = { workbench, cores: chooseCores(), warmUp: 0.1, seconds: 0.2, rate: 100 };
    for (const name of [
      'http1-post',
      'http2-get-local',
      'http1-connections',
      'http1-rate',
      'http2-rate',
    ] as const) {
      const workload = workloads.find((candidate) => candidate.name === name);
      assert.ok(workload);
      const figures = await measureWorkload(workload, running, options);
      assert.ok(figures.requestsPerSecond > 0, name);
      assert.ok(figures.peakMemory > 0, name);
      assert.equal(figures.latency !== undefined, workload.kind === 'rate', name);
    }
    return workbench.directory;
  });
  await assert.rejects(access(directory));
});

test('bench: watches through the router are counted, and an event reaches each', {
  skip: skipWatches,
}, async () => {
  await withCleanup(async (cleanup) => {
    const workbench = await createWorkbench(cleanup);
    const backend = await startBackend(workbench, cleanup, undefined);
    const bench = { workbench, backend, cores: chooseCores() };
    const figures = await measureWatches(router, bench, {
      watches: 20,
      perConnection: 10,
      events: 1,
      settling: 50,
    });
    assert.equal(figures.arrivals[0]?.received, 20);
    // At least one towards clients for every ten, and one towards the server.
    assert.ok(figures.sockets >= 3);
    assert.ok(figures.memoryWithWatches > 0);
  });
});
