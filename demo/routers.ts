import { readFileSync } from 'node:fs';
import type { RunningRouter } from '../src/node/configuration/serve-config.ts';
import { startRouter } from '../src/node/process/start-router.ts';
import type { Logger } from '../src/runtime/logger.ts';
import { type DemoCertificates, frontProxyName } from './certificates.ts';
import { validateServeOptions } from './checked-flags.ts';
import type { ExampleApiServer } from './example-api-server/index.ts';

export interface DemoRouterOptions {
  readonly apiServer: Pick<ExampleApiServer, 'serverId' | 'url'>;
  readonly certificates: DemoCertificates;
  /** Public keys of the sync job. */
  readonly snapshotKeys: string;
  readonly snapshotFile: string;
  /** Further flags of `serve`. */
  readonly flags?: Readonly<Record<string, readonly string[]>>;
  readonly logger: Logger;
}

/** The flags that `mixed-version-proxy serve` would be started with in front of one of the API servers. */
export function serveFlags(options: DemoRouterOptions): Record<string, readonly string[]> {
  const { apiServer, certificates } = options;
  return {
    'server-id': [apiServer.serverId],
    'local-server': [apiServer.url],
    'bind-address': ['127.0.0.1'],
    'secure-port': ['0'],
    'tls-cert-file': [certificates.router.certificate],
    'tls-private-key-file': [certificates.router.privateKey],
    'client-ca-file': [certificates.clusterCa],
    'peer-ca-file': [certificates.clusterCa],
    'proxy-client-cert-file': [certificates.frontProxyClient.certificate],
    'proxy-client-key-file': [certificates.frontProxyClient.privateKey],
    'requestheader-client-ca-file': [certificates.frontProxyCa],
    'requestheader-allowed-names': [frontProxyName],
    'snapshot-keys': [options.snapshotKeys],
    'snapshot-file': [options.snapshotFile],
    'allow-loopback-peers': ['true'],
    ...options.flags,
  };
}

/** Starts a router in front of an API server, configured and checked as `serve` does it. */
export async function startDemoRouter(options: DemoRouterOptions): Promise<RunningRouter> {
  const result = await validateServeOptions(serveFlags(options), {
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  if (!result.ok) {
    throw new TypeError(result.issues.map(({ message }) => message).join('\n'));
  }
  return startRouter(result.config, options.logger);
}
