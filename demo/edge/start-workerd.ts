import { resolve } from 'node:path';
import { runtimeFile } from '../../scripts/runtimes/index.ts';
import { startEdgeProcess } from './edge-process.ts';
import type { RunningEdge, StartEdgeOptions } from './running-edge.ts';
import { bundleWorkerBuild, type WorkerBuild } from './worker-build.ts';
import { writeWorkerdDirectory } from './workerd-directory.ts';

export interface StartWorkerdOptions extends StartEdgeOptions {
  /** The address to listen at. Default `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Networks that may be connected to. Default: all, as in a cluster's own network; loopback is among them. */
  readonly networks?: readonly string[] | undefined;
  /** The Worker. Default: built from its sources. */
  readonly build?: WorkerBuild | undefined;
  /** Also shows what workerd writes. */
  readonly show?: boolean | undefined;
}

/** Starts the built Worker on the open-source workerd itself: no emulator, no account. */
export async function startWorkerd(options: StartWorkerdOptions): Promise<RunningEdge> {
  const directory = resolve(options.directory);
  const { host = '127.0.0.1', port = 0, networks = ['public', 'private'] } = options;
  const config = await writeWorkerdDirectory({
    directory,
    build: options.build ?? (await bundleWorkerBuild()),
    tls: options.tls,
    environment: options.environment,
    listen: `${host}:${port}`,
    networks,
  });
  return startEdgeProcess({
    command: workerdBinary(),
    // localDisk storage is called experimental (workerd.capnp), and needs the flag.
    args: ['serve', config, '--control-fd=3', '--experimental'],
    directory,
    env: {},
    show: options.show,
  });
}

/** The binary itself, not the script around it: a signal has to reach the process that it is for. */
function workerdBinary(): string {
  const platform = { x64: '64', arm64: 'arm64' }[process.arch as string] ?? process.arch;
  const name = `@cloudflare/workerd-${process.platform === 'win32' ? 'windows' : process.platform}-${platform}`;
  const binary = process.platform === 'win32' ? 'bin/workerd.exe' : 'bin/workerd';
  return runtimeFile(`${name}/${binary}`);
}
