import { tlsRequest } from '../../../test/support/clients/tls-request.ts';
import type { KubeApiServer } from '../cluster/kube-apiserver.ts';
import type { LiveCluster } from '../cluster/live-cluster.ts';

/** A resource that one version serves and another does not, with what it takes to make one. */
export interface ExclusiveResource {
  readonly apiVersion: string;
  readonly kind: string;
  /** Plural, as in paths. */
  readonly resource: string;
  readonly namespaced: boolean;
  readonly spec: object;
}

/** Resources that came and went between releases, as far as `versionSkewFlags` turn it on and it needs nothing else to be made. */
const candidates: readonly ExclusiveResource[] = [
  ...['v1', 'v1beta1'].map((version) => ({
    apiVersion: `admissionregistration.k8s.io/${version}`,
    kind: 'ValidatingAdmissionPolicy',
    resource: 'validatingadmissionpolicies',
    namespaced: false,
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
  })),
  ...['v2beta2', 'v2beta1'].map((version) => ({
    apiVersion: `autoscaling/${version}`,
    kind: 'HorizontalPodAutoscaler',
    resource: 'horizontalpodautoscalers',
    namespaced: true,
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
  })),
  ...['v1', 'v1beta3', 'v1beta2', 'v1beta1'].map((version) => ({
    apiVersion: `flowcontrol.apiserver.k8s.io/${version}`,
    kind: 'FlowSchema',
    resource: 'flowschemas',
    namespaced: false,
    spec: { matchingPrecedence: 900, priorityLevelConfiguration: { name: 'global-default' } },
  })),
  {
    apiVersion: 'resource.k8s.io/v1alpha2',
    kind: 'PodSchedulingContext',
    resource: 'podschedulingcontexts',
    namespaced: true,
    spec: { potentialNodes: ['a'] },
  },
  {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'DeviceClass',
    resource: 'deviceclasses',
    namespaced: false,
    spec: { selectors: [{ cel: { expression: 'true' } }] },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicyBinding',
    resource: 'mutatingadmissionpolicybindings',
    namespaced: false,
    spec: { policyName: 'nothing' },
  },
  {
    apiVersion: 'scheduling.k8s.io/v1alpha1',
    kind: 'Workload',
    resource: 'workloads',
    namespaced: true,
    spec: { podGroups: [{ name: 'web', policy: { basic: {} } }] },
    // The pod groups of a Workload may not be changed afterwards.
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    resource: 'servicecidrs',
    namespaced: false,
    spec: { cidrs: ['10.97.0.0/24'] },
  },
  {
    apiVersion: 'coordination.k8s.io/v1alpha2',
    kind: 'LeaseCandidate',
    resource: 'leasecandidates',
    namespaced: true,
    spec: {
      leaseName: 'web',
      binaryVersion: '1.0.0',
      emulationVersion: '1.0.0',
      strategy: 'OldestEmulationVersion',
    },
  },
];

/** The paths of all of them, in every version. */
export const exclusivePaths: readonly string[] = candidates.map((candidate) => collectionPath(candidate));

/**
 * The first one that `has` serves and `lacks` does not, by their own answers.
 * @throws when nothing known tells the two apart
 */
export async function exclusiveResource(
  { admin }: Pick<LiveCluster, 'admin'>,
  has: Pick<KubeApiServer, 'url' | 'binary'>,
  lacks: Pick<KubeApiServer, 'url' | 'binary'>,
): Promise<ExclusiveResource> {
  const serves = async ({ url }: { readonly url: string }, path: string) =>
    (await tlsRequest(`${url}${path}`, admin)).statusCode === 200;
  for (const candidate of candidates) {
    const path = collectionPath(candidate);
    if ((await serves(has, path)) && !(await serves(lacks, path))) return candidate;
  }
  throw new Error(
    `no known resource tells ${has.binary().version} from ${lacks.binary().version}: ` +
      'give versions further apart, or add one that does to lab/live/exclusive-resources.ts',
  );
}

/** The path of all its objects, in `namespace` where it is namespaced and one is given. */
export function collectionPath(
  { apiVersion, resource, namespaced }: Pick<ExclusiveResource, 'apiVersion' | 'resource' | 'namespaced'>,
  namespace?: string,
): string {
  const prefix = apiVersion.includes('/') ? '/apis' : '/api';
  const scope = namespaced && namespace !== undefined ? `/namespaces/${namespace}` : '';
  return `${prefix}/${apiVersion}${scope}/${resource}`;
}

/** How kubectl is told this very version: `horizontalpodautoscalers.v2beta2.autoscaling`. */
export function kubectlName({ apiVersion, resource }: ExclusiveResource): string {
  const [group = '', version = ''] = apiVersion.split('/');
  return `${resource}.${version}.${group}`;
}

/** A manifest, JSON. */
export function manifestOf(
  { apiVersion, kind, spec }: Pick<ExclusiveResource, 'apiVersion' | 'kind' | 'spec'>,
  name: string,
): string {
  return JSON.stringify({ apiVersion, kind, metadata: { name }, spec });
}
