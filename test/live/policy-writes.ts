import { waitUntil } from '../../scripts/harness/wait-until.ts';
import { type TlsCredentials, tlsRequest } from './tls-request.ts';

const group = '/apis/admissionregistration.k8s.io';
const name = 'live-marks-config-maps';
const mark = 'live-policy-was-here';

export interface PolicyWrites {
  readonly written: number;
  /** Objects that were stored without what the policy adds. */
  readonly evaded: number;
}

/** The version in which a server serves MutatingAdmissionPolicies; `undefined`: it has none. */
async function servedVersion(origin: string, credentials: TlsCredentials): Promise<string | undefined> {
  for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
    const { statusCode, text } = await tlsRequest(`${origin}${group}/${version}`, credentials);
    if (statusCode === 200 && text.includes('"mutatingadmissionpolicies"')) return version;
  }
  return undefined;
}

/**
 * Makes a MutatingAdmissionPolicy that marks ConfigMaps of a namespace, and removes it.
 * @param knowing a server that enforces it
 * @returns `undefined` where that server knows no such policies, or `unknowing` does
 */
export async function makePolicy(
  knowing: string,
  unknowing: string,
  namespace: string,
  credentials: TlsCredentials,
): Promise<(() => Promise<void>) | undefined> {
  const version = await servedVersion(knowing, credentials);
  if (version === undefined || (await servedVersion(unknowing, credentials)) !== undefined) return undefined;
  const api = `${group}/${version}`;
  const apiVersion = api.slice('/apis/'.length);
  const policy = {
    apiVersion,
    kind: 'MutatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
        ],
      },
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: {
            expression: `Object{metadata: Object.metadata{labels: {"${mark}": "true"}}}`,
          },
        },
      ],
    },
  };
  const binding = {
    apiVersion,
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name },
  };
  await post(`${knowing}${api}/mutatingadmissionpolicies`, policy, credentials);
  await post(`${knowing}${api}/mutatingadmissionpolicybindings`, binding, credentials);
  let attempt = 0;
  await waitUntil('the policy is enforced', async () => {
    const probe = configMap(`policy-probe-${attempt++}`);
    const { text } = await post(`${knowing}/api/v1/namespaces/${namespace}/configmaps`, probe, credentials);
    return text.includes(mark);
  });
  return async () => {
    for (const resource of ['mutatingadmissionpolicybindings', 'mutatingadmissionpolicies']) {
      await tlsRequest(`${knowing}${api}/${resource}/${name}`, credentials, { method: 'DELETE' });
    }
  };
}

/** Writes through one of `origins` after the other, and counts what the policy did not touch. */
export async function writeUnderPolicy(
  origins: readonly string[],
  namespace: string,
  credentials: TlsCredentials,
  prefix: string,
  writes: number,
): Promise<PolicyWrites> {
  let evaded = 0;
  for (let number = 0; number < writes; number++) {
    const origin = origins[number % origins.length] as string;
    const { text } = await post(
      `${origin}/api/v1/namespaces/${namespace}/configmaps`,
      configMap(`${prefix}-${number}`),
      credentials,
    );
    if (!text.includes(mark)) evaded++;
  }
  return { written: writes, evaded };
}

function configMap(objectName: string) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: objectName } };
}

async function post(url: string, object: object, credentials: TlsCredentials) {
  const answer = await tlsRequest(url, credentials, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(object),
  });
  if (answer.statusCode !== 201) throw new Error(`${answer.statusCode} POST ${url}: ${answer.text}`);
  return answer;
}
