import type { Agent, Dispatcher } from 'undici';
import { type ServerDocument, unreachable, type WatchConnection } from '../documents/server-documents.ts';
import type { ClusterAccess, ClusterCredentials } from './cluster-access.ts';
import { httpsAgent, readBody, type ServerAccess } from './http-client.ts';
import type { LocalApiServer } from './run-sync-options.ts';

interface KubernetesConnectionOptions {
  readonly access: ClusterAccess;
  /**
   * `host:port` of API servers to use while the kubeconfig's server cannot be reached. All of them have the same objects
   * and the same resource versions.
   */
  readonly otherAddresses?: () => readonly string[];
  /** PEM to verify those, as `kubernetes.default.svc`. Default: the kubeconfig's. */
  readonly peerCertificateAuthorities?: string | undefined;
  /** Used first, and the kubeconfig's server only after all others: that may be a router. */
  readonly local?: Omit<LocalApiServer, 'id'> | undefined;
  /** `Via` of each request. */
  readonly via?: string | undefined;
}

export interface KubernetesConnection extends WatchConnection {
  /**
   * Sends one request, with `object` as its body.
   *
   * @throws {ReadError} `Unreachable` if there is no complete response
   */
  request(
    method: Dispatcher.HttpMethod,
    path: string,
    object: unknown,
    signal: AbortSignal,
  ): Promise<ServerDocument>;
  /** Ends every connection at once. */
  close(): Promise<void>;
}

const peerServerName = 'kubernetes.default.svc';
/** For TCP and TLS, milliseconds. */
const connectTimeout = 5_000;
/** Of one document: the list of CustomResourceDefinitions can be tens of MB. */
const maximumBytes = 256 * 1024 * 1024;

/** A server, and how it is verified. */
interface Endpoint extends Pick<ServerAccess, 'certificateAuthorities' | 'serverName'> {
  readonly origin: string;
}

interface Request {
  readonly method?: Dispatcher.HttpMethod;
  readonly path: string;
  readonly accept?: string;
  readonly object?: unknown;
  readonly signal: AbortSignal | undefined;
}

/** Lists and watches through the server of a kubeconfig, and through other API servers while that cannot be reached. */
export function kubernetesConnection(options: KubernetesConnectionOptions): KubernetesConnection {
  const { access, otherAddresses = () => [] } = options;
  const agents = new Map<string, { readonly agent: Agent; readonly made: string }>();
  const via = options.via === undefined ? [] : ['via', options.via];
  /** Index of the endpoint in use; rises with each failure. */
  let turn = 0;

  function agentFor(
    { origin, certificateAuthorities, serverName }: Endpoint,
    { clientCertificate }: ClusterCredentials,
  ): Agent {
    const server = { certificateAuthorities, serverName, clientCertificate };
    const made = JSON.stringify(server);
    const known = agents.get(origin);
    if (known?.made === made) return known.agent;
    // Certificates were rotated. Requests over the old connections may end normally.
    void known?.agent.close();
    // Each watch has a connection of its own, so that cancelling it closes only that.
    const agent = httpsAgent(server, {
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: connectTimeout, keepAlive: true, keepAliveInitialDelay: 30_000 },
    });
    agents.set(origin, { agent, made });
    return agent;
  }

  /** In order of preference. */
  function endpoints({ certificateAuthorities, serverName }: ClusterCredentials): readonly Endpoint[] {
    const named = { origin: access.server, certificateAuthorities, serverName };
    const { local, peerCertificateAuthorities = certificateAuthorities } = options;
    const others = otherAddresses().map((address) => ({
      origin: `https://${address}`,
      certificateAuthorities: peerCertificateAuthorities,
      serverName: peerServerName,
    }));
    const all = local === undefined ? [named, ...others] : [local, ...others, named];
    return [
      ...new Map(all.toReversed().map((endpoint) => [endpoint.origin, endpoint])).values(),
    ].toReversed();
  }

  function current(credentials: ClusterCredentials): { readonly origin: string; readonly agent: Agent } {
    const all = endpoints(credentials);
    for (const [origin, { agent }] of agents) {
      if (all.some((endpoint) => endpoint.origin === origin)) continue;
      agents.delete(origin);
      void agent.close();
    }
    // There is at least one: that of the kubeconfig.
    const next = all[turn % all.length] as Endpoint;
    return { origin: next.origin, agent: agentFor(next, credentials) };
  }

  async function respond({
    method = 'GET',
    path,
    accept = 'application/json',
    object,
    signal,
  }: Request): Promise<Dispatcher.ResponseData> {
    const begun = turn;
    const contentType = object === undefined ? [] : ['content-type', 'application/json'];
    try {
      const credentials = await access.credentials();
      const { origin, agent } = current(credentials);
      const url = new URL(`${origin}${path}`);
      const headers = [...credentials.headers, ...via, ...contentType];
      const response = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method,
        headers: [...headers, 'accept', accept, 'user-agent', 'mixed-version-proxy-sync'],
        body: object === undefined ? null : JSON.stringify(object),
        ...(signal === undefined ? {} : { signal }),
      });
      // A load balancer without a server behind it, or a server that is shutting down: another one may work.
      if (response.statusCode >= 500) next(begun);
      return response;
    } catch (cause) {
      next(begun);
      throw unreachable(path, cause);
    }
  }

  async function respondCompletely(request: Request): Promise<ServerDocument> {
    const begun = turn;
    const response = await respond(request);
    try {
      const bytes = await readBody(response.body, maximumBytes);
      const body = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      return { status: response.statusCode, contentType: contentTypeOf(response), body };
    } catch (cause) {
      next(begun);
      throw unreachable(request.path, cause);
    }
  }

  /** Moves to the next endpoint, once for all requests that failed at the same one. */
  function next(begun: number): void {
    if (turn === begun) turn++;
  }

  return {
    get: (path, accept, signal) => respondCompletely({ path, accept, signal }),
    request: (method, path, object, signal) => respondCompletely({ method, path, object, signal }),
    async watch(path, signal) {
      const begun = turn;
      const { statusCode, body } = await respond({ path, signal });
      if (statusCode !== 200) {
        // The body is not read; destroying it may emit an error.
        body.on('error', () => {});
        body.destroy();
      }
      return {
        status: statusCode,
        chunks: chunksOf(body, () => next(begun)),
      };
    },
    async close() {
      await Promise.all([...agents.values()].map(({ agent }) => agent.destroy()));
    },
  };
}

/** @param onBreak called if the body ends with an error */
async function* chunksOf(body: AsyncIterable<Uint8Array>, onBreak: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body) yield decoder.decode(chunk, { stream: true });
  } catch (cause) {
    onBreak();
    throw unreachable('the watch', cause);
  }
}

function contentTypeOf({ headers }: Dispatcher.ResponseData): string {
  const value = headers['content-type'];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}
