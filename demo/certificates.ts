import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type CertificateAuthority,
  type CertificateRequest,
  createCertificateAuthority,
} from './certificate-authority.ts';

/** Paths of a certificate and its private key, both PEM. */
export interface CertificatePaths {
  readonly certificate: string;
  readonly privateKey: string;
}

/** Paths of everything a small cluster with a front proxy needs. */
export interface DemoCertificates {
  /** Signs serving certificates and ordinary clients. */
  readonly clusterCa: string;
  /** Signs front proxies, and nothing else. */
  readonly frontProxyCa: string;
  /** Serving certificates of the API servers; good for each of them, as each answers at a loopback address. */
  readonly apiServer: CertificatePaths;
  readonly router: CertificatePaths;
  /** CN=front-proxy-client, what `--proxy-client-cert-file` is for. */
  readonly frontProxyClient: CertificatePaths;
  /** CN=kubernetes-admin, O=system:masters. */
  readonly admin: CertificatePaths;
  /** CN=alice, O=dev, O=qa. */
  readonly alice: CertificatePaths;
  /** CN=mixed-version-proxy-sync. */
  readonly sync: CertificatePaths;
}

/** Common name of the front-proxy client, for `--requestheader-allowed-names`. */
export const frontProxyName = 'front-proxy-client';
/** Common name of the sync job. */
export const syncJobName = 'mixed-version-proxy-sync';

/** The names that API servers and what stands in front of them are called by, whatever their address. */
const servingNames = {
  dnsNames: [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    'localhost',
  ],
  ipAddresses: ['127.0.0.1', '::1'],
} as const;

/**
 * Makes two authorities and everything they sign, and writes it to `directory` (made if needed, what is there
 * under the same names is replaced). Private keys are readable by their owner only.
 */
export async function createDemoCertificates(directory: string): Promise<DemoCertificates> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const [cluster, frontProxy] = await Promise.all([
    createCertificateAuthority('demo-cluster-ca'),
    createCertificateAuthority('demo-front-proxy-ca'),
  ]);
  const write = (authority: CertificateAuthority, name: string, request: CertificateRequest) =>
    writePair(directory, name, authority, request);
  const [clusterCa, frontProxyCa, apiServer, router, frontProxyClient, admin, alice, sync] =
    await Promise.all([
      writePublic(join(directory, 'cluster-ca.crt'), cluster.certificate),
      writePublic(join(directory, 'front-proxy-ca.crt'), frontProxy.certificate),
      write(cluster, 'apiserver', { commonName: 'kube-apiserver', usage: 'server', ...servingNames }),
      write(cluster, 'router', { commonName: 'mixed-version-proxy', usage: 'server', ...servingNames }),
      write(frontProxy, 'front-proxy-client', { commonName: frontProxyName, usage: 'client' }),
      write(cluster, 'admin', {
        commonName: 'kubernetes-admin',
        organizations: ['system:masters'],
        usage: 'client',
      }),
      write(cluster, 'alice', { commonName: 'alice', organizations: ['dev', 'qa'], usage: 'client' }),
      write(cluster, 'sync', { commonName: syncJobName, usage: 'client' }),
    ]);
  return { clusterCa, frontProxyCa, apiServer, router, frontProxyClient, admin, alice, sync };
}

async function writePair(
  directory: string,
  name: string,
  authority: CertificateAuthority,
  request: CertificateRequest,
): Promise<CertificatePaths> {
  const issued = await authority.issue(request);
  const [certificate, privateKey] = await Promise.all([
    writePublic(join(directory, `${name}.crt`), issued.certificate),
    writePrivate(join(directory, `${name}.key`), issued.privateKey),
  ]);
  return { certificate, privateKey };
}

async function writePublic(path: string, text: string): Promise<string> {
  await writeFile(path, text);
  return path;
}

/** Removed first: a mode given to `writeFile` counts only for a file that it creates. */
export async function writePrivate(path: string, text: string): Promise<string> {
  await rm(path, { force: true });
  await writeFile(path, text, { mode: 0o600, flag: 'wx' });
  return path;
}
