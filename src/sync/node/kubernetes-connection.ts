import type { Agent, Dispatcher } from 'undici';
import { type ServerDocument, unreachable, type WatchConnection } from '../server-documents.ts';
import type { ClusterAccess, ClusterCredentials } from './cluster-access.ts';
import { httpsAgent, isTransient, readBody, type ServerAccess, unreachableServer } from './http-client.ts';
import type { LocalApiServer } from './sync-options.ts';

interface KubernetesConnectionOptions {
  readonly access: ClusterAccess;
  /**
   * `host:port` of API servers to use while the kubeconfig's server cannot be reached. All of them have the same objects
   * and the same resource versions.
   */
  readonly otherAddresses?: () => readonly string[];
  /** PEM to verify those, as `kubernetes.default.svc`. Default: the kubeconfig's. */
  readonly peerCertificateAuthorities?: string | undefined;
  /** What names those, for messages. */
  readonly peerAuthoritiesFrom?: string | undefined;
  /** Used first, and the kubeconfig's server only after all others: that may be a router. */
  readonly local?: Omit<LocalApiServer, 'id' | 'isAt'> | undefined;
  /** `Via` of each request. */
  readonly via?: string | undefined;
}

interface KubernetesConnection extends WatchConnection {
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
  /** What names its authorities, for messages. */
  readonly authoritiesFrom?: string | undefined;
}

interface Request {
  readonly path: string;
  readonly accept?: string;
  readonly signal: AbortSignal | undefined;
}

/** Lists and watches through the server of a kubeconfig, and after each failure through the next API server. */
export function kubernetesConnection(options: KubernetesConnectionOptions): KubernetesConnection {
  const { access, otherAddresses = () => [], local } = options;
  const agents = new Map<string, { readonly agent: Agent; readonly made: string }>();
  const via = options.via === undefined ? [] : ['via', options.via];
  /** Index of the endpoint in use; rises with each failure. */
  let turn = 0;

  /** In order of preference; at least one. */
  function endpoints({ certificateAuthorities, serverName }: ClusterCredentials): readonly Endpoint[] {
    const { server: origin, authoritiesFrom } = access;
    const named = { origin, certificateAuthorities, authoritiesFrom, serverName };
    const trust =
      options.peerCertificateAuthorities === undefined
        ? { certificateAuthorities, authoritiesFrom }
        : {
            certificateAuthorities: options.peerCertificateAuthorities,
            authoritiesFrom: options.peerAuthoritiesFrom,
          };
    const others = otherAddresses().map((address) => ({
      origin: `https://${address}`,
      ...trust,
      serverName: peerServerName,
    }));
    const all = local === undefined ? [named, ...others] : [local, ...others, named];
    return [
      ...new Map(all.toReversed().map((endpoint) => [endpoint.origin, endpoint])).values(),
    ].toReversed();
  }

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

  function current(credentials: ClusterCredentials): { readonly endpoint: Endpoint; readonly agent: Agent } {
    const all = endpoints(credentials);
    for (const [origin, { agent }] of agents) {
      if (all.some((endpoint) => endpoint.origin === origin)) continue;
      agents.delete(origin);
      void agent.close();
    }
    const next = all[turn % all.length];
    if (next === undefined) throw new Error('there is no API server to ask');
    return { endpoint: next, agent: agentFor(next, credentials) };
  }

  async function respond({
    path,
    accept = 'application/json',
    signal,
  }: Request): Promise<Dispatcher.ResponseData> {
    const begun = turn;
    let asked: Endpoint | undefined;
    try {
      const credentials = await access.credentials();
      const { endpoint, agent } = current(credentials);
      asked = endpoint;
      const url = new URL(`${endpoint.origin}${path}`);
      const headers = [...credentials.headers, ...via];
      const response = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: 'GET',
        headers: [...headers, 'accept', accept, 'user-agent', 'mixed-version-proxy-sync'],
        ...(signal === undefined ? {} : { signal }),
      });
      // A load balancer without a server behind it, a server that is shutting down or overloaded: another one may work.
      if (isTransient(response.statusCode)) next(begun);
      return response;
    } catch (cause) {
      next(begun);
      // Of the server, whatever it was asked for: what fails for all paths is told once for all.
      throw unreachableServer(asked?.origin ?? 'the credentials', cause, asked?.authoritiesFrom);
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
