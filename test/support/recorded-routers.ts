import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { createDemoCertificates, type DemoCertificates } from '../../demo/certificates.ts';
import { writeKubeconfig } from '../../demo/kubeconfig.ts';
import { startDemoRouter } from '../../demo/routers.ts';
import { generateKeyFiles, publicKeysFile, signingKeyFile } from '../../src/cli/commands/keygen.ts';
import type { RunningRouter } from '../../src/node/configuration/serve-config.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { snapshotFromFolder } from '../../src/sync/node/recording.ts';
import type { RecordedClusterName } from './recorded-cluster.ts';
import { type ReplayServer, recordedFolder, startReplayServer } from './replay-server.ts';

export interface RecordedRouters {
  /** Contexts `a` and `b`: the router in front of that server. */
  readonly kubeconfig: string;
  /** The same for the servers themselves. */
  readonly directKubeconfig: string;
  readonly servers: Readonly<Record<'a' | 'b', ReplayServer>>;
  readonly routers: Readonly<Record<'a' | 'b', RunningRouter>>;
  readonly certificates: DemoCertificates;
  /** An empty directory for kubectl's caches. */
  readonly home: string;
  stop(): Promise<void>;
}

/**
 * The servers of a recorded cluster, replayed over TLS, and a router in front of each, started as `serve` starts it
 * with the snapshot that `sync --from` makes of the recording.
 *
 * @param prepare is given the servers before the routers start
 */
export async function startRecordedRouters(
  cluster: RecordedClusterName,
  prepare: (servers: RecordedRouters['servers']) => void = () => {},
): Promise<RecordedRouters> {
  const home = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-recorded-'));
  const certificates = await createDemoCertificates(join(home, 'pki'));
  await generateKeyFiles(join(home, 'keys'), 'EdDSA');
  const pair = {
    certificate: await readFile(certificates.apiServer.certificate, 'utf8'),
    chain: await readFile(certificates.apiServer.certificate, 'utf8'),
    privateKey: await readFile(certificates.apiServer.privateKey, 'utf8'),
  };
  const servers = {
    a: await startReplayServer(cluster, 'a', pair),
    b: await startReplayServer(cluster, 'b', pair),
  };
  prepare(servers);
  const snapshots = { a: join(home, 'a'), b: join(home, 'b') };
  for (const folder of Object.values(snapshots)) await mkdir(folder);
  const file = (id: 'a' | 'b') => join(snapshots[id], 'snapshot');
  await snapshotFromFolder(recordedFolder(cluster), {
    servers: {
      a: { address: `127.0.0.1:${servers.a.port}` },
      b: { address: `127.0.0.1:${servers.b.port}` },
    },
    files: [{ file: file('a') }, { file: file('b') }],
    signingKey: JSON.parse(await readFile(join(home, 'keys', signingKeyFile), 'utf8')) as JWK,
  });
  const start = (id: 'a' | 'b') =>
    startDemoRouter({
      apiServer: { serverId: id, url: servers[id].url },
      certificates,
      snapshotKeys: join(home, 'keys', publicKeysFile),
      snapshotFile: file(id),
      logger: silentLogger,
    });
  const routers = { a: await start('a'), b: await start('b') };
  const shared = { certificateAuthority: certificates.clusterCa, users: { admin: certificates.admin } };
  return {
    kubeconfig: await writeKubeconfig(join(home, 'kubeconfig'), {
      ...shared,
      servers: { a: routers.a.origin, b: routers.b.origin },
    }),
    directKubeconfig: await writeKubeconfig(join(home, 'direct.kubeconfig'), {
      ...shared,
      servers: { a: servers.a.url, b: servers.b.url },
    }),
    servers,
    routers,
    certificates,
    home,
    async stop() {
      await Promise.all([routers.a.close(), routers.b.close()]);
      await Promise.all([servers.a.close(), servers.b.close()]);
      await rm(home, { recursive: true, force: true });
    },
  };
}
