import * as v from 'valibot';
import { errorMessage } from '../../runtime/error-message.ts';
import { joinHostPort } from '../../snapshot/addresses/host-port.ts';
import type { ClusterAccess } from '../../sync/node/cluster-access.ts';
import { askOverHttps, type HttpsResponse } from '../terminal/ask-over-https.ts';
import { readerRights } from './reader-rights.ts';
import { InstallationRefused } from './wait-until.ts';

/** The cluster, as the administrator's kubeconfig on the node reaches it. */
export interface ControlPlane {
  /** The ClusterConfiguration that kubeadm keeps. */
  clusterConfiguration(): Promise<string>;
  /** Why other control-plane nodes are not ready to do without this one; empty when they are. */
  othersNotReady(port: number): Promise<readonly string[]>;
  /**
   * Takes this node's turn among those that install or undo, for so many milliseconds at most.
   * @returns why it cannot: another node has it
   * @throws {InstallationRefused} when the cluster cannot be asked
   */
  takeTurn(longest: number): Promise<string | undefined>;
  /** Lets the next node have its turn. */
  endTurn(): Promise<void>;
  /** Makes or replaces the rights of the routers' user. */
  grantRights(): Promise<void>;
  /** Whether kube-apiserver is ready on this port on every control-plane node. */
  isReadyEverywhere(port: number): Promise<boolean>;
  /** Leads the Service `default/kubernetes` to this port of the API servers. */
  setServicePort(port: number): Promise<void>;
  /** Why what listens on a port of this node is not ready; `undefined` when it is. */
  notReady(port: number): Promise<string | undefined>;
}

/** Milliseconds for one response. */
const responseTimeout = 5_000;
const longestResponse = 16 * 1024 * 1024;

const nodeList = v.object({
  items: v.array(
    v.object({
      metadata: v.object({ name: v.string() }),
      status: v.object({
        addresses: v.nullish(v.array(v.object({ type: v.string(), address: v.string() })), []),
        conditions: v.nullish(v.array(v.object({ type: v.string(), status: v.string() })), []),
      }),
    }),
  ),
});
const ports = v.tupleWithRest([v.object({ port: v.number() })], v.unknown());
/** Where an object has the port of its endpoints. The API servers keep both, the second after the first. */
const servicePorts = [
  {
    path: '/api/v1/namespaces/default/endpoints/kubernetes',
    pointer: '/subsets/0/ports/0/port',
    schema: v.pipe(
      v.object({ subsets: v.tupleWithRest([v.object({ ports })], v.unknown()) }),
      v.transform(({ subsets }) => subsets[0].ports[0].port),
    ),
  },
  {
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
  /** Of the object. Default: JSON. */
  readonly contentType?: string;
}

/** @param ownAddress where kube-apiserver of this node is reached */
export function controlPlaneBy(access: ClusterAccess, ownAddress: string): ControlPlane {
  async function ask(
    path: string,
    { origin, method, object, contentType = 'application/json' }: Asked = {},
  ): Promise<HttpsResponse> {
    const { certificateAuthorities, clientCertificate, headers, serverName } = await access.credentials();
    const body = object === undefined ? undefined : JSON.stringify(object);
    return askOverHttps({
      url: `${origin ?? access.server}${path}`,
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
        ...(body === undefined
          ? []
          : ['content-type', contentType, 'content-length', String(Buffer.byteLength(body))]),
      ],
      responseTimeout,
      longestResponse,
    });
  }

  /** @throws {InstallationRefused} when there is no response */
  function askCluster(path: string, asked?: Asked): Promise<HttpsResponse> {
    return ask(path, asked).catch((cause: unknown) => {
      throw new InstallationRefused(`the cluster cannot be asked at ${access.server}: ${reasonOf(cause)}`, {
        cause,
      });
    });
  }

  async function get<Schema extends v.GenericSchema>(
    path: string,
    schema: Schema,
  ): Promise<v.InferOutput<Schema>> {
    const { status, text } = await askCluster(path);
    if (status !== 200) throw new InstallationRefused(`${access.server}${path} returned ${status}`);
    const result = v.safeParse(schema, JSON.parse(text));
    if (!result.success) throw new InstallationRefused(`${access.server}${path} is not what it should be`);
    return result.output;
  }

  let hasTurn = false;
  async function takeTurn(longest: number): Promise<string | undefined> {
    const path = `${turnCollection}/${turnName}`;
    const seconds = Math.ceil(longest / 1000);
    const found = await askCluster(path);
    const now = new Date();
    let resourceVersion: string | undefined;
    if (found.status === 200) {
      const lease = v.parse(turnLease, JSON.parse(found.text));
      const reason = notItsTurn(lease, ownAddress, now);
      if (reason !== undefined) return reason;
      ({ resourceVersion } = lease.metadata);
    }
    const object = takenTurn(ownAddress, now, seconds, resourceVersion);
    const { status } = await (resourceVersion === undefined
      ? askCluster(turnCollection, { method: 'POST', object })
      : askCluster(path, { method: 'PUT', object }));
    if (status === 409) return 'another node has just begun to be installed or undone: one at a time';
    if (status !== 200 && status !== 201) {
      throw new InstallationRefused(
        `the Lease kube-system/${turnName} cannot be written: the API server returned ${status}`,
      );
    }
    hasTurn = true;
    return undefined;
  }

  async function notReadyAt(address: string, port: number): Promise<string | undefined> {
    const origin = `https://${joinHostPort(address, port)}`;
    try {
      const { status } = await ask('/readyz', { origin });
      return status === 200 ? undefined : `${origin}/readyz returned ${status}`;
    } catch (error) {
      return `${origin}/readyz did not respond: ${reasonOf(error)}`;
    }
  }

  async function othersNotReady(port: number): Promise<readonly string[]> {
    const selector = encodeURIComponent('node-role.kubernetes.io/control-plane');
    const { items } = await get(`/api/v1/nodes?labelSelector=${selector}`, nodeList);
    const reasons = items.map(async ({ metadata, status }) => {
      const addresses = status.addresses
        .filter(({ type }) => type === 'InternalIP')
        .map(({ address }) => address);
      if (addresses.includes(ownAddress)) return undefined;
      const isReady = status.conditions.some((each) => each.type === 'Ready' && each.status === 'True');
      if (!isReady) return `node ${metadata.name} is not Ready`;
      const [address] = addresses;
      if (address === undefined) return `node ${metadata.name} has no InternalIP`;
      const reason = await notReadyAt(address, port);
      return reason && `node ${metadata.name}: ${reason}`;
    });
    return (await Promise.all(reasons)).filter((reason) => reason !== undefined);
  }

  return {
    async clusterConfiguration() {
      const path = '/api/v1/namespaces/kube-system/configmaps/kubeadm-config';
      return (await get(path, kubeadmConfig)).data.ClusterConfiguration;
    },
    async isReadyEverywhere(port) {
      const here = await notReadyAt(ownAddress, port);
      return here === undefined && (await othersNotReady(port)).length === 0;
    },
    async setServicePort(port) {
      for (const { path, pointer, schema } of servicePorts) {
        const { status, text } = await ask(path);
        const present = v.safeParse(schema, status === 200 ? JSON.parse(text) : {});
        // Without any, the next API server that starts writes its own.
        if (!present.success || present.output === port) continue;
        await ask(path, {
          method: 'PATCH',
          contentType: 'application/json-patch+json',
          object: [
            { op: 'test', path: pointer, value: present.output },
            { op: 'replace', path: pointer, value: port },
          ],
        });
      }
    },
    othersNotReady,
    takeTurn,
    async endTurn() {
      if (!hasTurn) return;
      // One that cannot be deleted runs out by itself.
      await ask(`${turnCollection}/${turnName}`, { method: 'DELETE' }).catch(() => {});
    },
    async grantRights() {
      for (const { collection, object } of readerRights) {
        const made = await askCluster(collection, { method: 'POST', object });
        const { status } =
          made.status === 409
            ? await askCluster(`${collection}/${object.metadata.name}`, { method: 'PUT', object })
            : made;
        if (status !== 200 && status !== 201) {
          throw new InstallationRefused(
            `${object.kind} ${object.metadata.name} cannot be made: the API server returned ${status}`,
          );
        }
      }
    },
    notReady: (port) => notReadyAt(ownAddress, port),
  };
}

function reasonOf(error: unknown): string {
  const isLate = error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
  return isLate ? `none within ${responseTimeout / 1000} s` : errorMessage(error);
}

/** Of the Lease that the installer of one node holds while it works, so that no two move kube-apiserver at a time. */
export const turnName = 'mixed-version-proxy-install';
const turnCollection = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

const turnLease = v.object({
  metadata: v.object({ resourceVersion: v.string() }),
  spec: v.object({
    holderIdentity: v.nullish(v.string(), ''),
    leaseDurationSeconds: v.nullish(v.number(), 0),
    renewTime: v.nullish(v.string(), ''),
  }),
});

/** The Lease of whoever takes its turn. */
export function takenTurn(holder: string, now: Date, durationSeconds: number, resourceVersion?: string) {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: turnName,
      namespace: 'kube-system',
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: durationSeconds,
      // MicroTime (k8s.io/apimachinery/pkg/apis/meta/v1/micro_time.go).
      renewTime: now.toISOString().replace('Z', '000Z'),
    },
  };
}

/**
 * Why it is not this node's turn; `undefined` when it is: nobody's, its own from a run that was cut off, or one that
 * has run out. Pure.
 */
export function notItsTurn(
  { spec }: v.InferOutput<typeof turnLease>,
  holder: string,
  now: Date,
): string | undefined {
  const { holderIdentity, leaseDurationSeconds, renewTime } = spec;
  const ends = Date.parse(renewTime) + leaseDurationSeconds * 1000;
  if (holderIdentity === '' || holderIdentity === holder || !(ends > now.getTime())) return undefined;
  const until = new Date(ends).toISOString().replace(/\.\d+Z$/, 'Z');
  return `the node ${holderIdentity} is being installed or undone (Lease kube-system/${turnName}, until ${until}): one node at a time. Wait for it; if that run was killed, repeat it there, or delete the Lease`;
}
