import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { serveFlags } from '../../scripts/demo/routers.ts';
import type { ExampleApiServer } from '../../scripts/example-api-server/index.ts';
import type { EmbeddedCluster } from '../../scripts/measure/embedded-cluster.ts';
import { silentLogger } from '../../src/observe/logger.ts';
import { eventually } from './eventually.ts';

const main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');

/** `mixed-version-proxy serve` as a process of its own. */
export interface RouterProcess {
  readonly port: number;
  /** Everything it has written to standard error. */
  log(): string;
  /** Sends a signal without waiting for what comes of it. */
  signal(name: NodeJS.Signals): void;
  /** Its exit code once it has ended; `null` when a signal ended it. */
  readonly ended: Promise<number | null>;
}

/** Starts it in front of a server of the cluster; killed, if it still runs, when the test is over. */
export async function startRouterProcess(
  context: TestContext,
  { certificates, keyFiles }: EmbeddedCluster,
  apiServer: ExampleApiServer,
  flags: Readonly<Record<string, readonly string[]>> = {},
): Promise<RouterProcess> {
  const { 'snapshot-file': _, ...all } = serveFlags({
    apiServer,
    certificates,
    snapshotKeys: keyFiles.publicKeys,
    snapshotFile: '',
    flags: { 'logging-format': ['json'], ...flags },
    logger: silentLogger,
  });
  const args = Object.entries(all).flatMap(([name, values]) => values.map((value) => `--${name}=${value}`));
  const child = spawn(process.execPath, [main, 'serve', ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  let running = true;
  const ended = once(child, 'close').then(([code]) => {
    running = false;
    return code as number | null;
  });
  context.after(() => {
    if (running) child.kill('SIGKILL');
    return ended;
  });
  const port = (): string | undefined => /"origin":"https:\/\/127\.0\.0\.1:(\d+)"/.exec(log)?.[1];
  await eventually(() => port() !== undefined || !running);
  if (!running) throw new Error(`the router did not start: ${log}`);
  return {
    port: Number(port()),
    log: () => log,
    signal: (name) => {
      child.kill(name);
    },
    ended,
  };
}
