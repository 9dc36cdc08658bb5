import * as v from 'valibot';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { emulatedVersion } from '../apimachinery/server-version.ts';
import { ownGroups, servedSetFromDiscovery } from '../discovery/forms/aggregated.ts';
import { DiscoveryDocumentError } from '../discovery/forms/parse-document.ts';
import { discoveryDepth, ownDiscoveryAccept, parseOpenApiV3Index } from '../discovery/own-documents.ts';
import { type Destination, foundNoConnection, TransportError } from '../request/destination.ts';
import type { InboundRequest } from '../request/inbound.ts';
import { responseOf, type Transport } from '../request/transport.ts';
import type { Caller } from '../request/user-info.ts';
import type { Decision } from '../routing/decision.ts';
import { readText } from '../runtime/bytes.ts';
import { parseLargeJson } from '../runtime/large-json.ts';
import { FailureLog, type Logger } from '../runtime/logger.ts';
import { createLimiter, createTimeSlice, monotonicNow } from '../runtime/time.ts';
import { fromJson } from '../runtime/validation.ts';
import type { ProbeOutcome } from '../servers/server-states.ts';
import type { ServerWord } from '../servers/server-word.ts';
import type { APIGroupDiscovery } from '../snapshot/format/schema.ts';
import { buildOutboundRequest, type OutboundOptions } from './outbound.ts';

export interface ProbeOptions extends OutboundOptions {
  readonly transport: Transport;
  /**
   * Milliseconds for `/readyz`, a connection that it has to open included; what a server is verified by has as long again,
   * once it is that server's turn.
   */
  readonly timeout: number;
  /** True if what is said of a server may no longer hold: then the server is asked what it is and serves. */
  readonly isToBeVerified: (id: string) => boolean;
  readonly isAsSaid: (id: string, word: ServerWord) => boolean;
  readonly logger: Logger;
}

/**
 * Asks a server for `/readyz`, as the router itself and over the connections that carry requests: what would keep
 * those from being served (a front-proxy certificate that has expired, a dead connection) shows here first. By
 * Kubernetes' defaults everybody may read the path (ClusterRole `system:public-info-viewer`); a server that refuses
 * it alone is alive all the same. A probe of a peer bears the reroute mark, so that a router there speaks for its local
 * server alone: with peers that count each other, all would be ready for ever.
 */
export class ServerProbe {
  readonly #options: ProbeOptions;
  readonly #failures: FailureLog;
  readonly #verifying = createLimiter(verifiedAtOnce);
  readonly #parsing = createLimiter(1);
  /** Servers that are asked what they are. */
  #underWay = 0;
  /** The answers that were parsed last, one pair for each version of an upgrade; empty while no server is verified. */
  #parsed: readonly ParsedDiscovery[] = [];

  constructor(options: ProbeOptions) {
    this.#options = options;
    this.#failures = new FailureLog({ logger: options.logger, clock: monotonicNow });
  }

  async probe(destination: Destination, cancelled: AbortSignal): Promise<ProbeOutcome> {
    const { timeout, isToBeVerified, isAsSaid, logger } = this.#options;
    const { id } = destination;
    const signal = AbortSignal.any([cancelled, AbortSignal.timeout(timeout)]);
    try {
      const readiness = await this.#ask(destination, '/readyz', signal);
      if (readiness === 403 && (await this.#ask(destination, '/api', signal)) === 403) return 'refusing';
      // Redirects count as alive: nothing but a 5xx says that the server itself cannot respond.
      if (typeof readiness === 'number') return readiness >= 500 ? 'not-ready' : 'alive';
      if (!isToBeVerified(id)) return 'ready';
      return isAsSaid(id, await this.#wordOf(destination, cancelled)) ? 'ready' : 'changed';
    } catch (error) {
      if (error instanceof TransportError) {
        // Not for a probe that was cancelled because the server is no longer watched.
        if (!cancelled.aborted) this.#warnOf(destination, error);
        // Neither could a request connect, then.
        if (!foundNoConnection(error)) return 'unreachable';
        return error.code === 'ConnectFailed' ? 'refused' : 'not-connected';
      }
      // An internal error of the router is not evidence against the server.
      logger.error({ err: error, destination: id }, 'A server could not be probed');
      return 'alive';
    }
  }

  /**
   * @returns false: no response came, to either of two questions that are next to no work. For its version a server asks neither
   *   etcd nor an admission webhook, as it does for `/readyz`; that path needs no authorization (kube-apiserver's
   *   `--authorization-always-allow-paths`), for which it may have to ask a webhook, too
   */
  async responds(destination: Destination, signal: AbortSignal): Promise<boolean> {
    const questions = ['/version', '/readyz'].map((path) => this.#ask(destination, path, signal));
    return Promise.any(questions).then(
      () => true,
      // An internal error of the router is not evidence against the server.
      ({ errors }: AggregateError) => errors.some((error) => !(error instanceof TransportError)),
    );
  }

  /**
   * On the router's own account, over the same connections and stamped at the same place as forwarded requests. What goes to
   * a peer is marked as rerouted, so that a router in front of it responds for that server.
   * @throws {TransportError | AssertionTooLargeError} when there is no response.
   */
  async #ask(
    destination: Destination,
    target: string,
    signal: AbortSignal,
    accept = '*/*',
    maximumBytes = shortResponse,
  ): Promise<Answer> {
    const inbound: InboundRequest = {
      method: 'GET',
      target,
      headers: ['accept', accept, 'user-agent', 'mixed-version-proxy'],
      connection: {},
      body: () => null,
      signal,
    };
    const request = { inbound, requestInfo: parseRequestInfo('GET', target), caller: routerItself, decision };
    const outbound = await buildOutboundRequest(request, destination, this.#options);
    const { status, body } = responseOf(
      await this.#options.transport.send(outbound, inbound, ({ headers }) => ({ kind: 'forward', headers })),
    );
    const text = body === null ? undefined : await readText(body, maximumBytes).catch(() => undefined);
    return status === 200 ? text : status;
  }

  /** @returns what the server says of itself: its version, and all that it serves */
  async #wordOf(destination: Destination, cancelled: AbortSignal): Promise<ServerWord> {
    this.#underWay++;
    try {
      return await this.#verifying(() => this.#read(destination, cancelled));
    } finally {
      this.#underWay--;
      if (this.#underWay === 0) this.#parsed = [];
    }
  }

  async #read(destination: Destination, cancelled: AbortSignal): Promise<ServerWord> {
    // Without the time that it waited for its turn.
    const signal = AbortSignal.any([cancelled, AbortSignal.timeout(this.#options.timeout)]);
    const discovery = (path: string) =>
      this.#ask(destination, path, signal, ownDiscoveryAccept, discoveryDocument);
    const [version, legacy, others, index] = await Promise.all([
      this.#ask(destination, '/version', signal),
      discovery('/api'),
      discovery('/apis'),
      this.#ask(destination, '/openapi/v3', signal, 'application/json', discoveryDocument),
    ]);
    const served = await this.#parsing(() => this.#servedIn(legacy, others));
    const openApi = await this.#parsing(() => openApiIn(index));
    return { ...versionIn(version), served, ...(openApi && { openApi }) };
  }

  async #servedIn(legacy: Answer, others: Answer): Promise<ServerWord['served']> {
    const alike = this.#parsed.find((each) => each.legacy === legacy && each.others === others);
    if (alike !== undefined) return alike.served;
    const [core, named] = [await groupsIn(legacy, true), await groupsIn(others, false)];
    const { storageVersions } = servedSetFromDiscovery([...(core ?? []), ...(named ?? [])]);
    const served = core && named && { storageVersions };
    this.#parsed = [...this.#parsed.slice(-1), { legacy, others, served }];
    return served;
  }

  #warnOf({ id, kind, origin }: Destination, { code, message }: TransportError): void {
    // A transport knows only that its client has left: here, the router itself.
    const reason =
      code === 'ClientGone'
        ? { code: 'Timeout', error: `${origin}: no response within ${this.#options.timeout} ms` }
        : { code, error: message };
    const fields = { destination: id, kind, ...reason };
    this.#failures.warn(`${id}: ${reason.code}`, fields, 'A health check could not reach a server');
  }
}

/** Bytes of a response that are read; a failing `/readyz` names its checks in a few thousand. */
const shortResponse = 64 * 1024;
/** The same of discovery: that of Kubernetes 1.36 has 200 KiB, and each custom resource adds one. */
const discoveryDocument = 16 * 1024 * 1024;

/**
 * Servers whose discovery is read at once: a router that starts has all of them to verify, and holds a megabyte of each of
 * a large cluster. Parsing takes turns, so that the event loop never stands still for several at a time.
 */
const verifiedAtOnce = 8;

/** The text, or the status where it is not 200; `undefined`: the body broke off, or is too long. */
type Answer = string | undefined | number;

interface ParsedDiscovery {
  readonly legacy: Answer;
  readonly others: Answer;
  readonly served: ServerWord['served'];
}

/** k8s.io/apimachinery pkg/version/types.go. Everybody may read it, by the same ClusterRole as `/readyz`. */
const versionInfo = fromJson(
  v.object({
    gitVersion: v.string(),
    emulationMajor: v.optional(v.string()),
    emulationMinor: v.optional(v.string()),
  }),
);

function versionIn(response: Answer): Pick<ServerWord, 'version' | 'emulates'> {
  const info = v.safeParse(versionInfo, response);
  if (!info.success) return { version: undefined };
  return { version: info.output.gitVersion, emulates: emulatedVersion(info.output) };
}

/** The groups of `/api` or `/apis` in aggregated form; `undefined`: there is none, or in another form (before 1.26). */
async function groupsIn(
  response: Answer,
  isLegacy: boolean,
): Promise<readonly APIGroupDiscovery[] | undefined> {
  if (typeof response !== 'string') return undefined;
  const slice = createTimeSlice();
  const parsed = await parseLargeJson(response, discoveryDepth, slice);
  if (!parsed.ok) return undefined;
  return ownGroups(parsed.value, isLegacy, slice).catch(() => undefined);
}

/** The entries of an OpenAPI v3 index; `undefined`: there is none (before 1.24). */
async function openApiIn(response: Answer): Promise<ServerWord['openApi']> {
  if (typeof response !== 'string') return undefined;
  const parsed = await parseLargeJson(response, discoveryDepth, createTimeSlice());
  if (!parsed.ok) return undefined;
  try {
    return parseOpenApiV3Index(parsed.value);
  } catch (error) {
    if (error instanceof DiscoveryDocumentError) return undefined;
    throw error;
  }
}

/**
 * The caller of probes: the router itself. Every authenticated user may read documents and health, by the ClusterRoles
 * `system:discovery` and `system:public-info-viewer`.
 */
const routerItself: Caller = {
  kind: 'authenticated',
  user: {
    name: 'system:mixed-version-proxy',
    uid: '',
    groups: ['system:authenticated'],
    extra: new Map(),
  },
  authenticator: 'none',
  viaVerifiedPeer: false,
};

const decision: Decision = { decision: 'local', reason: 'NotAResourceRequest', candidates: [] };
