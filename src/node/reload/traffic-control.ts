import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { RequestGate } from '../../proxy/in-flight/request-gate.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ServeConfig, ShutdownConfig } from '../configuration/serve-config.ts';
import type { NodeTransport, NodeTransportOptions } from '../destinations/node-transport.ts';
import { OpenStreams } from '../exchange/open-streams.ts';
import { RequestDeadlines } from '../exchange/request-deadlines.ts';
import type { RouterServer, RouterServerOptions } from '../serving/server.ts';

/** What has limits of its own to be told of. */
export interface LimitedParts {
  readonly server: Pick<RouterServer, 'configure'>;
  readonly transport: Pick<NodeTransport, 'setTimeouts'>;
}

/** File descriptors below which a router in front of a whole cluster runs out of them. */
const fewOpenFiles = 4_096;

/**
 * Everything that bounds what clients can ask for: how long requests take, how many there are, how they end. Its
 * counts are there for metrics.
 */
export class TrafficControl {
  readonly gate: RequestGate;
  readonly deadlines: RequestDeadlines;
  readonly openStreams = new OpenStreams();
  #config: ServeConfig;
  readonly #logger: Logger;
  #shutdown: GracefulShutdown | undefined;

  constructor(config: ServeConfig, logger: Logger) {
    const { limits, timeouts } = config;
    this.#config = config;
    this.#logger = logger;
    this.gate = new RequestGate(limits.requestsInFlight);
    this.deadlines = new RequestDeadlines({
      timeout: timeouts.request,
      onExpired: (requests) => {
        logger.warn(
          { requests, milliseconds: this.#config.timeouts.request },
          'Requests took longer than --request-timeout',
        );
      },
      onFailed: (error) => {
        logger.error(
          { error: String(error) },
          'A request that took longer than --request-timeout could not be ended',
        );
      },
    });
  }

  get isShuttingDown(): boolean {
    return this.#shutdown?.isRunning === true;
  }

  get transportOptions(): Omit<NodeTransportOptions, 'credentials'> {
    const { dial, tlsHandshake, responseHeader } = this.#config.timeouts;
    return {
      connectTimeout: dial,
      tlsHandshakeTimeout: tlsHandshake,
      // What no other server can be asked for waits for --request-timeout, which the API server has, too.
      headTimeout: 0,
      readSilence: responseHeader,
      openStreams: this.openStreams,
    };
  }

  /** Takes other limits, time-outs and another way to end into use, for what comes from now on. */
  configure(config: ServeConfig, { server, transport }: LimitedParts): void {
    const { limits, timeouts } = config;
    const isJudgedAnew = limits.maxConnections !== this.#config.limits.maxConnections;
    this.#config = config;
    this.gate.setLimits(limits.requestsInFlight);
    this.deadlines.setTimeout(timeouts.request);
    transport.setTimeouts({ connect: timeouts.dial, readSilence: timeouts.responseHeader });
    const openFiles = readOpenFilesLimit();
    const maxConnections = limits.maxConnections ?? defaultMaxConnections(openFiles);
    if (isJudgedAnew) this.#judge(openFiles, maxConnections);
    const { proxyProtocolCidrs } = config;
    server.configure({ goawayChance: limits.goawayChance, maxConnections, proxyProtocolCidrs });
  }

  /** Checks the limit of open files; warns when it is too low. */
  serverOptions(): Pick<RouterServerOptions, 'deadlines' | 'goawayChance' | 'limits' | 'proxyProtocolCidrs'> {
    const { limits, timeouts, proxyProtocolCidrs } = this.#config;
    const openFiles = readOpenFilesLimit();
    const maxConnections = limits.maxConnections ?? defaultMaxConnections(openFiles);
    this.#judge(openFiles, maxConnections);
    return {
      deadlines: this.deadlines,
      goawayChance: limits.goawayChance,
      proxyProtocolCidrs,
      limits: {
        maxConnections,
        maxConcurrentStreams: limits.http2MaxStreamsPerConnection,
        tlsHandshakeTimeout: timeouts.tlsHandshake,
      },
    };
  }

  /** Ends the router as configured; called again, it is the same shutdown. */
  shutDown(server: RouterServer): Promise<void> {
    this.#shutdown ??= new GracefulShutdown({
      config: this.#config.shutdown,
      requestTimeout: this.#config.timeouts.request,
      server,
      gate: this.gate,
      openStreams: this.openStreams,
      logger: this.#logger,
    });
    return this.#shutdown.run();
  }

  #judge(openFiles: number | undefined, maxConnections: number): void {
    if (openFiles === undefined) return;
    if (maxConnections > openFiles) {
      this.#logger.warn(
        { maxConnections, openFiles },
        '--max-connections is more than the files that the process may open: raise its limit (ulimit -n, LimitNOFILE=)',
      );
    } else if (openFiles < fewOpenFiles) {
      this.#logger.warn(
        { maxConnections, openFiles },
        'The process may open few files, and so few connections: raise its limit (ulimit -n, LimitNOFILE=)',
      );
    }
  }
}

/** File descriptors for other uses than clients' connections: the process's own files, listening sockets, reloads. */
const reserved = 256;
/** If the system does not tell the limit. */
const fallback = 10_000;

/**
 * The soft limit of open files in the text of Linux's `/proc/<pid>/limits`. Pure.
 * @returns `undefined` if the text has none; `Infinity` for `unlimited`
 */
export function openFilesLimit(text: string): number | undefined {
  const soft = /^Max open files\s+(\d+|unlimited)\s/m.exec(text)?.[1];
  if (soft === undefined) return undefined;
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

/** The limit of this process. Node raises the soft limit to the hard one when it starts. */
function readOpenFilesLimit(): number | undefined {
  try {
    return openFilesLimit(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    // Systems without /proc.
    return undefined;
  }
}

/**
 * The default of `--max-connections`: half of the file descriptors, because an HTTP/1.1 client may need one more for a
 * connection to a server. Pure.
 */
export function defaultMaxConnections(openFiles: number | undefined): number {
  if (openFiles === undefined || openFiles === Number.POSITIVE_INFINITY) return fallback;
  return Math.max(1, Math.floor((openFiles - reserved) / 2));
}

interface GracefulShutdownOptions {
  readonly config: ShutdownConfig;
  /** Milliseconds for requests in flight: `--request-timeout`. */
  readonly requestTimeout: number;
  readonly server: Pick<RouterServer, 'drain' | 'close'>;
  readonly gate: RequestGate;
  readonly openStreams: OpenStreams;
  readonly logger: Logger;
}

/** Milliseconds between two checks for requests in flight. */
const checkInterval = 50;
/** Share of the grace period in which watches are ended. The rest is for those in the middle of an event. */
const spread = 0.8;

/**
 * Shuts a router down without disturbing clients: first /readyz fails, then no new requests are accepted, then short
 * requests end by themselves and watches one after the other.
 */
class GracefulShutdown {
  readonly #options: GracefulShutdownOptions;
  #running: Promise<void> | undefined;

  constructor(options: GracefulShutdownOptions) {
    this.#options = options;
  }

  /** Used by `/readyz`. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Resolves when all connections are closed. Further calls return the same promise. */
  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run(): Promise<void> {
    const { config, requestTimeout, server, gate, openStreams, logger } = this.#options;
    const { delay, sendRetryAfter, watchTerminationGracePeriod: watchGrace } = config;
    if (delay > 0) {
      logger.info(
        { milliseconds: delay },
        'Not ready any more: still serving until load balancers have noticed',
      );
      await sleep(delay);
    }
    const { inFlight } = gate;
    const requests = inFlight.count('readOnly') + inFlight.count('mutating');
    logger.info({ requests, streams: openStreams.size }, 'Draining');
    if (sendRetryAfter) gate.refuseNewRequests();
    server.drain(sendRetryAfter);
    openStreams.end({ over: watchGrace * spread });
    const cut = setTimeout(() => openStreams.cut(), watchGrace);
    const deadline = performance.now() + Math.max(requestTimeout, watchGrace);
    if (sendRetryAfter) await this.#waitForRequests(deadline);
    await server.close(Math.max(0, deadline - performance.now()));
    clearTimeout(cut);
    openStreams.cut();
  }

  async #waitForRequests(deadline: number): Promise<void> {
    const { inFlight } = this.#options.gate;
    const hasRequests = (): boolean =>
      inFlight.count('readOnly') + inFlight.count('mutating') + inFlight.count('longRunning') > 0;
    while (hasRequests() && performance.now() < deadline) await sleep(checkInterval);
  }
}
