import { readFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { type CertificatePaths, writePrivate } from './certificates.ts';

export interface KubeconfigOptions {
  /** `https://host:port`. */
  readonly server: string;
  /** Path of the PEM bundle that the server's certificate is checked against. */
  readonly certificateAuthority: string;
  /** The user's client certificate. */
  readonly client: CertificatePaths;
  readonly userName: string;
  /** Default `demo`. */
  readonly clusterName?: string;
}

/** Writes a kubeconfig with everything in it, readable by its owner only, as it holds a private key. */
export async function writeKubeconfig(path: string, options: KubeconfigOptions): Promise<string> {
  const { server, userName, clusterName = 'demo', client } = options;
  const [authority, certificate, privateKey] = await Promise.all(
    [options.certificateAuthority, client.certificate, client.privateKey].map((file) =>
      readFile(file, 'base64'),
    ),
  );
  const context = `${userName}@${clusterName}`;
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: clusterName, cluster: { server, 'certificate-authority-data': authority } }],
    users: [
      {
        name: userName,
        user: { 'client-certificate-data': certificate, 'client-key-data': privateKey },
      },
    ],
    contexts: [{ name: context, context: { cluster: clusterName, user: userName } }],
    'current-context': context,
  };
  // Folded scalars are valid YAML that some readers of base64 trip over.
  return writePrivate(path, stringify(kubeconfig, { lineWidth: 0 }));
}
