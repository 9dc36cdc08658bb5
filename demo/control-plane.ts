import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { generateKeyFiles, publicKeysFile, signingKeyFile } from '../src/cli/commands/keygen.ts';
import type { RunningRouter } from '../src/node/configuration/serve-config.ts';
import type { Logger } from '../src/runtime/logger.ts';
import { createDemoCertificates, type DemoCertificates } from './certificates.ts';
import { takeDirectory } from './demo-directory.ts';
import type { ExampleApiServer } from './example-api-server/index.ts';
import { logOfRouter, logTo } from './log-file.ts';
import { startDemoRouter } from './routers.ts';

/** Milliseconds for requests in flight when a demo ends: somebody at a keyboard waits. */
const closeGrace = 500;

/** Facts of an API server, however it is run. */
export interface DemoApiServer {
  readonly name: string;
  readonly serverId: string;
  readonly version: string;
  /** `https://host:port` */
  readonly url: string;
  close(): Promise<void>;
}

/** API servers of different versions with a router in front of each, and what else a demo is made of. */
export interface DemoControlPlane<Server extends DemoApiServer = ExampleApiServer> {
  /** Path of a file in the demo's directory. */
  path(name: string): string;
  readonly logger: Logger;
  readonly certificates: DemoCertificates;
  /** Paths of the sync job's private key and of its public half. */
  readonly keys: { readonly signing: string; readonly public: string };
  readonly apiServers: readonly Server[];
  /** In the order of the API servers that they are in front of. */
  readonly routers: readonly RunningRouter[];
  /** Has something end with the demo: what was started last ends first. */
  endWith(end: () => Promise<unknown>): void;
}

export interface DemoControlPlaneOptions<Server extends DemoApiServer> {
  /** A new or empty directory, removed when the demo ends. */
  readonly directory: string;
  readonly startServers: (certificates: DemoCertificates) => Promise<readonly Server[]>;
  /** Further flags of `serve`, for every router; what they name may be written to `path`. */
  readonly routerFlags?: (
    path: DemoControlPlane<Server>['path'],
  ) => Promise<Readonly<Record<string, readonly string[]>>>;
}

/** Starts it, uses it, and ends everything; also when it cannot be started, or used. */
export async function withControlPlane<Server extends DemoApiServer>(
  { directory, startServers, routerFlags = async () => ({}) }: DemoControlPlaneOptions<Server>,
  use: (controlPlane: DemoControlPlane<Server>) => Promise<void>,
): Promise<void> {
  const ending: (() => Promise<unknown>)[] = [];
  const { path, remove } = await takeDirectory(directory);
  try {
    const logger = logTo(path('demo.log'));
    const certificates = await createDemoCertificates(path('pki'));
    await generateKeyFiles(path('keys'), 'EdDSA');
    const keys = { signing: join(path('keys'), signingKeyFile), public: join(path('keys'), publicKeysFile) };
    const flags = await routerFlags(path);
    await mkdir(path('snapshots'), { mode: 0o700 });

    const apiServers = await startServers(certificates);
    ending.unshift(...apiServers.map((server) => () => server.close()));
    const routers: RunningRouter[] = [];
    for (const apiServer of apiServers) {
      const router = await startDemoRouter({
        apiServer,
        certificates,
        snapshotKeys: keys.public,
        snapshotFile: join(path('snapshots'), apiServer.serverId),
        flags,
        logger: logOfRouter(logger, apiServer.name),
      });
      routers.push(router);
      ending.unshift(() => router.close(closeGrace));
    }
    await use({
      path,
      logger,
      certificates,
      keys,
      apiServers,
      routers,
      endWith: (end) => ending.unshift(end),
    });
  } finally {
    for (const end of ending) await end();
    await remove();
  }
}
