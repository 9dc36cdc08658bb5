import { type TlsAnswer, tlsRequest } from '../../../test/support/clients/tls-request.ts';
import { kubeconfigFile } from './kubeconfig-file.ts';
import type { StaticPod } from './static-pod.ts';

const nodes = '/api/v1/nodes';
const pods = '/api/v1/namespaces/kube-system/pods';
const hashOf = 'kubernetes.io/config.hash';

async function ask(path: string, method = 'GET', object?: object): Promise<TlsAnswer> {
  // Read each time: kubeadm writes it after the kubelet has started.
  const { server, credentials } = kubeconfigFile('/etc/kubernetes/kubelet.conf');
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  return tlsRequest(`${server}${path}`, credentials, {
    method,
    timeout: 5000,
    ...(object === undefined ? {} : { headers: { 'content-type': type }, body: JSON.stringify(object) }),
  });
}

/** The part of a kubelet that writes to the API: its node, and the mirrors of its static pods. */
export class NodeInApi {
  readonly #name: string;
  readonly #address: string;

  constructor(name: string, address: string) {
    this.#name = name;
    this.#address = address;
  }

  async #uid(): Promise<string> {
    const name = this.#name;
    const found = await ask(`${nodes}/${name}`);
    const answer =
      found.statusCode === 404
        ? await ask(nodes, 'POST', {
            apiVersion: 'v1',
            kind: 'Node',
            // kubeadm marks no node without it (cmd/kubeadm/app/util/apiclient PatchNodeOnce).
            metadata: { name, labels: { 'kubernetes.io/hostname': name } },
          })
        : found;
    return JSON.parse(answer.text).metadata.uid;
  }

  async #mirror(pod: StaticPod, uid: string): Promise<void> {
    const name = this.#name;
    const mirrorName = `${pod.name}-${name}`;
    const found = await ask(`${pods}/${mirrorName}`);
    if (found.statusCode === 200) {
      if (JSON.parse(found.text).metadata.annotations[hashOf] === pod.hash) return;
      await ask(`${pods}/${mirrorName}?gracePeriodSeconds=0`, 'DELETE');
    }
    const { metadata, spec } = pod.manifest as { metadata: Record<string, object>; spec: object };
    await ask(pods, 'POST', {
      ...pod.manifest,
      metadata: {
        ...metadata,
        name: mirrorName,
        annotations: {
          ...metadata['annotations'],
          [hashOf]: pod.hash,
          'kubernetes.io/config.mirror': pod.hash,
          'kubernetes.io/config.source': 'file',
        },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid, controller: true }],
      },
      spec: { ...spec, nodeName: name },
    });
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await ask(`${pods}/${mirrorName}/status`, 'PATCH', { status });
  }

  /** Brings the API up to date. @throws when it cannot be asked */
  async report(running: readonly StaticPod[]): Promise<void> {
    const name = this.#name;
    const uid = await this.#uid();
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    await ask(`${nodes}/${name}/status`, 'PATCH', {
      status: {
        addresses: [
          { type: 'InternalIP', address: this.#address },
          { type: 'Hostname', address: name },
        ],
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            reason: 'KubeletReady',
            lastHeartbeatTime: now,
          },
        ],
      },
    });
    for (const pod of running) await this.#mirror(pod, uid);
    const selector = encodeURIComponent(`spec.nodeName=${name}`);
    const { items = [] } = JSON.parse((await ask(`${pods}?fieldSelector=${selector}`)).text);
    const names = new Set(running.map((pod) => `${pod.name}-${name}`));
    for (const { metadata } of items) {
      if (!names.has(metadata.name)) {
        await ask(`${pods}/${metadata.name}?gracePeriodSeconds=0`, 'DELETE');
      }
    }
  }
}
