import { generateKeyPair } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type CertificateRequest,
  createCertificateAuthority,
  type IssuedCertificate,
} from '../../../demo/certificate-authority.ts';
import {
  type CertificatePaths,
  type DemoCertificates,
  frontProxyName,
  syncJobName,
  writePrivate,
} from '../../../demo/certificates.ts';

/** Everything that a control plane of real servers needs, and what attackers would hold. */
export interface LiveCertificates extends DemoCertificates {
  /**
   * Serving certificates that name one host each and the load balancer, as installers make them; in the order of the
   * hosts.
   */
  readonly apiServers: readonly CertificatePaths[];
  /** CN=operator, no group: what it may do RBAC says, where the group of `admin` needs none. */
  readonly operator: CertificatePaths;
  /** CN=system:kube-controller-manager, which the bootstrap roles name. */
  readonly controllerManager: CertificatePaths;
  /** Private key of `clusterCa`: certificate signing requests are signed with it. */
  readonly clusterCaKey: string;
  /** RSA keys of service account tokens: signed with the private one, checked with the public one. */
  readonly serviceAccount: { readonly privateKey: string; readonly publicKey: string };
  /** Certificate of the front-proxy authority, under a name that is not among the allowed ones. */
  readonly otherFrontProxy: CertificatePaths;
}

/**
 * Address of the load balancer in front of the servers: installers put it into every certificate
 * (`controlPlaneEndpoint`).
 */
const loadBalancer = '127.0.0.1';
const dnsNames = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'localhost'];

/**
 * Makes a cluster's authorities and certificates, as installers do, in a directory of their own.
 * @param hosts of the API servers
 */
export async function createLiveCertificates(
  directory: string,
  hosts: readonly { readonly hostName: string; readonly address: string }[],
): Promise<LiveCertificates> {
  const ipAddresses = [loadBalancer, ...hosts.map(({ address }) => address)];
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const cluster = await createCertificateAuthority('kubernetes');
  const frontProxy = await createCertificateAuthority('front-proxy-ca');
  const path = (name: string) => join(directory, name);
  const write = async (name: string, issued: Promise<IssuedCertificate>): Promise<CertificatePaths> => {
    const { certificate, privateKey } = await issued;
    await writeFile(path(`${name}.crt`), certificate);
    return {
      certificate: path(`${name}.crt`),
      privateKey: await writePrivate(path(`${name}.key`), privateKey),
    };
  };
  const serving = { usage: 'server', dnsNames, ipAddresses } as const;
  const admin: CertificateRequest = {
    commonName: 'kubernetes-admin',
    organizations: ['system:masters'],
    usage: 'client',
  };
  await Promise.all([
    writeFile(path('ca.crt'), cluster.certificate),
    writeFile(path('front-proxy-ca.crt'), frontProxy.certificate),
  ]);
  return {
    clusterCa: path('ca.crt'),
    frontProxyCa: path('front-proxy-ca.crt'),
    apiServer: await write('apiserver', cluster.issue({ commonName: 'kube-apiserver', ...serving })),
    apiServers: await Promise.all(
      hosts.map(({ hostName, address }) =>
        write(
          `apiserver-${hostName}`,
          cluster.issue({
            commonName: 'kube-apiserver',
            usage: 'server',
            dnsNames: [hostName, ...dnsNames],
            ipAddresses: [address, loadBalancer],
          }),
        ),
      ),
    ),
    operator: await write('operator', cluster.issue({ commonName: 'operator', usage: 'client' })),
    router: await write('router', cluster.issue({ commonName: 'mixed-version-proxy', ...serving })),
    frontProxyClient: await write(
      'front-proxy-client',
      frontProxy.issue({ commonName: frontProxyName, usage: 'client' }),
    ),
    admin: await write('admin', cluster.issue(admin)),
    alice: await write(
      'alice',
      cluster.issue({ commonName: 'alice', organizations: ['dev', 'qa'], usage: 'client' }),
    ),
    controllerManager: await write(
      'controller-manager',
      cluster.issue({ commonName: 'system:kube-controller-manager', usage: 'client' }),
    ),
    clusterCaKey: await writePrivate(path('ca.key'), await cluster.privateKey()),
    sync: await write('sync', cluster.issue({ commonName: syncJobName, usage: 'client' })),
    serviceAccount: await writeServiceAccountKeys(path('service-account.key'), path('service-account.pub')),
    otherFrontProxy: await write(
      'other-front-proxy',
      frontProxy.issue({ commonName: 'other-front-proxy', usage: 'client' }),
    ),
  };
}

async function writeServiceAccountKeys(
  privatePath: string,
  publicPath: string,
): Promise<LiveCertificates['serviceAccount']> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  await writeFile(publicPath, publicKey);
  return { privateKey: await writePrivate(privatePath, privateKey), publicKey: publicPath };
}
