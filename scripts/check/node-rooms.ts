/**
 * Holds the rooms of src/node to their order: what stands in one imports from those below it only. A room is small
 * enough to be looked over. Exits 1 and names every fault.
 */
import { dirname } from 'node:path';
import { importsOf, sourceFiles } from './imports.ts';

/** From the top down (docs/architecture.md, "Folders"). */
const rooms = [
  'src/node',
  'src/node/process',
  'src/node/reload',
  'src/node/serving',
  'src/node/upgrades',
  'src/node/health',
  'src/node/callers',
  'src/node/logging',
  'src/node/metrics',
  'src/node/configuration',
  'src/node/tracing',
  'src/node/audit',
  'src/node/destinations',
  'src/node/files',
  'src/node/exchange',
];
const maximumFiles = 25;

const faults: string[] = [];
const files = sourceFiles().filter((file) => file.startsWith('src/node/'));
for (const file of files) {
  const room = rooms.indexOf(dirname(file));
  if (room === -1)
    faults.push(`${file}: its folder has no place in the order of scripts/check/node-rooms.ts`);
  for (const imported of importsOf(file)) {
    if (!imported.startsWith('src/node/')) continue;
    if (rooms.indexOf(dirname(imported)) < room) {
      faults.push(`${file}: imports ${imported}, which stands above it`);
    }
  }
}
for (const room of rooms) {
  const count = files.filter((file) => dirname(file) === room).length;
  if (count > maximumFiles) faults.push(`${room}: ${count} files, more than ${maximumFiles}`);
}
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
console.log('src/node: imports run downward');
