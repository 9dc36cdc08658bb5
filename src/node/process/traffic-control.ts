import { readFileSync } from 'node:fs';
import type { MemoryBudget } from '../../../packages/http2/index.ts';
import { RequestGate } from '../../proxy/request-gate.ts';
import type { Logger } from '../../runtime/logger.ts';
import { pause } from '../../runtime/time.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { Deadlines } from '../exchange/deadlines.ts';
import { OpenStreams } from '../exchange/open-streams.ts';
import {
  connectionsWithin,
  memoryForOthers,
  ordinaryConnectionsWithin,
  type ServerLimits,
  usableMemory,
} from '../exchange/serving-limits.ts';
import type { RouterServer } from '../serving/server.ts';

/** Share of the grace period in which watches are ended. The rest is for those in the middle of an event. */
const spread = 0.8;

const fewOpenFiles = 4_096;

/** The machine, as far as limits follow from it. */
export interface Machine {
  /** Bytes. */
  readonly usableMemory: number;
  /** For what is held for others: one budget for the process. */
  readonly memory: MemoryBudget;
  /** The limit of this process. `undefined`: not known. */
  openFiles(): number | undefined;
}

export const thisMachine: Machine = { usableMemory, memory: memoryForOthers, openFiles: readOpenFilesLimit };

/** @returns nothing where the default holds, which is kube-apiserver's (k8s.io/apiserver pkg/server/secure_serving.go) */
export function streamLimitOf({
  settings: { limits },
}: ServeConfig): Partial<Pick<ServerLimits, 'maxConcurrentStreams'>> {
  const { http2MaxStreamsPerConnection: maxConcurrentStreams } = limits;
  return maxConcurrentStreams === 0 ? {} : { maxConcurrentStreams };
}

export class TrafficControl {
  readonly gate: RequestGate;
  readonly deadlines: Deadlines;
  readonly openStreams = new OpenStreams();
  readonly #logger: Logger;
  readonly #config: ServeConfig;
  readonly connectionLimits: ConnectionLimits;
  readonly memory: MemoryBudget;
  #shutdown: Promise<void> | undefined;

  constructor(config: ServeConfig, logger: Logger, machine: Machine) {
    const memory = machine.usableMemory;
    const openFiles = machine.openFiles();
    this.#config = config;
    this.#logger = logger;
    const { requestsInFlight, mutatingRequestsInFlight, longRunningRequests } = config.settings.limits;
    this.gate = new RequestGate({
      readOnly: requestsInFlight,
      mutating: mutatingRequestsInFlight,
      longRunning: longRunningWithin(longRunningRequests, memory),
    });
    this.deadlines = new Deadlines({
      timeout: config.settings.timeouts.request,
      onExpired: (requests) => {
        logger.warn(
          { requests, milliseconds: config.settings.timeouts.request },
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
    this.connectionLimits = connectionLimitsOf(machine);
    this.memory = machine.memory;
    if (openFiles !== undefined && openFiles < fewOpenFiles) {
      logger.warn(
        { maxConnections: this.connectionLimits.maxConnections, openFiles },
        'The process may open few files, and so few connections: raise its limit (ulimit -n, LimitNOFILE=)',
      );
    }
  }

  get isShuttingDown(): boolean {
    return this.#shutdown !== undefined;
  }

  shutDown(server: Pick<RouterServer, 'drain' | 'close'>): Promise<void> {
    this.#shutdown ??= this.#endGracefully(server);
    return this.#shutdown;
  }

  /**
   * Disturbs no client: first /readyz fails, then no new requests are accepted, then short requests end by themselves
   * and watches one after the other. Resolves when all connections are closed.
   */
  async #endGracefully(server: Pick<RouterServer, 'drain' | 'close'>): Promise<void> {
    const { gate, openStreams } = this;
    const { shutdown, timeouts } = this.#config.settings;
    const { delay, watchTerminationGracePeriod: watchGrace } = shutdown;
    if (delay > 0) {
      this.#logger.info(
        { milliseconds: delay },
        'Not ready any more: still serving until load balancers have noticed',
      );
      await pause(delay);
    }
    const requests = gate.count('readOnly') + gate.count('mutating');
    this.#logger.info({ requests, streams: openStreams.size }, 'Draining');
    server.drain();
    openStreams.end({ over: watchGrace * spread });
    const cut = setTimeout(() => openStreams.cut(), watchGrace);
    await server.close(Math.max(timeouts.request, watchGrace));
    clearTimeout(cut);
    openStreams.cut();
  }
}

/**
 * File descriptors for other uses than clients' connections: the process's own files, listening sockets, reloads. Where few
 * may be opened these are fewer as well.
 */
const reservedAtMost = 256;
const reservedPart = 4;
const fallback = 10_000;

/** The soft limit in Linux's `/proc/<pid>/limits`. Pure. @returns `undefined` if the text has none */
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
    return undefined;
  }
}

/**
 * Connections of clients at most: half of the file descriptors, because an HTTP/1.1 client may need one more for a
 * connection to a server, and as many as there is memory for. Pure.
 * @param memory bytes that the process may use
 */
export function maxConnectionsFor(openFiles: number | undefined, memory: number): number {
  const isKnown = openFiles !== undefined && openFiles !== Number.POSITIVE_INFINITY;
  const byFiles = isKnown ? (openFiles - Math.min(reservedAtMost, openFiles / reservedPart)) / 2 : fallback;
  return Math.max(1, Math.floor(Math.min(byFiles, connectionsWithin(memory))));
}

type ConnectionLimits = Pick<ServerLimits, 'maxConnections' | 'maxOrdinaryConnections'>;

/** The connections of clients for which this machine has files and memory, whatever the router does just now. */
function connectionLimitsOf({ openFiles, usableMemory }: Machine): ConnectionLimits {
  return {
    maxConnections: maxConnectionsFor(openFiles(), usableMemory),
    maxOrdinaryConnections: ordinaryConnectionsWithin(usableMemory),
  };
}

/**
 * Bytes that a long-running request takes: 10 KiB for a watch over HTTP/2, 110 KiB for a tunnel, more where a client
 * and a server do their worst.
 */
const perLongRunning = 160 * 1024;

/** As configured, and as many as there is memory for. 0 is no limit. Pure. @param memory bytes */
export function longRunningWithin(configured: number, memory: number): number {
  return configured === 0 ? 0 : Math.max(1, Math.min(configured, Math.floor(memory / perLongRunning)));
}
