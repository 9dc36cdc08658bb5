import { Agent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { type TlsCredentials, tlsRequest } from '../../../test/support/clients/tls-request.ts';
import type { LiveRouter } from '../cluster/routers.ts';
import { type Loop, startLoop } from '../loops/loop.ts';

/** Milliseconds between two questions, and while only the decision is asked for. */
const every = 50;
const everyDecision = 10;
/** The same while nothing is measured: what the questions cost the machine is taken from what is measured. */
const everyUnmeasured = 500;
const within = 180_000;

/** When a router knew a server that had come back in another version. Milliseconds since the epoch. */
export interface KnownAt {
  readonly router: string;
  /** Time when the router's status says another version than before; `countedAs` says which. */
  readonly version: number;
  readonly countedAs: string;
  /**
   * Time when the router would send a request for what the new version brings, or brings back, to a server that has it.
   */
  readonly decision: number;
}

interface Status {
  readonly preferredVersion: { readonly minor: string | null };
  readonly servers: readonly {
    readonly id: string;
    readonly countedAs: string | null;
    readonly stale: boolean;
  }[];
}

interface Explanation {
  readonly decision: string;
  readonly reason: string;
  readonly candidates: readonly { readonly id: string }[];
}

/**
 * Asks a router until it counts the server as another version than before, and knows where requests go that only such servers
 * serve.
 * @param path of what the version before did not serve; `undefined` while it is not known, `null` where there is nothing
 */
export async function untilKnown(
  { name, origin }: LiveRouter,
  server: { readonly id: string; readonly before: string | undefined },
  path: () => string | null | undefined,
  credentials: TlsCredentials,
): Promise<KnownAt> {
  const agent = new Agent({ keepAlive: true });
  const ask = <T>(own: string) => askRouter<T>(origin, own, credentials, agent);
  const deadline = Date.now() + within;
  let version: number | undefined;
  let countedAs = '';
  try {
    while (Date.now() < deadline) {
      if (version === undefined) {
        const known = (await ask<Status>('status'))?.servers.find(({ id }) => id === server.id);
        if (known !== undefined && known.countedAs !== server.before && !known.stale) {
          version = Date.now();
          countedAs = known.countedAs ?? 'none';
        }
      }
      const asked = path();
      if (version !== undefined && asked === null) {
        return { router: name, version, countedAs, decision: version };
      }
      if (version !== undefined && asked != null) {
        const explained = await ask<Explanation>(`explain?url=${encodeURIComponent(asked)}`);
        const isLocal = explained?.decision === 'local' && explained.reason !== 'NotServedByAnyServer';
        if (isLocal || (explained?.candidates.length ?? 0) > 0)
          return { router: name, version, countedAs, decision: Date.now() };
      }
      await sleep(version === undefined ? every : everyDecision);
    }
    const never = Number.POSITIVE_INFINITY;
    return { router: name, version: version ?? never, countedAs, decision: never };
  } finally {
    agent.destroy();
  }
}

/** As what a router counts a server. */
export async function countedVersionAt(
  { origin }: LiveRouter,
  id: string,
  credentials: TlsCredentials,
): Promise<string | undefined> {
  const agent = new Agent({ keepAlive: true });
  try {
    for (;;) {
      const status = await askRouter<Status>(origin, 'status', credentials, agent);
      if (status !== undefined)
        return status.servers.find((server) => server.id === id)?.countedAs ?? undefined;
    }
  } finally {
    agent.destroy();
  }
}

/** Follows which version a router prefers, and tells of each change. */
export function followPreferred(
  { name, origin }: LiveRouter,
  credentials: TlsCredentials,
  tell: (line: string) => void,
): Loop {
  const agent = new Agent({ keepAlive: true });
  let preferred: string | null = null;
  const loop = startLoop(everyUnmeasured, async () => {
    const status = await askRouter<Status>(origin, 'status', credentials, agent);
    const { preferredVersion } = status ?? {};
    if (preferredVersion !== undefined && preferredVersion.minor !== preferred) {
      tell(`${name} prefers ${preferredVersion.minor ?? 'no version'}`);
      preferred = preferredVersion.minor;
    }
  });
  return { stop: () => loop.stop().finally(() => agent.destroy()) };
}

/** @returns `undefined` where it gave no response in time: the machine may be busy */
async function askRouter<T>(
  origin: string,
  own: string,
  credentials: TlsCredentials,
  agent: Agent,
): Promise<T | undefined> {
  const url = `${origin}/.mixed-version-proxy/v1/${own}`;
  const answer = await tlsRequest(url, credentials, { agent }).catch(() => undefined);
  return answer?.statusCode === 200 ? (JSON.parse(answer.text) as T) : undefined;
}
