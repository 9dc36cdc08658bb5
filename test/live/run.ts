// Runs the live suite where binaries are given, and tells how to give them where they are not: `npm run test:live`.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { liveAssetsGuide } from './assets.ts';
import { assetsOfEnvironment } from './find-assets.ts';
import { ownNetwork, ownNetworkVariable } from './network.ts';

const found = assetsOfEnvironment();
if (found.ok) {
  const network = ownNetwork(found.assets.apiServers);
  if (!network.possible) {
    process.stderr.write(
      `No network namespace of the suite's own (${network.reason}): servers are on loopback, and listed by hand.\n`,
    );
  }
  const test = [
    process.execPath,
    '--test',
    '--test-timeout=1200000',
    // Both have their API servers at the same addresses.
    '--test-concurrency=1',
    ...process.argv.slice(2),
    join(import.meta.dirname, 'live.slow.test.ts'),
    join(import.meta.dirname, 'chart.slow.test.ts'),
  ];
  const [command = '', ...args] = network.possible ? [network.command, ...network.args, ...test] : test;
  const child = spawn(command, args, {
    stdio: 'inherit',
    env: network.possible ? { ...process.env, [ownNetworkVariable]: 'true' } : process.env,
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill(signal));
  child.once('exit', (code) => {
    process.exitCode = code ?? 1;
  });
} else {
  process.stderr.write(`${found.problems.join('\n')}\n\n${liveAssetsGuide}\n`);
  process.exitCode = 2;
}
