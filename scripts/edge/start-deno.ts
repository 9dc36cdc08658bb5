import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { writePrivate } from '../../demo/certificates.ts';
import type { EdgeConfiguration } from '../../src/edge/deno/edge-configuration.ts';
import { denoArguments } from './deno-arguments.ts';
import { startEdgeProcess } from './edge-process.ts';
import type { RunningEdge, StartEdgeOptions } from './running-edge.ts';

export const denoMissing =
  'Deno is not installed: install the optional dependencies (npm ci without --omit=optional) on Linux x64';

/** The Deno of the optional dependency; `undefined` when it was not installed. */
export function denoBinary(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('@deno/linux-x64-glibc/deno');
  } catch {
    return undefined;
  }
}

/** Starts the router on Deno with the least permissions that it needs. */
export async function startDeno(options: StartEdgeOptions): Promise<RunningEdge> {
  const { tls, environment, port = 0 } = options;
  const directory = resolve(options.directory);
  if (tls.clientAuthorities !== undefined) {
    throw new TypeError('Deno cannot demand client certificates: leave out clientAuthorities');
  }
  const write = (name: string, text: string) => writePrivate(join(directory, name), text);
  const { frontProxyClient } = tls;
  const configuration: EdgeConfiguration & { apiVersion: string; kind: string } = {
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind: 'EdgeConfiguration',
    listen: `127.0.0.1:${port}`,
    tls: {
      certFile: await write('serving.crt', tls.serving.certificate),
      keyFile: await write('serving.key', tls.serving.privateKey),
    },
    destinations: {
      caFile: await write('destination-ca.crt', tls.destinationAuthorities),
      ...(frontProxyClient === undefined
        ? {}
        : {
            certFile: await write('front-proxy.crt', frontProxyClient.certificate),
            keyFile: await write('front-proxy.key', frontProxyClient.privateKey),
          }),
    },
    stateDirectory: directory,
    environment,
    environmentFiles: {},
  };
  const path = await write('edge.json', JSON.stringify(configuration));
  return startDenoProcess(path, configuration, directory);
}

/** @param path of the configuration, JSON. */
export async function startDenoProcess(
  path: string,
  configuration: EdgeConfiguration,
  directory: string,
  show = false,
): Promise<RunningEdge> {
  const command = denoBinary();
  if (command === undefined) throw new Error(denoMissing);
  return startEdgeProcess({
    command,
    args: denoArguments(path, configuration),
    directory,
    // No authority but the configured ones: Deno adds `caCerts` to its store, and an empty name leaves that empty.
    env: {
      DENO_TLS_CA_STORE: '',
      DENO_NO_UPDATE_CHECK: '1',
      NO_COLOR: '1',
      // What Deno caches belongs to the router, too.
      DENO_DIR: resolve(configuration.stateDirectory, 'deno'),
    },
    show,
  });
}
