import type { Agent, Dispatcher } from 'undici';
import { unreachable, type WatchConnection } from '../documents/server-documents.ts';
import type { ClusterAccess, ClusterCredentials } from './cluster-access.ts';
import { httpsAgent, readBody, type ServerAccess } from './http-client.ts';
import type { LocalApiServer } from './run-sync-options.ts';

export interface KubernetesConnectionOptions {
  readonly access: ClusterAccess;
  /**
   * `host:port` of API servers to use while the kubeconfig's server cannot be reached. All of them have the same objects
   * and the same resource versions.
   */
  readonly otherAddresses?: () => readonly string[];
  /** PEM to verify those, as `kubernetes.default.svc`. Default: the kubeconfig's. */
  readonly peerCertificateAuthorities?: string | undefined;
  /** Used first, and the kubeconfig's server only after all others: that may be a router. */
  readonly local?: LocalApiServer | undefined;
  /** `Via` of each request. */
  readonly via?: string | undefined;
  /** Of one document. Default 256 MiB. */
  readonly maximumBytes?: number | undefined;
}

export interface KubernetesConnection extends WatchConnection {
  /** Ends every connection at once. */
  close(): Promise<void>;
}

const peerServerName = 'kubernetes.default.svc';
/** For TCP and TLS, milliseconds. */
const connectTimeout = 5_000;

/** A server, and how it is verified. */
interface Endpoint extends Pick<ServerAccess, 'certificateAuthorities' | 'serverName'> {
  readonly origin: string;
}

/** Lists and watches through the server of a kubeconfig, and through other API servers while that cannot be reached. */
export function kubernetesConnection(options: KubernetesConnectionOptions): KubernetesConnection {
  const { access, otherAddresses = () => [], maximumBytes = 256 * 1024 * 1024 } = options;
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

  async function send(path: string, accept: string, signal: AbortSignal | undefined) {
    const begun = turn;
    try {
      const credentials = await access.credentials();
      const { origin, agent } = current(credentials);
      const url = new URL(`${origin}${path}`);
      const response = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: 'GET',
        headers: [...credentials.headers, ...via, 'accept', accept, 'user-agent', 'mixed-version-proxy-sync'],
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

  /** Moves to the next endpoint, once for all requests that failed at the same one. */
  function next(begun: number): void {
    if (turn === begun) turn++;
  }

  return {
    async get(path, accept, signal) {
      const begun = turn;
      const response = await send(path, accept, signal);
      try {
        const bytes = await readBody(response.body, maximumBytes);
        const body = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
        return { status: response.statusCode, contentType: contentTypeOf(response), body };
      } catch (cause) {
        next(begun);
        throw unreachable(path, cause);
      }
    },
    async watch(path, signal) {
      const begun = turn;
      const { statusCode, body } = await send(path, 'application/json', signal);
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
