import { readFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { type CertificatePaths, writePrivate } from './certificates.ts';

export interface KubeconfigOptions {
  /** Context name to `https://host:port`. */
  readonly servers: Readonly<Record<string, string>>;
  /** The current context. Default: the first one. */
  readonly current?: string | undefined;
  /** Path of the PEM bundle that the servers' certificates are checked against. */
  readonly certificateAuthority: string;
  /**
   * User name to client certificate. The contexts are the first user's; those of the others are called
   * `<user>@<context>`.
   */
  readonly users: Readonly<Record<string, KubeconfigUser>>;
}

export interface KubeconfigUser extends CertificatePaths {
  /** Bearer token, beside the certificate. */
  readonly token?: string | undefined;
}

/** Writes a kubeconfig with everything in it, readable by its owner only, as it holds private keys. */
export async function writeKubeconfig(path: string, options: KubeconfigOptions): Promise<string> {
  const authority = await readFile(options.certificateAuthority, 'base64');
  const servers = Object.entries(options.servers);
  const users = Object.entries(options.users);
  const contexts = users.flatMap(([user], index) =>
    servers.map(([cluster]) => ({
      name: index === 0 ? cluster : `${user}@${cluster}`,
      context: { cluster, user },
    })),
  );
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: servers.map(([name, server]) => ({
      name,
      cluster: { server, 'certificate-authority-data': authority },
    })),
    users: await Promise.all(
      users.map(async ([name, { certificate, privateKey, token }]) => ({
        name,
        user: {
          'client-certificate-data': await readFile(certificate, 'base64'),
          'client-key-data': await readFile(privateKey, 'base64'),
          ...(token === undefined ? {} : { token }),
        },
      })),
    ),
    contexts,
    'current-context': options.current ?? contexts[0]?.name,
  };
  // Folded scalars are valid YAML that some readers of base64 trip over.
  return writePrivate(path, stringify(kubeconfig, { lineWidth: 0 }));
}
