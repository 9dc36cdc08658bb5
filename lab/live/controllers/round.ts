import type { KubeApiServer } from '../cluster/kube-apiserver.ts';
import type { ObjectClient, StoredObject } from './object-client.ts';

/** Where everything is put that is to stay. */
export const keptNamespace = 'kept';

/** A resource that only the newest version serves. */
const claims = 'apis/resource.k8s.io/v1';
/** One that only the oldest serves, under this version; the newest serves v1. */
const policies = '/apis/admissionregistration.k8s.io/v1beta1/validatingadmissionpolicies';

/** Keys that etcd must hold, and must not hold, once the controllers have done their work on one round. */
export interface Expectation {
  readonly kept: readonly string[];
  readonly gone: readonly string[];
  /** Begins of keys that nothing may have. */
  readonly goneBelow: readonly string[];
  /** The name of a CertificateSigningRequest that must have been signed. */
  readonly signed: string;
}

export interface RoundClients {
  /** By the way into the cluster that is tried. */
  readonly tried: ObjectClient;
  /** Straight to the only server that serves each: what is made is not what is judged. */
  readonly newest: ObjectClient;
  readonly oldest: ObjectClient;
}

const claim = (name: string, owner?: StoredObject) => ({
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceClaim',
  metadata: { name, ...ownedBy(owner) },
  spec: {},
});

const configMap = (name: string, owner?: StoredObject) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...ownedBy(owner) },
});

function ownedBy(owner: StoredObject | undefined): object {
  if (owner === undefined) return {};
  const { apiVersion, kind, metadata } = owner;
  return { ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid }] };
}

/**
 * Makes the objects of a round: a namespace to be deleted with what it holds, an owner to be deleted with what it owns,
 * and owners that stay, of a kind that only the newest version serves and of one that only the oldest serves.
 */
export async function prepareRound(
  round: number,
  request: string,
  { tried, newest, oldest }: RoundClients,
): Promise<Expectation> {
  const scope = `round-${round}`;
  const at = (namespace: string, resource: string) =>
    resource === 'resourceclaims'
      ? `/${claims}/namespaces/${namespace}/${resource}`
      : `/api/v1/namespaces/${namespace}/${resource}`;
  await newest.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: scope },
  });
  for (const name of ['one', 'two']) {
    await newest.create(at(scope, 'resourceclaims'), claim(name));
    await newest.create(at(scope, 'configmaps'), configMap(name));
  }
  // The owner goes; what it owns is to follow.
  const doomed = await newest.create(at(keptNamespace, 'configmaps'), configMap(`doomed-${round}`));
  await newest.create(at(keptNamespace, 'resourceclaims'), claim(`owned-${round}`, doomed));
  await newest.create(at(keptNamespace, 'configmaps'), configMap(`owned-${round}`, doomed));
  // The owners stay, though one version does not know their kind.
  const newer = await newest.create(at(keptNamespace, 'resourceclaims'), claim(`newer-owner-${round}`));
  await newest.create(at(keptNamespace, 'configmaps'), configMap(`of-newer-${round}`, newer));
  const older = await oldest.create(policies, policy(`older-owner-${round}`));
  await newest.create(at(keptNamespace, 'configmaps'), configMap(`of-older-${round}`, older));
  const signed = `round-${round}`;
  await tried.create(signingRequests, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: signed },
    spec: { request, signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth'] },
  });
  return {
    kept: [
      `/registry/resourceclaims/${keptNamespace}/newer-owner-${round}`,
      `/registry/configmaps/${keptNamespace}/of-newer-${round}`,
      `/registry/validatingadmissionpolicies/older-owner-${round}`,
      `/registry/configmaps/${keptNamespace}/of-older-${round}`,
    ],
    gone: [
      `/registry/namespaces/${scope}`,
      `/registry/configmaps/${keptNamespace}/doomed-${round}`,
      `/registry/resourceclaims/${keptNamespace}/owned-${round}`,
      `/registry/configmaps/${keptNamespace}/owned-${round}`,
    ],
    goneBelow: ['resourceclaims', 'configmaps', 'serviceaccounts'].map(
      (resource) => `/registry/${resource}/${scope}/`,
    ),
    signed,
  };
}

export const signingRequests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** Objects for the controllers to act on, while a server goes and comes back. */
export async function actOnRound(round: number, { tried }: RoundClients): Promise<void> {
  await tried.remove(`/api/v1/namespaces/round-${round}`);
  await tried.remove(`/api/v1/namespaces/${keptNamespace}/configmaps/doomed-${round}`, {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    propagationPolicy: 'Background',
  });
  await tried.putStatus(`${signingRequests}/round-${round}`, 'approval', {
    conditions: [{ type: 'Approved', status: 'True', reason: 'Live', message: 'approved by the suite' }],
  });
}

/** How a server goes and how long it stays away. */
export interface Outage {
  readonly server: KubeApiServer;
  readonly signal: 'SIGTERM' | 'SIGKILL';
  /** Milliseconds. */
  readonly away: number;
}

export async function goThrough({ server, signal, away }: Outage): Promise<void> {
  await (signal === 'SIGKILL' ? server.kill() : server.stop());
  await new Promise((resolve) => setTimeout(resolve, away));
  await server.launch(server.binary());
  await server.untilReady();
}

/** Faults, each a line. */
export interface Faults {
  readonly orphans: readonly string[];
  readonly wronglyDeleted: readonly string[];
}

export function faultsOf(expectations: readonly Expectation[], stored: ReadonlySet<string>): Faults {
  const keys = [...stored];
  return {
    orphans: expectations.flatMap(({ gone, goneBelow }) => [
      ...gone.filter((key) => stored.has(key)),
      ...keys.filter((key) => goneBelow.some((below) => key.startsWith(below))),
    ]),
    wronglyDeleted: expectations.flatMap(({ kept }) => kept.filter((key) => !stored.has(key))),
  };
}

function policy(name: string): object {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1beta1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      validations: [{ expression: 'true' }],
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['nothing.example.com'],
            apiVersions: ['v1'],
            operations: ['CREATE'],
            resources: ['nothings'],
          },
        ],
      },
    },
  };
}
