import type { TestContext } from 'node:test';
import type { ExampleApiServer } from '../../../demo/example-api-server/index.ts';
import { serveFlags } from '../../../demo/routers.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import type { EmbeddedCluster } from '../clusters/embedded-cluster.ts';
import { flagArguments } from '../commands/command.ts';
import { type CommandProcess, startCommandProcess } from '../commands/command-process.ts';
import { eventually } from '../eventually.ts';

/** `mixed-version-proxy serve` as a process of its own. */
export interface RouterProcess extends CommandProcess {
  readonly port: number;
}

/**
 * Starts it in front of a server of the cluster; killed, if it still runs, when the test is over.
 *
 * @param shellPrelude a shell command that it is started behind, such as `ulimit -n 256`
 */
export async function startRouterProcess(
  context: TestContext,
  { certificates, keyFiles }: EmbeddedCluster,
  apiServer: ExampleApiServer,
  flags: Readonly<Record<string, readonly string[] | undefined>> = {},
  shellPrelude?: string,
): Promise<RouterProcess> {
  const all = serveFlags({
    apiServer,
    certificates,
    snapshotKeys: keyFiles.publicKeys,
    snapshotFile: '',
    flags: { 'logging-format': ['json'], ...flags },
    logger: silentLogger,
  });
  const args = flagArguments({ ...all, 'snapshot-file': undefined });
  const running = startCommandProcess(context, ['serve', ...args], shellPrelude);
  const port = (): string | undefined => /"origin":"https:\/\/127\.0\.0\.1:(\d+)"/.exec(running.log())?.[1];
  await eventually(() => port() !== undefined || !running.isRunning());
  if (!running.isRunning()) throw new Error(`the router did not start: ${running.log()}`);
  return { ...running, port: Number(port()) };
}
