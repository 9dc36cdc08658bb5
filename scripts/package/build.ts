/**
 * `npm run build`: the library and the command, into `dist`. `npm run build -- --worker`: the Worker, into `dist-worker`, which
 * wrangler uploads as it stands there (wrangler.toml, `no_bundle`).
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = resolve(import.meta.dirname, '../..');
const { values } = parseArgs({ options: { worker: { type: 'boolean', default: false } } });

// `npm pack` and `npm publish` of a checkout would leave out the pinned dependencies (npm-shrinkwrap.json), and have the
// runtimes that only tests need. npm runs `prepare`, which builds, before both.
if (/^(?:pack|publish)$/.test(process.env['npm_command'] ?? '')) {
  console.error('Run `npm run package`: it makes the tarball that is published.');
  process.exitCode = 1;
} else if (values.worker) {
  await buildWorker();
} else {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  const { bundleCommand } = await import('./bundle-command.ts');
  if (status === 0) await bundleCommand(join(root, 'dist'));
  else process.exitCode = 1;
}

async function buildWorker(): Promise<void> {
  const { bundleWorker } = await import('../worker/bundle-worker.ts');
  const { sizeFaults, sizeTable } = await import('../worker/bundle-size.ts');
  const directory = join(root, 'dist-worker');
  const modules = await bundleWorker();
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const { name, contents } of modules) writeFileSync(join(directory, name), contents);
  console.log(sizeTable(modules));
  const faults = sizeFaults(modules);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
}
