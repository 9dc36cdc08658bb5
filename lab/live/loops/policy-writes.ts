import type { Agent } from 'node:https';
import {
  postObject,
  type TlsAnswer,
  type TlsCredentials,
  tlsRequest,
} from '../../../test/support/clients/tls-request.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';

const group = '/apis/admissionregistration.k8s.io';
const policyName = 'live-config-maps';
const mark = 'live-policy-was-here';

const kind = 'MutatingAdmissionPolicy';
/** Plural, as in paths. */
const policies = 'mutatingadmissionpolicies';
const bindings = 'mutatingadmissionpolicybindings';

/** True if the response to the creation of a ConfigMap shows that the policy was in force. */
export const isEnforced = ({ text }: TlsAnswer): boolean => text.includes(mark);

/**
 * Makes a MutatingAdmissionPolicy that marks ConfigMaps, where these servers, of one version, know such.
 * @returns once all of them enforce it; `false`: they do not know such policies
 */
export async function makeMutatingPolicy(
  origins: readonly [string, ...string[]],
  namespace: string,
  credentials: TlsCredentials,
): Promise<boolean> {
  const [origin] = origins;
  const api = await servedApi(origin, credentials);
  if (api === undefined) return false;
  const common = { apiVersion: api.slice('/apis/'.length), metadata: { name: policyName } };
  const expression = `Object{metadata: Object.metadata{labels: {"${mark}": "true"}}}`;
  const spec = {
    failurePolicy: 'Fail',
    matchConstraints: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      resourceRules: [
        { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
      ],
    },
    reinvocationPolicy: 'Never',
    mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
  };
  for (const [resource, object] of [
    [policies, { ...common, kind, spec }],
    [bindings, { ...common, kind: `${kind}Binding`, spec: { policyName } }],
  ] as const) {
    const { statusCode, text } = await postObject(`${origin}${api}/${resource}`, object, credentials);
    if (statusCode !== 201) throw new Error(`${resource} of ${api}: ${statusCode} ${text}`);
  }
  let attempt = 0;
  for (const server of origins) {
    await waitUntil(`${server} enforces the ${kind}`, async () =>
      isEnforced(await createConfigMap(server, namespace, credentials, `probe-${attempt++}`)),
    );
  }
  return true;
}

/** The path of the API that serves such policies; `undefined`: the server does not know them. */
async function servedApi(origin: string, credentials: TlsCredentials): Promise<string | undefined> {
  for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
    const { statusCode, text } = await tlsRequest(`${origin}${group}/${version}`, credentials);
    if (statusCode === 200 && text.includes(`"${policies}"`)) return `${group}/${version}`;
  }
  return undefined;
}

export function createConfigMap(
  origin: string,
  namespace: string,
  credentials: TlsCredentials,
  name: string,
  agent?: Agent,
): Promise<TlsAnswer> {
  return postObject(
    `${origin}/api/v1/namespaces/${namespace}/configmaps`,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `policy-${name}` } },
    credentials,
    { agent },
  );
}
