/** Builds the Worker into dist-worker: `wrangler` uploads what stands there as it is (wrangler.toml, `no_bundle`). */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sizeFaults, sizeTable } from './bundle-size.ts';
import { bundleWorker } from './bundle-worker.ts';

const directory = join(import.meta.dirname, '..', '..', 'dist-worker');

const modules = await bundleWorker();
rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });
for (const { name, contents } of modules) writeFileSync(join(directory, name), contents);
console.log(sizeTable(modules));
const faults = sizeFaults(modules);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
