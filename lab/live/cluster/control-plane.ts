import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiServerId } from '../../../demo/example-api-server/cluster.ts';
import { generateKeyFiles, publicKeysFile, signingKeyFile } from '../../../src/cli/commands/keygen.ts';
import { credentialsOf, type TlsCredentials } from '../../../test/support/clients/tls-request.ts';
import { freePort } from '../../../test/support/free-port.ts';
import type { ApiServerBinary } from './assets.ts';
import { createLiveCertificates, type LiveCertificates } from './certificates.ts';
import { startEtcd } from './etcd.ts';
import { createKubeApiServer, type KubeApiServer } from './kube-apiserver.ts';
import { liveNetwork } from './network.ts';
import { versionSkewFlags } from './version-skew.ts';

/** Milliseconds. */
const etcdGrace = 5000;

/** Real API servers over one etcd, and what installers make for them; no routers yet. */
export interface ControlPlane {
  /** Removed with the control plane. */
  readonly directory: string;
  path(name: string): string;
  readonly certificates: LiveCertificates;
  /** Keys of the sync job: the private one, and the file of public ones. */
  readonly signingKey: string;
  readonly snapshotKeys: string;
  /** `a`, `b` and `c`, in the order of the binaries. */
  readonly servers: readonly KubeApiServer[];
  readonly etcdUrl: string;
  readonly admin: TlsCredentials;
  /** Ends something before what it needs ends. */
  endWith(end: () => Promise<unknown>): void;
  close(): Promise<void>;
}

/**
 * Starts etcd and a server of each binary; resolves once all are ready. What was started is stopped when it cannot.
 *
 * @param binaries of one to three servers
 * @param moreFlags of a server of this version
 * @param versions that servers have now, or will have
 */
export async function startControlPlane(
  etcdPath: string,
  binaries: readonly ApiServerBinary[],
  moreFlags: (binary: ApiServerBinary, certificates: LiveCertificates) => readonly string[] = () => [],
  versions: readonly ApiServerBinary[] = binaries,
): Promise<ControlPlane> {
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-live-'));
  const ending: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })];
  const endWith = (end: () => Promise<unknown>) => void ending.unshift(end);
  const close = async () => {
    for (const end of ending.splice(0)) await end();
  };
  try {
    const path = (name: string) => join(directory, name);
    await mkdir(path('home'));
    const { isOwn, addresses } = liveNetwork();
    const hosts = binaries.map((_, index) => {
      const name = 'abc'[index] ?? '';
      return { name, hostName: `live-${name}`, address: addresses[index] ?? '' };
    });
    const certificates = await createLiveCertificates(path('pki'), hosts);
    await generateKeyFiles(path('keys'), 'EdDSA');
    const admin = credentialsOf(certificates.clusterCa, certificates.admin);
    const etcd = await startEtcd(etcdPath, directory);
    endWith(() => etcd.process.stop(etcdGrace));

    const servers = await Promise.all(
      hosts.map(async ({ name, hostName, address }, index) => {
        const binary = binaries[index];
        if (binary === undefined) throw new TypeError('each host has a binary');
        return createKubeApiServer(
          {
            name,
            hostName,
            serverId: isOwn ? apiServerId(hostName) : `apiserver-${hostName}`,
            address,
            servingCertificate: certificates.apiServers[index] ?? certificates.apiServer,
            hasEndpoint: isOwn,
            // The endpoints of default/kubernetes have one port for all.
            port: isOwn ? 6443 : await freePort(address),
            etcdUrl: etcd.url,
            certificates,
            logFile: path(`kube-apiserver-${name}.log`),
            credentials: admin,
            flagsFor: (used) => [...versionSkewFlags(used, versions), ...moreFlags(used, certificates)],
          },
          binary,
        );
      }),
    );
    // One after the other, as installers do it: each finds the system namespaces that the one before has made.
    for (const server of servers) {
      endWith(() => server.stop());
      await server.launch(server.binary());
      await server.untilReady();
    }
    return {
      directory,
      path,
      certificates,
      signingKey: join(path('keys'), signingKeyFile),
      snapshotKeys: join(path('keys'), publicKeysFile),
      servers,
      etcdUrl: etcd.url,
      admin,
      endWith,
      close,
    };
  } catch (cause) {
    await close();
    throw cause;
  }
}
