import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startChild } from '../../test/support/commands/child-process.ts';
import { parseOpenFileLimit } from './open-files.ts';
import { parseCpuTime, parseStatus, processTree, resetPeak, socketsOf, usageOf } from './process-usage.ts';

test('CPU time is user and system time, whatever the process is called', () => {
  const rest = 'S 1 2 3 0 -1 4194304 10 20 30 40 150 25 7 8 20 0 1 0 100 200 300';
  assert.equal(parseCpuTime(`42 (node) ${rest}`), 1_750_000);
  assert.equal(parseCpuTime(`42 (a) b (c d) ${rest}`), 1_750_000);
});

test('memory is read from the status; a process that ends has none', () => {
  const status = 'Name:\tnode\nVmPeak:\t  999 kB\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nThreads:\t7\n';
  assert.deepEqual(parseStatus(status), { resident: 1024, peakResident: 2048 });
  assert.deepEqual(parseStatus('Name:\tnode\nState:\tZ (zombie)\n'), { resident: 0, peakResident: 0 });
});

test('the limit of open files is the hard one', () => {
  const limits =
    'Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 20000                files\n';
  assert.equal(parseOpenFileLimit(limits), 20_000);
  assert.equal(parseOpenFileLimit(limits.replace('20000', 'unlimited')), Number.POSITIVE_INFINITY);
});

test('what children use counts for the process that started them', async () => {
  const child = await startChild({ executable: 'sh', arguments: ['-c', 'sleep 30 & echo started; wait'] });
  try {
    assert.equal(await child.nextLine(), 'started');
    const tree = await processTree(child.pid);
    assert.equal(tree.length, 2);
    const { resident, peakResident } = await usageOf(child.pid);
    assert.ok(resident > 0 && peakResident >= resident);
    await resetPeak(child.pid);
    // The standard streams, which Node makes of sockets, and which both share.
    assert.equal(await socketsOf(child.pid), 3);
  } finally {
    for (const pid of (await processTree(child.pid)).slice(1)) process.kill(pid);
    await child.stop();
  }
  assert.deepEqual(await usageOf(child.pid), { cpuTime: 0, resident: 0, peakResident: 0 });
});

test('a program that ends while its next line is awaited is told with what it said last', async () => {
  const child = await startChild({ executable: 'sh', arguments: ['-c', 'echo no use >&2; exit 3'] });
  await assert.rejects(child.nextLine(), /sh ended with 3: no use/);
  assert.equal((await child.ended).code, 3);
  await child.stop();
});

test('a program that is not there is told at once', async () => {
  await assert.rejects(startChild({ executable: '/no/such/program', arguments: [] }), /ENOENT/);
});

test('lines that come together are told one by one', async () => {
  const child = await startChild({ executable: 'printf', arguments: ['one\\ntwo\\nthree\\n'] });
  const lines = [await child.nextLine(), await child.nextLine(), await child.nextLine()];
  assert.deepEqual(lines, ['one', 'two', 'three']);
});
