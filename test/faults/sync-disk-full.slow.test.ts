import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { askRouter, eventuallyReturns, syncCluster } from '../support/clusters/sync-cluster.ts';
import { startSyncProcess } from '../support/commands/sync-process.ts';

// A limit on the size of files (RLIMIT_FSIZE) stands for the full disk: the write fails in its middle with EFBIG, as
// it would with ENOSPC, in a process of its own.

/** 512-byte blocks: 8 KiB, a fraction of a snapshot. */
const shellPrelude = 'ulimit -f 16';

for (const [form, flags] of [
  ['signed', []],
  ['plain', ['--unsigned']],
] as const) {
  test(`a disk that is full leaves the ${form} file as it was, and routers get their snapshot all the same`, async (context) => {
    const cluster = await syncCluster(context);
    const server = await cluster.startServer({ version: '1.36', name: 'server' });
    const router = await cluster.startRouter(server);
    const folder = join(cluster.directory, 'out');
    const file = join(folder, 'snapshot');
    await mkdir(folder);
    await writeFile(file, 'what was there before\n');
    const job = startSyncProcess(context, cluster, {
      servers: [server],
      flags: ['--once', '--out', file, ...flags, '--target', router.origin],
      shellPrelude,
    });
    assert.equal(await job.ended, 1, job.log());
    assert.match(job.log(), /snapshot: unreachable: EFBIG/);
    assert.match(job.log(), new RegExp(`${router.origin}: accepted`));
    assert.equal(await readFile(file, 'utf8'), 'what was there before\n');
    assert.deepEqual(await readdir(folder), ['snapshot'], 'no half file is left beside it');
    const client = askRouter(context, router.origin, cluster);
    await eventuallyReturns(client.status, ({ snapshot }) => snapshot !== null);
  });
}
