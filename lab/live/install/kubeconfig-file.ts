import { readFileSync } from 'node:fs';
import * as v from 'valibot';
import { parse } from 'yaml';
import type { TlsCredentials } from '../../../test/support/clients/tls-request.ts';

const data = v.pipe(
  v.string(),
  v.transform((text) => Buffer.from(text, 'base64').toString()),
);
const kubeconfig = v.object({
  clusters: v.tuple([
    v.object({ cluster: v.object({ server: v.string(), 'certificate-authority-data': data }) }),
  ]),
  users: v.tuple([
    v.object({ user: v.object({ 'client-certificate-data': data, 'client-key-data': data }) }),
  ]),
});

/** A kubeconfig as kubeadm writes one: one cluster, and one user with a certificate. */
export function kubeconfigFile(path: string): {
  readonly server: string;
  readonly credentials: TlsCredentials;
} {
  const {
    clusters: [{ cluster }],
    users: [{ user }],
  } = v.parse(kubeconfig, parse(readFileSync(path, 'utf8')));
  return {
    server: cluster.server,
    credentials: {
      ca: cluster['certificate-authority-data'],
      cert: user['client-certificate-data'],
      key: user['client-key-data'],
    },
  };
}
