// Runs the live suite where binaries are given, and tells how to give them where they are not: `npm run test:live`.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { liveAssetsGuide } from './assets.ts';
import { assetsOfEnvironment } from './find-assets.ts';

const found = assetsOfEnvironment();
if (found.ok) {
  const child = spawn(
    process.execPath,
    ['--test', '--test-timeout=900000', join(import.meta.dirname, 'live.slow.test.ts')],
    { stdio: 'inherit' },
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill(signal));
  child.once('exit', (code) => {
    process.exitCode = code ?? 1;
  });
} else {
  process.stderr.write(`${found.problems.join('\n')}\n\n${liveAssetsGuide}\n`);
  process.exitCode = 2;
}
