import { Agent, type Dispatcher, request } from 'undici';
import * as v from 'valibot';
import { checkServerIdentity } from '../../node/destinations/server-identity.ts';
import type { LeaseClient, LeaseRecord, StoredLease } from '../election/lease-record.ts';
import { isPassing, readAnswerText, statusOf } from './delivery-answer.ts';

export interface LeaseClientOptions {
  /** API servers of the cluster, as `https://host:port`: the Lease is the same through each of them. At least one. */
  readonly servers: readonly { readonly origin: string; readonly serverName?: string | undefined }[];
  /** PEM bundle that their certificates are checked against. */
  readonly certificateAuthorities: string;
  readonly clientCertificate?: { readonly certificate: string; readonly key: string } | undefined;
  /** Asked for each request, since service account tokens are rotated. */
  readonly bearerToken?: (() => string | Promise<string>) | undefined;
  readonly namespace: string;
  readonly name: string;
  /** For one request to one server; the next is asked then. Default 2,500. */
  readonly timeoutMilliseconds?: number | undefined;
}

export interface HttpLeaseClient extends LeaseClient {
  close(): Promise<void>;
}

interface LeaseAnswer {
  readonly status: number;
  readonly body: string;
}

/** A Lease has some hundred bytes; its managed fields may have some thousand. */
const maximumLeaseBytes = 256 * 1024;

/** k8s.io/api coordination/v1 types.go; every field of the spec is optional there. */
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
 * Reads and writes one Lease through whichever API server answers, the one that answered last first.
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
  const { namespace, name, bearerToken, timeoutMilliseconds = 2_500 } = options;
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const path = `${collection}/${encodeURIComponent(name)}`;
  let servers = options.servers.map(({ origin, serverName = 'kubernetes.default.svc' }) => ({
    origin,
    agent: new Agent({
      // See https-target.ts: a connection to a machine that lost its power must end with the first time-out.
      allowH2: false,
      connect: {
        checkServerIdentity,
        ca: options.certificateAuthorities,
        servername: serverName,
        timeout: timeoutMilliseconds,
        ...(options.clientCertificate === undefined
          ? {}
          : { cert: options.clientCertificate.certificate, key: options.clientCertificate.key }),
      },
    }),
  }));

  async function ask(method: Dispatcher.HttpMethod, target: string, object: unknown, signal: AbortSignal) {
    let failure = new Error('there is no API server to ask');
    for (const server of servers) {
      signal.throwIfAborted();
      try {
        const answer = await askOne(server, method, target, object, signal);
        if (!isPassing(answer.status)) {
          servers = [server, ...servers.filter((other) => other !== server)];
          return answer;
        }
        failure = refusal(server.origin, answer);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        failure = new Error(`${server.origin}: ${reason}`, { cause: error });
      }
    }
    throw failure;
  }

  async function askOne(
    { origin, agent }: { readonly origin: string; readonly agent: Agent },
    method: Dispatcher.HttpMethod,
    target: string,
    object: unknown,
    signal: AbortSignal,
  ): Promise<LeaseAnswer> {
    const authorization = bearerToken === undefined ? undefined : `Bearer ${await bearerToken()}`;
    const { statusCode, body } = await request(`${origin}${target}`, {
      dispatcher: agent,
      method,
      body: object === undefined ? null : JSON.stringify(object),
      headers: {
        accept: 'application/json',
        'user-agent': 'mixed-version-proxy-sync',
        ...(object === undefined ? {} : { 'content-type': 'application/json' }),
        ...(authorization === undefined ? {} : { authorization }),
      },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMilliseconds)]),
    });
    return { status: statusCode, body: await readAnswerText(body, maximumLeaseBytes) };
  }

  return {
    async get(signal) {
      const answer = await ask('GET', path, undefined, signal);
      // Not found in a Status: the API server's own word that there is no such Lease.
      if (answer.status === 404 && statusOf(answer.body) !== undefined) return undefined;
      return storedLease(path, answer);
    },
    async create(record, signal) {
      const object = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace },
        spec: record,
      };
      return storedLease(path, await ask('POST', collection, object, signal));
    },
    async replace(stored, record, signal) {
      return storedLease(path, await ask('PUT', path, replaced(stored, record), signal));
    },
    async close() {
      await Promise.all(servers.map(({ agent }) => agent.destroy()));
    },
  };
}

/** What others keep in the Lease (labels, fields of later versions) stays. */
function replaced({ object }: StoredLease, record: LeaseRecord): object {
  const { spec, ...rest } = v.parse(lease, object);
  return { ...rest, spec: { ...spec, ...record } };
}

function storedLease(path: string, answer: LeaseAnswer): StoredLease {
  if (answer.status !== 200 && answer.status !== 201) throw refusal(path, answer);
  const object: unknown = JSON.parse(answer.body);
  const parsed = v.safeParse(lease, object);
  if (!parsed.success) throw new Error(`${path} was answered with something that is no Lease`);
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions } =
    parsed.output.spec ?? {};
  return {
    record: {
      holderIdentity: holderIdentity ?? '',
      leaseDurationSeconds: leaseDurationSeconds ?? 0,
      acquireTime: acquireTime ?? '',
      renewTime: renewTime ?? '',
      leaseTransitions: leaseTransitions ?? 0,
    },
    object,
  };
}

function refusal(what: string, { status, body }: LeaseAnswer): Error {
  return new Error(`${what} was answered with ${status}: ${statusOf(body)?.message ?? 'without a Status'}`);
}
