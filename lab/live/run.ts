// Runs the live suite where binaries are given, and tells how to give them where they are not: `npm run lab -- live`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { assetsOfEnvironment, liveAssetsGuide } from './cluster/assets.ts';
import { inOwnNetwork } from './cluster/network.ts';

const found = assetsOfEnvironment();
if (found.ok) await inOwnNetwork(found.assets.apiServers, runTests);
else {
  process.stderr.write(`${found.problems.join('\n')}\n\n${liveAssetsGuide}\n`);
  process.exitCode = 2;
}

async function runTests(): Promise<void> {
  const args = [
    '--test',
    '--test-timeout=1200000',
    // Both have their API servers at the same addresses.
    '--test-concurrency=1',
    ...process.argv.slice(2),
    join(import.meta.dirname, 'live.slow.test.ts'),
    join(import.meta.dirname, 'chart.slow.test.ts'),
  ];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  process.once('exit', () => child.kill());
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}
