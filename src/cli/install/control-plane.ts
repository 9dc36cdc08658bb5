import { hostname } from 'node:os';
import * as v from 'valibot';
import type { ClusterAccess } from '../../node/credentials/cluster-access.ts';
import { askOverHttps, failureText, type HttpsResponse } from '../../node/destinations/https-client.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { fromJson } from '../../runtime/validation.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import type { TextChange } from './file-change.ts';
import { InstallationRefused } from './kubeadm-node.ts';

/** Milliseconds for one response. */
const responseTimeout = 5_000;
const longestResponse = 16 * 1024 * 1024;

const ports = v.tupleWithRest([v.object({ port: v.number() })], v.unknown());
/** Where an object has the port of its endpoints. The API servers keep both, the second after the first. */
const servicePorts = [
  {
    kind: 'Endpoints',
    path: '/api/v1/namespaces/default/endpoints/kubernetes',
    pointer: '/subsets/0/ports/0/port',
    schema: v.pipe(
      v.object({ subsets: v.tupleWithRest([v.object({ ports })], v.unknown()) }),
      v.transform(({ subsets }) => subsets[0].ports[0].port),
    ),
  },
  {
    kind: 'EndpointSlice',
    path: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes',
    pointer: '/ports/0/port',
    schema: v.pipe(
      v.object({ ports }),
      v.transform((slice) => slice.ports[0].port),
    ),
  },
] as const;
const kubeadmConfig = v.object({ data: v.object({ ClusterConfiguration: v.string() }) });

interface Asked {
  readonly origin?: string;
  readonly method?: string;
  readonly object?: object;
  readonly contentType?: string;
}

/** The cluster, as the administrator's kubeconfig on the node reaches it. */
export class ControlPlane {
  readonly #access: ClusterAccess;
  readonly ownAddress: string;

  /** @param ownAddress where kube-apiserver of this node is reached */
  constructor(access: ClusterAccess, ownAddress: string) {
    this.#access = access;
    this.ownAddress = ownAddress;
  }

  async clusterConfiguration(): Promise<string> {
    const path = '/api/v1/namespaces/kube-system/configmaps/kubeadm-config';
    return (await this.#get(path, kubeadmConfig)).data.ClusterConfiguration;
  }

  /** Why other control-plane nodes are not ready to do without this one; empty when they are. */
  async othersNotReady(port: number): Promise<readonly string[]> {
    const nodes = await this.#get(controlPlaneNodes, nodeList);
    const reasons = nodes.map(async (node) => {
      if (this.#isOwn(node)) return undefined;
      const { name, addresses, isReady } = node;
      if (!isReady) return `node ${name} is not Ready`;
      const [address] = addresses;
      if (address === undefined) return `node ${name} has no InternalIP`;
      const reason = await this.#notReadyAt(address, port);
      return reason && `node ${name}: ${reason}`;
    });
    return (await Promise.all(reasons)).filter((reason) => reason !== undefined);
  }

  async isReadyEverywhere(port: number): Promise<boolean> {
    return (await this.notReady(port)) === undefined && (await this.othersNotReady(port)).length === 0;
  }

  /** Why what listens on a port of this node is not ready; `undefined` when it is. */
  notReady(port: number): Promise<string | undefined> {
    return this.#notReadyAt(this.ownAddress, port);
  }

  /** A kube-apiserver may advertise another address than the node's own; kubeadm names a node by its host. */
  #isOwn({ name, addresses }: v.InferOutput<typeof nodeList>[number]): boolean {
    return addresses.includes(this.ownAddress) || name === hostname().toLowerCase();
  }

  /** Word of this node's kubelet on a static pod; `undefined`: there is none, or the cluster cannot be asked. */
  async mirrorOf(staticPod: string): Promise<MirrorPod | undefined> {
    const nodes = await this.#get(controlPlaneNodes, nodeList).catch(() => []);
    const own = nodes.find((each) => this.#isOwn(each));
    if (own === undefined) return undefined;
    return this.#get(mirrorPodPath(staticPod, own.name), mirrorPod).catch(() => undefined);
  }

  /** True if the router is on another node, too: what all share stays then. @throws {InstallationRefused} */
  async isOnOtherNodes(): Promise<boolean> {
    const nodes = await this.#get(controlPlaneNodes, nodeList);
    const own = nodes.find((each) => this.#isOwn(each))?.name;
    const pods = await this.#get(routerPods, podNames);
    return pods.some((name) => name !== `mixed-version-proxy-${own}`);
  }

  /** Leads the Service `default/kubernetes` to this port of the API servers. */
  async setServicePort(port: number): Promise<void> {
    for (const { path, pointer, present } of await this.#otherServicePorts(port)) {
      await this.#ask(path, {
        method: 'PATCH',
        contentType: 'application/json-patch+json',
        object: [
          { op: 'test', path: pointer, value: present },
          { op: 'replace', path: pointer, value: port },
        ],
      });
    }
  }

  async servicePortChanges(port: number): Promise<readonly TextChange[]> {
    return (await this.#otherServicePorts(port)).map(({ kind, present }) => ({
      path: `${kind} default/kubernetes`,
      before: `port: ${present}\n`,
      after: `port: ${port}\n`,
    }));
  }

  async #otherServicePorts(port: number) {
    const found = servicePorts.map(async ({ kind, path, pointer, schema }) => {
      const { status, text } = await this.#ask(path);
      const present = v.safeParse(fromJson(schema), text);
      // Without any, the next API server that starts writes its own.
      if (status !== 200 || !present.success || present.output === port) return [];
      return [{ kind, path, pointer, present: present.output }];
    });
    return (await Promise.all(found)).flat();
  }

  async #notReadyAt(address: string, port: number): Promise<string | undefined> {
    const origin = `https://${joinHostPort(address, port)}`;
    try {
      const { status } = await this.#ask('/readyz', { origin });
      return status === 200 ? undefined : `${origin}/readyz returned ${status}`;
    } catch (error) {
      return `${origin}/readyz did not respond: ${reasonOf(error)}`;
    }
  }

  async #get<Output>(path: string, schema: v.GenericSchema<unknown, Output>): Promise<Output> {
    return this.#read(path, schema, await this.ask(path));
  }

  /** @throws {InstallationRefused} when the response is another one than it should be */
  #read<Output>(
    path: string,
    schema: v.GenericSchema<unknown, Output>,
    { status, text }: HttpsResponse,
  ): Output {
    const url = `${this.#access.server}${path}`;
    if (status !== 200) throw new InstallationRefused(`${url} returned ${failureText({ status, text })}`);
    const result = v.safeParse(fromJson(schema), text);
    if (!result.success)
      throw new InstallationRefused(
        `GET ${url} returned something else than it should, at ${v.getDotPath(result.issues[0]) ?? 'its start'}`,
      );
    return result.output;
  }

  /** @throws {InstallationRefused} when there is no response */
  ask(path: string, asked?: Asked): Promise<HttpsResponse> {
    return this.#ask(path, asked).catch((cause: unknown) => {
      const message = `the cluster cannot be asked at ${this.#access.server}: ${reasonOf(cause)}`;
      throw new InstallationRefused(message, { cause });
    });
  }

  async #ask(
    path: string,
    { origin, method, object, contentType = 'application/json' }: Asked = {},
  ): Promise<HttpsResponse> {
    const { serverName } = this.#access;
    const { certificateAuthorities, clientCertificate, headers } = await this.#access.credentials();
    const body = object === undefined ? undefined : JSON.stringify(object);
    return askOverHttps({
      origin: origin ?? this.#access.server,
      path,
      ...(method === undefined ? {} : { method }),
      body,
      // Every API server has that name in its certificate, and so has a router in front of it.
      serverName: origin === undefined ? serverName : 'kubernetes.default.svc',
      certificateAuthorities,
      clientCertificate,
      headers: [
        ...headers,
        'accept',
        'application/json',
        ...(body === undefined ? [] : ['content-type', contentType]),
      ],
      responseTimeout,
      longestResponse,
    });
  }
}

function reasonOf(error: unknown): string {
  const isLate = error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
  return isLate ? `none within ${responseTimeout / 1000} s` : errorMessage(error);
}

const selector = encodeURIComponent('node-role.kubernetes.io/control-plane');
const controlPlaneNodes = `/api/v1/nodes?labelSelector=${selector}`;

const routerPods = `/api/v1/namespaces/kube-system/pods?labelSelector=${encodeURIComponent('app.kubernetes.io/name=mixed-version-proxy,tier=control-plane')}`;
const podNames = v.pipe(
  v.object({ items: v.array(v.object({ metadata: v.object({ name: v.string() }) })) }),
  v.transform(({ items }) => items.map(({ metadata }) => metadata.name)),
);

const conditions = v.nullish(v.array(v.object({ type: v.string(), status: v.string() })), []);
const isReady = ({ type, status }: v.InferOutput<typeof conditions>[number]) =>
  type === 'Ready' && status === 'True';

const nodeList = v.pipe(
  v.object({
    items: v.array(
      v.object({
        metadata: v.object({ name: v.string() }),
        status: v.object({
          addresses: v.nullish(v.array(v.object({ type: v.string(), address: v.string() })), []),
          conditions,
        }),
      }),
    ),
  }),
  v.transform(({ items }) =>
    items.map(({ metadata, status }) => ({
      name: metadata.name,
      addresses: status.addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => address),
      isReady: status.conditions.some(isReady),
    })),
  ),
);

/** The path of a static pod, as kubeadm finds it (cmd/kubeadm/app/util/apiclient/wait.go). */
function mirrorPodPath(staticPod: string, node: string): string {
  return `/api/v1/namespaces/kube-system/pods/${staticPod}-${node}`;
}

const hashAnnotation = 'kubernetes.io/config.hash';
const reason = v.object({ reason: v.nullish(v.string()), message: v.nullish(v.string()) });
const podStatus = v.object({
  ...reason.entries,
  conditions,
  phase: v.nullish(v.string()),
  containerStatuses: v.nullish(
    v.array(
      v.object({
        name: v.string(),
        state: v.nullish(v.object({ waiting: v.nullish(reason), terminated: v.nullish(reason) })),
      }),
    ),
    [],
  ),
});

export const mirrorPod = v.pipe(
  v.object({
    metadata: v.object({ name: v.string(), annotations: v.nullish(v.record(v.string(), v.string()), {}) }),
    status: v.nullish(podStatus, {}),
  }),
  v.transform(({ metadata, status }) => ({
    /** Another one as soon as the kubelet has taken up another manifest. */
    hash: metadata.annotations[hashAnnotation],
    trouble: troubleOf(metadata.name, status),
    isReady: status.conditions.some(isReady),
  })),
);

export type MirrorPod = v.InferOutput<typeof mirrorPod>;

/** Why it does not run: not admitted, its image is not there, its command has ended. */
function troubleOf(pod: string, status: v.InferOutput<typeof podStatus>): string | undefined {
  if (status.phase === 'Failed') return `the pod ${pod} is not run: ${textOf(status)}`;
  for (const { name, state } of status.containerStatuses) {
    const why = state?.waiting ?? state?.terminated;
    if (why) return `the container ${name} of the pod ${pod} does not run: ${textOf(why)}`;
  }
  return undefined;
}

function textOf({ reason, message }: Pick<v.InferOutput<typeof podStatus>, 'reason' | 'message'>): string {
  return [reason, message].filter((each) => typeof each === 'string' && each !== '').join(': ');
}
