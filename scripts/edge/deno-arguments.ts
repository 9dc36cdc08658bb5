import { join } from 'node:path';
import type { EdgeConfiguration } from '../../src/edge/deno/edge-configuration.ts';
import { snapshotFileName } from '../../src/edge/deno/start-deno-router.ts';

const entry = join(import.meta.dirname, '..', '..', 'src', 'edge', 'deno', 'serve.ts');

/**
 * The arguments of `deno` for the router: the files of its configuration and nothing else to read, its snapshot to
 * write, no variables, no processes, no code from the network. Where it may connect is the snapshot's to say, within
 * the address policy, so the network is open.
 */
export function denoArguments(path: string, configuration: EdgeConfiguration): readonly string[] {
  const { tls, destinations, stateDirectory, environmentFiles } = configuration;
  const snapshot = join(stateDirectory, snapshotFileName);
  // A new snapshot is written beside the old one and renamed over it, for which Deno wants both leaves on both files.
  const stored = [snapshot, `${snapshot}.new`];
  const readable = [
    path,
    tls.certFile,
    tls.keyFile,
    destinations.caFile,
    destinations.certFile,
    destinations.keyFile,
    ...Object.values(environmentFiles),
    ...stored,
  ].filter((file) => file !== undefined);
  return [
    'run',
    '--no-prompt',
    '--no-remote',
    '--cached-only',
    `--allow-read=${pathList(readable)}`,
    `--allow-write=${pathList(stored)}`,
    '--allow-net',
    entry,
    path,
  ];
}

function pathList(paths: readonly string[]): string {
  for (const path of paths) {
    // Deno splits the list at commas: the rest of such a name would be another path.
    if (path.includes(','))
      throw new TypeError(`${path} has a comma in it, which Deno's permissions cannot name`);
  }
  return paths.join(',');
}
