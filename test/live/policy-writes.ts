import type { Agent } from 'node:https';
import { waitUntil } from '../../scripts/harness/wait-until.ts';
import { type TlsAnswer, type TlsCredentials, tlsRequest } from './tls-request.ts';

const group = '/apis/admissionregistration.k8s.io';
const policyName = 'live-config-maps';
const mark = 'live-policy-was-here';
/** Of the names of ConfigMaps that the policies concern. */
const prefix = 'policy-';

/** A kind of policy that one version enforces and another does not know. */
interface PolicyKind {
  readonly kind: string;
  /** Plural, as in paths, of the policies and of what binds them. */
  readonly resources: readonly [policies: string, bindings: string];
  readonly spec: object;
  readonly bindingSpec: object;
  /** Whether the response to the creation of a ConfigMap shows that the policy was in force. */
  isEnforced(response: TlsAnswer): boolean;
}

const mutating: PolicyKind = {
  kind: 'MutatingAdmissionPolicy',
  resources: ['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'],
  spec: {
    reinvocationPolicy: 'Never',
    mutations: [
      {
        patchType: 'ApplyConfiguration',
        applyConfiguration: {
          expression: `Object{metadata: Object.metadata{labels: {"${mark}": "true"}}}`,
        },
      },
    ],
  },
  bindingSpec: {},
  isEnforced: ({ text }) => text.includes(mark),
};

const policyKinds: readonly PolicyKind[] = [
  mutating,
  {
    kind: 'ValidatingAdmissionPolicy',
    resources: ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
    spec: { validations: [{ expression: `!object.metadata.name.startsWith("${prefix}")` }] },
    bindingSpec: { validationActions: ['Deny'] },
    isEnforced: ({ statusCode }) => statusCode === 422,
  },
];

/** A policy that is in force in a namespace. */
export interface EnforcedPolicy {
  readonly kind: string;
  isEnforced(response: TlsAnswer): boolean;
  remove(): Promise<void>;
}

/**
 * Makes one policy of each kind that `knowing` serve and `unknowing` does not.
 * @returns once all of `knowing` enforce them; empty where the servers know the same kinds
 */
export async function makePolicies(
  knowing: readonly [string, ...string[]],
  unknowing: string,
  namespace: string,
  credentials: TlsCredentials,
): Promise<readonly EnforcedPolicy[]> {
  const policies: EnforcedPolicy[] = [];
  for (const policy of policyKinds) {
    const api = await servedApi(knowing[0], policy, credentials);
    if (api === undefined || (await servedApi(unknowing, policy, credentials)) !== undefined) continue;
    policies.push(await makePolicy(knowing, api, policy, namespace, credentials));
  }
  return policies;
}

/**
 * Makes a MutatingAdmissionPolicy, where these servers, of one version, know such.
 * @returns once all of them enforce it
 */
export async function makeMutatingPolicy(
  origins: readonly [string, ...string[]],
  namespace: string,
  credentials: TlsCredentials,
): Promise<EnforcedPolicy | undefined> {
  const api = await servedApi(origins[0], mutating, credentials);
  return api === undefined ? undefined : makePolicy(origins, api, mutating, namespace, credentials);
}

/** The path of the API that serves a kind of policy; `undefined`: the server does not know it. */
async function servedApi(
  origin: string,
  { resources }: PolicyKind,
  credentials: TlsCredentials,
): Promise<string | undefined> {
  for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
    const { statusCode, text } = await tlsRequest(`${origin}${group}/${version}`, credentials);
    if (statusCode === 200 && text.includes(`"${resources[0]}"`)) return `${group}/${version}`;
  }
  return undefined;
}

async function makePolicy(
  knowing: readonly [string, ...string[]],
  api: string,
  { kind, resources, spec, bindingSpec, isEnforced }: PolicyKind,
  namespace: string,
  credentials: TlsCredentials,
): Promise<EnforcedPolicy> {
  const [origin] = knowing;
  const common = { apiVersion: api.slice('/apis/'.length), metadata: { name: policyName } };
  const matchConstraints = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    resourceRules: [
      { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
    ],
  };
  const [policies, bindings] = resources;
  const policy = { ...common, kind, spec: { failurePolicy: 'Fail', matchConstraints, ...spec } };
  const binding = { ...common, kind: `${kind}Binding`, spec: { policyName, ...bindingSpec } };
  for (const [resource, object] of [
    [policies, policy],
    [bindings, binding],
  ] as const) {
    const { statusCode, text } = await create(`${origin}${api}/${resource}`, object, credentials);
    if (statusCode !== 201) throw new Error(`${resource} of ${api}: ${statusCode} ${text}`);
  }
  let attempt = 0;
  for (const server of knowing) {
    await waitUntil(`${server} enforces the ${kind}`, async () =>
      isEnforced(await createConfigMap(server, namespace, credentials, `probe-${attempt++}`)),
    );
  }
  return {
    kind,
    isEnforced,
    async remove() {
      for (const resource of [bindings, policies]) {
        await tlsRequest(`${origin}${api}/${resource}/${policyName}`, credentials, { method: 'DELETE' });
      }
    },
  };
}

/**
 * Writes through one of `origins` after the other.
 * @returns how many of the writes evaded the policy: they were stored, and it was not in force
 * @throws at a response that neither a policy nor a stored object explains
 */
export async function countEvaded(
  { isEnforced }: EnforcedPolicy,
  origins: readonly string[],
  namespace: string,
  credentials: TlsCredentials,
  name: string,
  writes: number,
): Promise<number> {
  let evaded = 0;
  for (let number = 0; number < writes; number++) {
    const origin = origins[number % origins.length] as string;
    const response = await createConfigMap(origin, namespace, credentials, `${name}-${number}`);
    if (isEnforced(response)) continue;
    if (response.statusCode !== 201) throw new Error(`${response.statusCode} ${origin}: ${response.text}`);
    evaded++;
  }
  return evaded;
}

export function createConfigMap(
  origin: string,
  namespace: string,
  credentials: TlsCredentials,
  name: string,
  agent?: Agent,
): Promise<TlsAnswer> {
  return create(
    `${origin}/api/v1/namespaces/${namespace}/configmaps`,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${prefix}${name}` } },
    credentials,
    agent,
  );
}

function create(url: string, object: object, credentials: TlsCredentials, agent?: Agent): Promise<TlsAnswer> {
  return tlsRequest(url, credentials, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(object),
    agent,
  });
}
