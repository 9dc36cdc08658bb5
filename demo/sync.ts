import { readFile } from 'node:fs/promises';
import type { Logger } from '../src/runtime/logger.ts';
import { type RouterTarget, runSync, type ServerDescription } from '../src/sync/node/index.ts';
import type { DemoCertificates } from './certificates.ts';

export interface DemoSyncOptions {
  /** Path of the private JWK that snapshots are signed with. */
  readonly signingKey: string;
  readonly servers: readonly ServerDescription[];
  readonly targets: readonly RouterTarget[];
  readonly certificates: DemoCertificates;
  /** For targets that know the sync job by a token. */
  readonly bearerToken?: (() => Promise<string>) | undefined;
  readonly logger: Logger;
}

/** Starts the sync job; the function it resolves to ends it. */
export async function startDemoSync(options: DemoSyncOptions): Promise<() => Promise<void>> {
  const { certificates } = options;
  const read = (file: string) => readFile(file, 'utf8');
  const stop = new AbortController();
  const running = runSync(
    {
      servers: options.servers,
      routers: options.targets,
      certificateAuthorities: await read(certificates.clusterCa),
      clientCertificate: {
        certificate: await read(certificates.sync.certificate),
        key: await read(certificates.sync.privateKey),
      },
      routerBearerToken: options.bearerToken,
      signingKey: JSON.parse(await read(options.signingKey)),
      cluster: 'demo',
      logger: options.logger,
    },
    stop.signal,
  );
  return () => {
    stop.abort();
    return running;
  };
}
