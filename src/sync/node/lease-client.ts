import * as v from 'valibot';
import type { LeaseClient, LeaseRecord, StoredLease } from '../election/leader-election.ts';
import { failureText, type ServerAccess, statusOf, type TextResponse } from './http-client.ts';
import { connectionThrough, type KubernetesConnection } from './kubernetes-connection.ts';

/** The Lease, and how long to wait for it. */
export interface LeaseOptions {
  readonly namespace: string;
  readonly name: string;
  /** For one request to one server, before the next server is asked. Default 2,500. */
  readonly timeoutMilliseconds?: number | undefined;
}

export interface LeaseClientOptions
  extends LeaseOptions,
    Pick<ServerAccess, 'clientCertificate' | 'bearerToken'> {
  /** API servers of the cluster, as `https://host:port`: the Lease is the same through each of them. At least one. */
  readonly servers: readonly { readonly origin: string; readonly serverName?: string | undefined }[];
  /** PEM bundle to verify their certificates. */
  readonly certificateAuthorities: string;
}

export interface HttpLeaseClient extends LeaseClient {
  close(): Promise<void>;
}

/** k8s.io/api coordination/v1 types.go; every field of the spec is optional. */
const lease = v.looseObject({
  kind: v.literal('Lease'),
  metadata: v.looseObject({ name: v.string(), resourceVersion: v.string() }),
  spec: v.nullish(
    v.looseObject({
      holderIdentity: v.nullish(v.string(), ''),
      leaseDurationSeconds: v.nullish(v.number(), 0),
      acquireTime: v.nullish(v.string(), ''),
      renewTime: v.nullish(v.string(), ''),
      leaseTransitions: v.nullish(v.number(), 0),
    }),
    {},
  ),
});

/**
 * Reads and writes one Lease through the first API server that responds. The last one that did is asked first.
 *
 * @example
 * ```ts
 * const lease = httpLeaseClient({
 *   servers: [{ origin: apiServer.url }],
 *   certificateAuthorities,
 *   clientCertificate,
 *   namespace: 'kube-system',
 *   name: 'read-sync-job',
 * });
 * console.log(await lease.get(signal)); // undefined
 * await lease.close();
 * ```
 */
export function httpLeaseClient(options: LeaseClientOptions): HttpLeaseClient {
  const { certificateAuthorities, clientCertificate, bearerToken } = options;
  const connection = connectionThrough({
    credentials: async () => ({
      certificateAuthorities,
      clientCertificate,
      headers: bearerToken === undefined ? [] : ['authorization', `Bearer ${await bearerToken()}`],
      serverName: undefined,
    }),
    endpoints: () =>
      options.servers.map(({ origin, serverName = 'kubernetes.default.svc' }) => ({
        origin,
        certificateAuthorities,
        serverName,
      })),
  });
  return { ...leaseClient(connection, options), close: () => connection.close() };
}

/** Reads and writes one Lease through the first API server that responds. */
export function leaseClient(
  connection: Pick<KubernetesConnection, 'request'>,
  { namespace, name, timeoutMilliseconds = 2_500 }: LeaseOptions,
): LeaseClient {
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const path = `${collection}/${encodeURIComponent(name)}`;
  const write = async (
    method: 'POST' | 'PUT',
    path: string,
    object: object,
    signal: AbortSignal,
  ): Promise<StoredLease> =>
    storedLease(path, await connection.request({ method, path, object, timeoutMilliseconds, signal }));
  return {
    async get(signal) {
      const response = await connection.request({ method: 'GET', path, timeoutMilliseconds, signal });
      // With a Status, the 404 is the API server's own.
      if (response.status === 404 && statusOf(response.body) !== undefined) return undefined;
      return storedLease(path, response);
    },
    create(record, signal) {
      const object = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace },
        spec: record,
      };
      return write('POST', collection, object, signal);
    },
    async replace(stored, record, signal) {
      return write('PUT', path, replaced(stored, record), signal);
    },
  };
}

/** Keeps labels, and fields of later versions. */
function replaced({ object }: StoredLease, record: LeaseRecord): object {
  const { spec, ...rest } = v.parse(lease, object);
  return { ...rest, spec: { ...spec, ...record } };
}

function storedLease(path: string, response: TextResponse): StoredLease {
  if (response.status !== 200 && response.status !== 201) {
    throw new Error(`${path} returned ${failureText(response)}`);
  }
  const object: unknown = JSON.parse(response.body);
  const parsed = v.safeParse(lease, object);
  if (!parsed.success) throw new Error(`${path} returned an object that is not a Lease`);
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions } =
    parsed.output.spec;
  return {
    record: { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions },
    object,
  };
}
