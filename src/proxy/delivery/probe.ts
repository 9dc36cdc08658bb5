import * as v from 'valibot';
import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import { parseAggregated } from '../../discovery/forms/aggregated.ts';
import { servedSetFromDiscovery } from '../../discovery/forms/served-set-of.ts';
import { ownDiscoveryAccept } from '../../discovery/own-document.ts';
import type { ProbeOutcome } from '../../health/health-state.ts';
import type { Destination } from '../../request/destination.ts';
import { foundNoConnection, TransportError } from '../../request/transport-error.ts';
import { FailureLog, type Logger } from '../../runtime/logger.ts';
import { readText } from '../../runtime/read-text.ts';
import { type AskOptions, askServer } from './ask-server.ts';
import type { ServerWord } from './server-word.ts';

export interface ProbeOptions extends AskOptions {
  /** Milliseconds for the whole probe, a connection that it has to open included. Asked for before each. */
  readonly timeoutMilliseconds: () => number;
  /** The probe could not connect, and neither could a request. Default: ignored. */
  readonly onNotConnected?: (id: string) => void;
  /** Whether what is said of a server may no longer hold: then it is asked what it is and serves. Default: it holds. */
  readonly isToBeVerified?: (id: string) => boolean;
  /** Whether what a server says of itself is what is said of it. Default: it is. */
  readonly isAsSaid?: (id: string, word: ServerWord) => boolean;
  readonly logger: Logger;
}

/**
 * Asks a server for `/readyz`, as the router itself and over the connections that carry requests: what would keep
 * those from being served (a front-proxy certificate that has expired, a dead connection) shows here first. By
 * Kubernetes' defaults everybody may read the path (ClusterRole `system:public-info-viewer`); a server that refuses
 * it is alive all the same. A probe of a peer bears the reroute mark, so that a router there speaks for its local
 * server alone: with peers that count each other, all would be ready for ever.
 *
 * @example
 * ```ts
 * const probe = createProbe({
 *   transport,
 *   identityHeaderNames: {
 *     username: ['X-Remote-User'],
 *     group: ['X-Remote-Group'],
 *     extraPrefix: ['X-Remote-Extra-'],
 *     uid: ['X-Remote-Uid'],
 *   },
 *   pseudonym: 'my-program',
 *   timeoutMilliseconds: () => 1_000,
 *   logger,
 * });
 * console.log(await probe(local, signal)); // ready
 * ```
 */
export function createProbe(
  options: ProbeOptions,
): (destination: Destination, signal: AbortSignal) => Promise<ProbeOutcome> {
  const { timeoutMilliseconds, onNotConnected, logger } = options;
  const { isToBeVerified = () => false, isAsSaid = () => true } = options;
  const failures = new FailureLog({ logger, clock: () => performance.now() });

  async function ask(
    destination: Destination,
    target: string,
    signal: AbortSignal,
    accept = '*/*',
    maximumBytes = shortResponse,
  ): Promise<string | undefined | number> {
    const headers = ['accept', accept, 'user-agent', 'mixed-version-proxy'];
    const { response } = await askServer({ destination, target, headers, signal }, options);
    const text = await readToEnd(response, maximumBytes);
    return response.status === 200 ? text : response.status;
  }

  /** What it says it is and serves; what it does not let be read is left out. */
  async function wordOf(destination: Destination, signal: AbortSignal): Promise<ServerWord> {
    const [version, ...groups] = await Promise.all([
      ask(destination, '/version', signal),
      ...['/api', '/apis'].map((path) =>
        ask(destination, path, signal, ownDiscoveryAccept, discoveryDocument),
      ),
    ]);
    const lists = groups.map(parsedGroups);
    const isWhole = lists.every((list) => list !== undefined);
    return {
      version: gitVersionIn(version),
      served: isWhole ? storageVersionsIn(lists.flatMap((list) => list ?? [])) : undefined,
    };
  }

  return async (destination, cancelled) => {
    const signal = AbortSignal.any([cancelled, AbortSignal.timeout(timeoutMilliseconds())]);
    try {
      const readiness = await ask(destination, '/readyz', signal);
      const outcome = outcomeOf(typeof readiness === 'number' ? readiness : 200);
      if (outcome !== 'ready' || !isToBeVerified(destination.id)) return outcome;
      return isAsSaid(destination.id, await wordOf(destination, signal)) ? 'ready' : 'changed';
    } catch (error) {
      if (error instanceof TransportError) {
        // Not for a probe that was cancelled because the server is no longer watched.
        if (!cancelled.aborted) {
          failures.warn(...unreachable(destination, error));
          if (foundNoConnection(error)) onNotConnected?.(destination.id);
        }
        return 'unreachable';
      }
      // An internal error of the router is not evidence against the server.
      logger.error({ err: error, destination: destination.id }, 'A server could not be probed');
      return 'alive';
    }
  };
}

/** What an operator needs to tell a server that is down from one whose certificate is not believed. */
function unreachable(
  { id, kind }: Destination,
  { code, message }: TransportError,
): Parameters<FailureLog['warn']> {
  const fields = { destination: id, kind, code, error: message };
  return [`${id}: ${code}`, fields, 'A health check could not reach a server'];
}

/** Bytes of a response that are read; a failing `/readyz` names its checks in a few thousand. */
const shortResponse = 64 * 1024;
/** The same of discovery: that of Kubernetes 1.36 has 200 KiB, and each custom resource adds one. */
const discoveryDocument = 16 * 1024 * 1024;

/** So that the connection can be used again: what is given up costs an HTTP/1.1 connection. */
async function readToEnd({ body }: Response, maximumBytes: number): Promise<string | undefined> {
  try {
    return body === null ? undefined : await readText(body, maximumBytes);
  } catch {
    // The body broke off; the head already tells the result.
    return undefined;
  }
}

/** k8s.io/apimachinery pkg/version/types.go. Everybody may read it, by the same ClusterRole as `/readyz`. */
const versionInfo = v.pipe(v.string(), v.parseJson(), v.object({ gitVersion: v.string() }));

/** Without the document itself, which is large. */
function storageVersionsIn(groups: readonly APIGroupDiscovery[]): ServerWord['served'] {
  return { storageVersions: servedSetFromDiscovery(groups).storageVersions };
}

function gitVersionIn(response: string | undefined | number): string | undefined {
  const info = v.safeParse(versionInfo, response);
  return info.success ? info.output.gitVersion : undefined;
}

/** The groups of a discovery document in aggregated form; `undefined`: there is none, or in another form (before 1.26). */
function parsedGroups(response: string | undefined | number): readonly APIGroupDiscovery[] | undefined {
  if (typeof response !== 'string') return undefined;
  try {
    return parseAggregated(JSON.parse(response));
  } catch {
    return undefined;
  }
}

/** Redirects count as alive: nothing but a 5xx says that the server itself cannot respond. */
function outcomeOf(status: number): ProbeOutcome {
  if (status === 200) return 'ready';
  return status >= 500 ? 'not-ready' : 'alive';
}
