/**
 * Holds the rooms of src to their order: what stands in one imports from its own and from those below it only, so there
 * is no circle of folders, nor one of modules, by their types either. A room is small enough to be looked over. A package
 * (packages/http2/README.md) imports nothing of what is around it, and shows what is around it two modules, index.ts
 * and shared.ts. Exits 1 and names every fault.
 */
import { dirname } from 'node:path';
import { importsOf, sourceFiles, surroundingFiles } from './imports.ts';

/** From the top down (CONTRIBUTING.md, "Folders"). */
const rooms = [
  // Programs that are started.
  'src/cli',
  'src/cli/doctor',
  'src/cli/explain',
  'src/cli/status',
  'src/cli/commands',
  'src/cli/sync',
  'src/cli/install',
  'src/cli/serve',
  'src/cli/completion',
  'src/cli/snapshot',
  'src/cli/settings',
  'src/cli/terminal',
  'src/edge',
  'src/edge/worker',
  'src/edge/snapshot',
  'src/edge/identity',
  'src/edge/observe',
  'src/edge/configuration',
  'src/edge/platform',
  'src/sync/node',
  'src/node',
  'src/node/process',
  'src/node/credentials',
  'src/node/serving',
  'src/node/upgrades',
  'src/node/callers',
  'src/node/logging',
  'src/node/metrics',
  'src/node/configuration',
  'src/node/destinations',
  'src/node/files',
  'src/node/exchange',
  // HTTP/2 by itself.
  'packages/http2',
  'packages/http2/server',
  'packages/http2/client',
  'packages/http2/frames',
  'packages/http2/sockets',
  'packages/http2/hpack',
  'packages/http2/fields',
  // The sync job.
  'src/sync',
  'src/sync/reading',
  'src/sync/documents',
  // The router.
  'src',
  'src/dashboard/client',
  'src/dashboard',
  'src/dashboard/history',
  'src/dashboard/wording',
  'src/own-paths',
  'src/own-paths/status',
  'src/own-paths/history',
  'src/proxy',
  'src/servers',
  'src/identity/assertion',
  'src/identity',
  'src/request',
  'src/discovery',
  'src/routing',
  'src/discovery/forms',
  // The snapshot.
  'src/snapshot/receiving',
  'src/snapshot/routing-table',
  'src/snapshot/signing',
  'src/snapshot/format',
  'src/snapshot/addresses',
  // The ground floor.
  'src/apimachinery',
  'src/runtime',
];
/** Rooms around the product, from the top down: each imports from those below it, and from the product. */
const surroundings = ['lab', 'test', 'examples', 'demo', 'scripts'];
const maximumFiles = 25;
const http2Package = 'packages/http2/';
/** The modules of the package that others import. */
const http2Faces: readonly string[] = ['packages/http2/index.ts', 'packages/http2/shared.ts'];
/** Modules that the package may import besides its own files. */
const dependenciesOfHttp2 = /^(?:node:|undici$|@hono\/node-server\/)/;

const faults: string[] = [];
const files = sourceFiles();
for (const file of files) {
  const room = rooms.indexOf(dirname(file));
  if (room === -1) faults.push(`${file}: its folder has no place in the order of scripts/check/rooms.ts`);
  for (const imported of importsOf(file)) {
    if (/^(?:demo|scripts|test|lab|examples)\//.test(imported)) {
      faults.push(`${file}: imports ${imported}, which is no part of the product`);
    }
    if (file.startsWith(http2Package)) {
      if (!imported.startsWith(http2Package) && !dependenciesOfHttp2.test(imported)) {
        faults.push(`${file}: imports ${imported}: HTTP/2 knows nothing of what is around it`);
      }
    } else if (imported.startsWith(http2Package) && !http2Faces.includes(imported)) {
      faults.push(`${file}: imports ${imported}: of HTTP/2 there are ${http2Faces.join(' and ')}`);
    }
    if (!isOurs(imported) || dirname(imported) === dirname(file)) continue;
    if (rooms.indexOf(dirname(imported)) < room) {
      faults.push(`${file}: imports ${imported}, which stands above it`);
    }
  }
}
for (const room of rooms) {
  const count = files.filter((file) => dirname(file) === room).length;
  if (count === 0) faults.push(`${room}: no such folder, or nothing in it`);
  if (count > maximumFiles) faults.push(`${room}: ${count} files, more than ${maximumFiles}`);
}
faults.push(...surroundingFaults(), ...circles());
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
console.log(`src and packages: ${rooms.length} rooms, imports run downward`);

function isOurs(imported: string): boolean {
  return imported.startsWith('src/') || imported.startsWith('packages/');
}

function surroundingFaults(): string[] {
  const floorOf = (path: string): number => surroundings.indexOf(path.split('/')[0] ?? '');
  return surroundingFiles().flatMap((file) =>
    importsOf(file)
      .filter((imported) => floorOf(imported) !== -1 && floorOf(imported) < floorOf(file))
      .map((imported) => `${file}: imports ${imported}, which stands above it`),
  );
}

/** Circles of modules within one folder; the order of the folders leaves no others. */
function circles(): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]): void => {
    const start = way.indexOf(file);
    if (start !== -1) found.push(`${[...way.slice(start), file].join(' -> ')}: a circle`);
    if (start !== -1 || done.has(file)) return;
    for (const imported of importsOf(file)) if (isOurs(imported)) visit(imported, [...way, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  return found;
}
