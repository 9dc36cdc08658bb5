import type { Agent, Dispatcher } from 'undici';
import * as v from 'valibot';
import { errorMessage } from '../../runtime/error-message.ts';
import type { LeaseClient, LeaseRecord, StoredLease } from '../election/leader-election.ts';
import {
  failureText,
  httpsAgent,
  isTransient,
  readText,
  type ServerAccess,
  sendRequest,
  statusOf,
  type TextResponse,
} from './http-client.ts';
import type { KubernetesConnection } from './kubernetes-connection.ts';

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

const defaultTimeout = 2_500;
/** Attempts of one request through a connection that moves on to another server after each failure. */
const attempts = 4;
/** A Lease has a few hundred bytes, its managed fields a few thousand. */
const maximumLeaseBytes = 256 * 1024;

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

/** Sends one request to an API server. Rejects if none responds. */
type SendRequest = (
  method: Dispatcher.HttpMethod,
  path: string,
  object: unknown,
  signal: AbortSignal,
) => Promise<TextResponse>;

/** Reads and writes one Lease with the credentials of a kubeconfig, and through any API server that responds. */
export function connectionLeaseClient(
  connection: Pick<KubernetesConnection, 'request'>,
  { timeoutMilliseconds = defaultTimeout, ...named }: LeaseOptions,
): LeaseClient {
  return leaseClient(named, async (method, path, object, signal) => {
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMilliseconds)]);
      try {
        const response = await connection.request(method, path, object, deadline);
        if (response.status < 500 || attempt === attempts) return response;
      } catch (error) {
        // The connection has moved on to another server, if there is one.
        if (attempt === attempts) throw error;
      }
    }
  });
}

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
  const { bearerToken, timeoutMilliseconds = defaultTimeout } = options;
  let servers = options.servers.map(({ origin, serverName = 'kubernetes.default.svc' }) => ({
    origin,
    agent: httpsAgent({ ...options, serverName }, { connect: { timeout: timeoutMilliseconds } }),
  }));

  const send: SendRequest = async (method, path, object, signal) => {
    let failure = new Error('there is no API server to ask');
    for (const server of servers) {
      signal.throwIfAborted();
      try {
        const response = await sendTo(server, method, path, object, signal);
        if (!isTransient(response.status)) {
          servers = [server, ...servers.filter((other) => other !== server)];
          return response;
        }
        failure = failed(server.origin, response);
      } catch (error) {
        failure = new Error(`${server.origin}: ${errorMessage(error)}`, { cause: error });
      }
    }
    throw failure;
  };

  async function sendTo(
    { origin, agent }: { readonly origin: string; readonly agent: Agent },
    method: Dispatcher.HttpMethod,
    path: string,
    object: unknown,
    signal: AbortSignal,
  ): Promise<TextResponse> {
    const response = await sendRequest(`${origin}${path}`, {
      agent,
      method,
      headers: {
        accept: 'application/json',
        'user-agent': 'mixed-version-proxy-sync',
        ...(object === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: object === undefined ? undefined : JSON.stringify(object),
      bearerToken,
      timeoutMilliseconds,
      signal,
    });
    return readText(response, maximumLeaseBytes);
  }

  return {
    ...leaseClient(options, send),
    async close() {
      await Promise.all(servers.map(({ agent }) => agent.destroy()));
    },
  };
}

function leaseClient({ namespace, name }: LeaseOptions, send: SendRequest): LeaseClient {
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const path = `${collection}/${encodeURIComponent(name)}`;
  return {
    async get(signal) {
      const response = await send('GET', path, undefined, signal);
      // With a Status, the 404 is the API server's own.
      if (response.status === 404 && statusOf(response.body) !== undefined) return undefined;
      return storedLease(path, response);
    },
    async create(record, signal) {
      const object = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace },
        spec: record,
      };
      return storedLease(path, await send('POST', collection, object, signal));
    },
    async replace(stored, record, signal) {
      return storedLease(path, await send('PUT', path, replaced(stored, record), signal));
    },
  };
}

/** Keeps labels, and fields of later versions. */
function replaced({ object }: StoredLease, record: LeaseRecord): object {
  const { spec, ...rest } = v.parse(lease, object);
  return { ...rest, spec: { ...spec, ...record } };
}

function storedLease(path: string, response: TextResponse): StoredLease {
  if (response.status !== 200 && response.status !== 201) throw failed(path, response);
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

function failed(what: string, response: TextResponse): Error {
  return new Error(`${what} returned ${failureText(response)}`);
}
