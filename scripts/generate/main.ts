/**
 * Writes every file that is made from code: `npm run generate`. What takes a cluster, a browser or other runtimes is an
 * argument or an experiment of its own (CONTRIBUTING.md).
 */
import { spawnSync } from 'node:child_process';
import { hasHelm, manifestsPath, manifestsText } from '../helm/render-chart.ts';
import { writeGenerated } from './generated-file.ts';
import { generatedFiles } from './generated-files.ts';

await writeGenerated(generatedFiles);
if (hasHelm()) await writeGenerated([{ path: manifestsPath, text: manifestsText }]);
else console.log(`${manifestsPath} stays as it is: helm is not on PATH (set TEST_ASSET_HELM)`);
const json = generatedFiles.map(({ path }) => path).filter((path) => path.endsWith('.json'));
run('biome', 'format', '--write', ...json);
run(process.execPath, '--env-file=.env', '--test', '--test-update-snapshots', 'test/flags/golden.test.ts');

/** npm has put the commands of the packages on the PATH. */
function run(command: string, ...args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
