import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ApiServerBinary } from './assets.ts';
import { ownNetwork, ownNetworkVariable } from './network.ts';

/**
 * Runs what is given in a network namespace of its own, by starting this process again in one; where there can be none,
 * says so, and runs it here.
 */
export async function inOwnNetwork(
  apiServers: readonly Pick<ApiServerBinary, 'minor' | 'version'>[],
  run: () => Promise<void>,
): Promise<void> {
  if (process.env[ownNetworkVariable] !== undefined) return runUntilSignal(run);
  const network = ownNetwork(apiServers);
  if (!network.possible) {
    process.stderr.write(
      `No network namespace of the suite's own (${network.reason}): servers are on loopback, and listed by hand.\n`,
    );
    return runUntilSignal(run);
  }
  const child = spawn(
    network.command,
    [...network.args, process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    { stdio: 'inherit', env: { ...process.env, [ownNetworkVariable]: 'true' } },
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}

/**
 * Servers are ended as the process exits, which a signal alone would not let it do in order. A second signal, as a process
 * group gets it, must not cut that short.
 */
async function runUntilSignal(run: () => Promise<void>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  await run();
}
