import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { syncJobName } from '../../../demo/certificates.ts';
import { postObject, type TlsCredentials } from '../../../test/support/clients/tls-request.ts';

const deploy = join(import.meta.dirname, '../../..', 'deploy');
/** Rights of the sync job to read the cluster, and to push to routers. */
const manifests = [join(deploy, 'kubernetes', 'reader.yaml'), join(deploy, 'sync', 'rights.yaml')];

interface RbacObject {
  readonly [field: string]: unknown;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly subjects?: readonly unknown[];
}

/**
 * Gives the sync job the rights of the manifests that are shipped for it, and no others. Its bindings are turned to the
 * user that its certificate names.
 */
export async function allowSyncJob(url: string, admin: TlsCredentials): Promise<void> {
  const texts = await Promise.all(manifests.map((file) => readFile(file, 'utf8')));
  const objects = texts.flatMap((text) =>
    parseAllDocuments(text).map((document) => document.toJS() as RbacObject),
  );
  for (const object of objects) {
    const { kind, metadata } = object;
    if (kind === 'ServiceAccount' || metadata.name === 'mixed-version-proxy-monitor') continue;
    const scope = metadata.namespace === undefined ? '' : `namespaces/${metadata.namespace}/`;
    const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: syncJobName }];
    await create(
      `${url}/apis/rbac.authorization.k8s.io/v1/${scope}${kind.toLowerCase()}s`,
      admin,
      object.subjects === undefined ? object : { ...object, subjects },
    );
  }
}

/** Binds the user `operator` to `cluster-admin`: unlike a member of `system:masters` it needs RBAC for all it does. */
export function allowOperator(url: string, admin: TlsCredentials): Promise<void> {
  const user = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'operator' };
  return bindClusterAdmin(url, admin, 'live-operator', user);
}

export function bindClusterAdmin(
  url: string,
  admin: TlsCredentials,
  name: string,
  subject: object,
): Promise<void> {
  return create(`${url}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`, admin, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [subject],
  });
}

async function create(collection: string, admin: TlsCredentials, object: RbacObject): Promise<void> {
  const { statusCode, text } = await postObject(collection, object, admin);
  if (statusCode !== 201) {
    throw new Error(`${object.kind} ${object.metadata.name} was not made: ${statusCode} ${text}`);
  }
}
