/**
 * Writes every file that is made from code: `npm run generate`. With `--session` it writes what commands against the demo print
 * into the pages instead (kubectl), with `--screenshots` the pictures of the status page (Chromium, four minutes).
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { hasHelm, manifestsPath, manifestsText } from '../helm/render-chart.ts';
import { writeGenerated } from './generated-file.ts';
import { generatedFiles } from './generated-files.ts';

const { values } = parseArgs({
  options: {
    session: { type: 'boolean', default: false },
    screenshots: { type: 'boolean', default: false },
  },
});
if (values.session) run(process.execPath, '--env-file=.env', 'test/docs/record-session.ts');
if (values.screenshots) run(process.execPath, 'test/dashboard/take-screenshots.ts');
if (!values.session && !values.screenshots) await generateAll();

async function generateAll(): Promise<void> {
  await writeGenerated(generatedFiles);
  if (hasHelm()) await writeGenerated([{ path: manifestsPath, text: manifestsText }]);
  else console.log(`${manifestsPath} stays as it is: helm is not on PATH (set TEST_ASSET_HELM)`);
  const json = generatedFiles.map(({ path }) => path).filter((path) => path.endsWith('.json'));
  run('biome', 'format', '--write', ...json);
  run(process.execPath, '--env-file=.env', '--test', '--test-update-snapshots', 'test/flags/golden.test.ts');
}

/** npm has put the commands of the packages on the PATH. */
function run(command: string, ...args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
