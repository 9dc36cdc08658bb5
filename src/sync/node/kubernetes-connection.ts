import { Agent, type Dispatcher, request } from 'undici';
import { checkServerIdentity } from '../../node/destinations/server-identity.ts';
import type { WatchConnection } from '../documents/server-documents.ts';
import { ReadError } from '../documents/server-documents.ts';
import type { ClusterAccess, ClusterCredentials } from './cluster-access.ts';
import type { LocalApiServer } from './run-sync-options.ts';

export interface KubernetesConnectionOptions {
  readonly access: ClusterAccess;
  /**
   * API servers that can be watched through when the kubeconfig's own address does not answer, `host:port`: the
   * same objects, and the same resource versions, are behind each.
   */
  readonly otherAddresses?: () => readonly string[];
  /** PEM that those are checked against, as `kubernetes.default.svc`. Default: the kubeconfig's. */
  readonly peerCertificateAuthorities?: string | undefined;
  /** Asked before all others, and what the kubeconfig names only after those: it may lead back to a router. */
  readonly local?: LocalApiServer | undefined;
  /** Sent along as `Via`. */
  readonly via?: string | undefined;
  /** Of one document. Default 256 MiB. */
  readonly maximumBytes?: number | undefined;
}

export interface KubernetesConnection extends WatchConnection {
  /** Ends every connection at once. */
  close(): Promise<void>;
}

const peerServerName = 'kubernetes.default.svc';
/** Milliseconds until a server that does not even connect counts as away. */
const connectTimeout = 5_000;

/** Where a server is, and what it is checked by. `undefined`: the kubeconfig says. */
interface Place {
  readonly origin: string;
  readonly ca: string | undefined;
  readonly serverName: string | undefined;
}

/** Lists and watches through what a kubeconfig names, and through other API servers while that is away. */
export function kubernetesConnection(options: KubernetesConnectionOptions): KubernetesConnection {
  const { access, otherAddresses = () => [], maximumBytes = 256 * 1024 * 1024 } = options;
  const agents = new Map<string, { readonly agent: Agent; readonly made: string }>();
  const via = options.via === undefined ? [] : ['via', options.via];
  /** How often a place failed in a row: counts through the places. */
  let turn = 0;

  function agentFor({ origin, ...place }: Place, credentials: ClusterCredentials): Agent {
    const { ca, serverName: servername } = place;
    const pair = credentials.clientCertificate;
    const made = JSON.stringify([ca, servername, pair]);
    const known = agents.get(origin);
    if (known?.made === made) return known.agent;
    // Certificates were rotated. What goes on over the old ones may end in peace.
    void known?.agent.close();
    const agent = new Agent({
      // One connection for each watch, so that giving one up is closing it.
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        checkServerIdentity,
        timeout: connectTimeout,
        keepAlive: true,
        keepAliveInitialDelay: 30_000,
        ...(ca === undefined ? {} : { ca }),
        ...(servername === undefined ? {} : { servername }),
        ...(pair === undefined ? {} : { cert: pair.certificate, key: pair.key }),
      },
    });
    agents.set(origin, { agent, made });
    return agent;
  }

  /** In the order in which they are asked. */
  function places({ certificateAuthorities, serverName }: ClusterCredentials): readonly Place[] {
    const named = { origin: access.server, ca: certificateAuthorities, serverName };
    const { local } = options;
    const ca = options.peerCertificateAuthorities ?? certificateAuthorities;
    const others = otherAddresses().map((address) => ({
      origin: `https://${address}`,
      ca,
      serverName: peerServerName,
    }));
    const own = local && {
      origin: local.origin,
      ca: local.certificateAuthorities,
      serverName: local.serverName,
    };
    const all = own === undefined ? [named, ...others] : [own, ...others, named];
    return [...new Map(all.toReversed().map((place) => [place.origin, place])).values()].toReversed();
  }

  function place(credentials: ClusterCredentials): { readonly origin: string; readonly agent: Agent } {
    const all = places(credentials);
    for (const [origin, { agent }] of agents) {
      if (all.some((place) => place.origin === origin)) continue;
      agents.delete(origin);
      void agent.close();
    }
    // There is one at least: what the kubeconfig names.
    const next = all[turn % all.length] as Place;
    return { origin: next.origin, agent: agentFor(next, credentials) };
  }

  async function ask(path: string, accept: string, signal: AbortSignal | undefined) {
    const begun = turn;
    try {
      const credentials = await access.credentials();
      const { origin, agent } = place(credentials);
      const answer = await request(`${origin}${path}`, {
        dispatcher: agent,
        headers: [...credentials.headers, ...via, 'accept', accept, 'user-agent', 'mixed-version-proxy-sync'],
        ...(signal === undefined ? {} : { signal }),
      });
      // A gateway without a server behind it, or a server that is going: somebody else may do.
      if (answer.statusCode >= 500) next(begun);
      return answer;
    } catch (cause) {
      next(begun);
      throw unreachable(path, cause);
    }
  }

  /** Once for all requests that failed, or were given up, at the same place. */
  function next(begun: number): void {
    if (turn === begun) turn++;
  }

  return {
    async get(path, accept, signal) {
      const begun = turn;
      const answer = await ask(path, accept, signal);
      try {
        const body = await readText(answer.body, maximumBytes);
        return { status: answer.statusCode, contentType: contentTypeOf(answer), body };
      } catch (cause) {
        next(begun);
        throw unreachable(path, cause);
      }
    },
    async watch(path, signal) {
      const begun = turn;
      const { statusCode, body } = await ask(path, 'application/json', signal);
      if (statusCode !== 200) {
        // Its answer is of no use; what destroying it makes of it neither.
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

/** @param onBreak called when the body ends in an error */
async function* chunksOf(body: AsyncIterable<Uint8Array>, onBreak: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body) yield decoder.decode(chunk, { stream: true });
  } catch (cause) {
    onBreak();
    throw unreachable('the watch', cause);
  }
}

async function readText(body: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limit) throw new Error(`the answer is larger than ${limit} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
}

function contentTypeOf({ headers }: Dispatcher.ResponseData): string {
  const value = headers['content-type'];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

function unreachable(path: string, cause: unknown): ReadError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  // Without the query, which differs from one attempt to the next.
  return new ReadError('Unreachable', `${path.split('?', 1)[0]}: ${reason}`, { cause });
}
