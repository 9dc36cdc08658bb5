import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { canConnect } from '../support/can-connect.ts';

const demo = new URL('../../demo/main.ts', import.meta.url).pathname;

/** The demo as `npm start` runs it, in an empty directory. */
describe('the demo', () => {
  let directory: string;
  let child: ChildProcess;
  let output = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'demo-'));
    child = spawn(process.execPath, [demo], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    for await (const chunk of child.stdout ?? []) {
      output += chunk;
      if (/^ready$/m.test(output)) break;
    }
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const ports = async (): Promise<number[]> => {
    const files = ['kubeconfig', 'direct.kubeconfig'].map((name) => join(directory, '.demo', name));
    const configs = await Promise.all(files.map(async (file) => parse(await readFile(file, 'utf8'))));
    return configs.flatMap((config: { clusters: { cluster: { server: string } }[] }) =>
      config.clusters.map(({ cluster }) => Number(new URL(cluster.server).port)),
    );
  };

  test('prints what to type, then ready, once three routers and three API servers can be reached', async () => {
    assert.ok(output.includes(`export KUBECONFIG=${join(directory, '.demo', 'kubeconfig')}`), output);
    const listening = await ports();
    assert.equal(listening.length, 6);
    for (const port of listening) assert.equal(await canConnect(port), true, `port ${port}`);
  });

  test('refuses flags that it does not know, or that contradict each other, with exit code 2', () => {
    for (const [flags, message] of [
      [['--upgrade', '--upgrade-interval', '10'], /must be a duration such as 10s, not "10"/],
      [['--upgrade', '--upgrade-interval', '0s'], /must be a duration such as 10s, not "0s"/],
      [['--upgrade-interval', '5s'], /--upgrade-interval needs --upgrade/],
      [['--upgarde'], /unknown flag --upgarde: did you mean --upgrade\?\nRun it with --help/],
      [['--nosuch'], /unknown flag --nosuch\n/],
    ] as const) {
      const { status, stderr } = spawnSync(process.execPath, [demo, ...flags], { encoding: 'utf8' });
      assert.equal(status, 2);
      assert.match(stderr, message);
    }
  });

  test('ends with Ctrl-C, with exit code 0, and leaves nothing behind', async () => {
    const listening = await ports();
    child.kill('SIGINT');
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
    assert.equal(existsSync(join(directory, '.demo')), false);
    for (const port of listening) assert.equal(await canConnect(port), false, `port ${port}`);
  });
});
