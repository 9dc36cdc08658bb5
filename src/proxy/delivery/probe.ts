import * as v from 'valibot';
import { minorVersion } from '../../apimachinery/server-version.ts';
import type { ProbeOutcome } from '../../health/health-state.ts';
import type { Destination } from '../../request/destination.ts';
import { foundNoConnection, TransportError } from '../../request/transport-error.ts';
import { FailureLog, type Logger } from '../../runtime/logger.ts';
import { readText } from '../../runtime/read-text.ts';
import { type AskOptions, askServer } from './ask-server.ts';

export interface ProbeOptions extends AskOptions {
  /** Milliseconds for the whole probe, a connection that it has to open included. Asked for before each. */
  readonly timeoutMilliseconds: () => number;
  /** The probe could not connect, and neither could a request. Default: ignored. */
  readonly onNotConnected?: (id: string) => void;
  /**
   * The minor version that a server is taken to have, if it may have another one by now: then it is asked, too. Default:
   * no server is.
   */
  readonly versionToCheck?: (id: string) => string | undefined;
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
 *   identityTokens: {},
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
  const { timeoutMilliseconds, onNotConnected, versionToCheck = () => undefined, logger } = options;
  const failures = new FailureLog({ logger, clock: () => performance.now() });

  async function ask(destination: Destination, target: string, signal: AbortSignal) {
    const headers = ['accept', '*/*', 'user-agent', 'mixed-version-proxy'];
    const { response } = await askServer({ destination, target, headers, signal }, options);
    return { status: response.status, text: await readToEnd(response) };
  }

  return async (destination, cancelled) => {
    const signal = AbortSignal.any([cancelled, AbortSignal.timeout(timeoutMilliseconds())]);
    try {
      const { status } = await ask(destination, '/readyz', signal);
      const outcome = outcomeOf(status);
      const known = outcome === 'ready' ? versionToCheck(destination.id) : undefined;
      if (known === undefined) return outcome;
      const version = minorOf(await ask(destination, '/version', signal));
      return version === undefined || version === known ? outcome : 'upgraded';
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
const maximumBytes = 64 * 1024;

/** So that the connection can be used again: what is given up costs an HTTP/1.1 connection. */
async function readToEnd({ body }: Response): Promise<string | undefined> {
  try {
    return body === null ? undefined : await readText(body, maximumBytes);
  } catch {
    // The body broke off; the head already tells the result.
    return undefined;
  }
}

/** k8s.io/apimachinery pkg/version/types.go. Everybody may read it, by the same ClusterRole as `/readyz`. */
const versionInfo = v.pipe(v.string(), v.parseJson(), v.object({ gitVersion: v.string() }));

function minorOf({ status, text }: { readonly status: number; readonly text: string | undefined }) {
  const info = v.safeParse(versionInfo, text);
  return status === 200 && info.success ? minorVersion(info.output.gitVersion) : undefined;
}

/** Redirects count as alive: nothing but a 5xx says that the server itself cannot respond. */
function outcomeOf(status: number): ProbeOutcome {
  if (status === 200) return 'ready';
  return status >= 500 ? 'not-ready' : 'alive';
}
