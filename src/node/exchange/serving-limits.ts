import { totalmem } from 'node:os';
import { type Http2ServerLimits, MemoryBudget } from '../../../packages/http2/index.ts';
import { defaultHttp2ServerLimits } from '../../../packages/http2/shared.ts';

/** Part of the memory that may be held for others. Connections, the router itself and V8's heap need the rest. */
const partForOthers = 8;
const maximumForOthers = 1024 * 1024 * 1024;

/** Bytes that this process may use: those of its container or unit, else of the machine. */
export const usableMemory = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());

export const memoryForOthers = new MemoryBudget(Math.min(usableMemory / partForOthers, maximumForOthers));

/**
 * Bytes that a client can make one connection take besides the bytes that are held for it: Node's TLS keeps the
 * buffers, of 64 KiB each, that much content at once has filled, until the connection ends.
 */
const perConnection = 256 * 1024;

export function connectionsWithin(memory: number): number {
  return Math.max(1, Math.floor(memory / perConnection));
}

/** Bytes: the router itself, V8's heap and what is held for others, and of a connection what TLS keeps beside these. */
const withoutConnections = 256 * 1024 * 1024;
const ofConnectionAlone = 192 * 1024;

/**
 * Connections that are no tunnels: a tunnel holds nothing in the budget and little in V8's heap. 2,048 that did their worst
 * took 503 of 512 MiB (lab/bench/results/floods.md).
 */
export function ordinaryConnectionsWithin(memory: number): number {
  return Math.max(128, Math.floor((memory - withoutConnections) / ofConnectionAlone));
}

/** Limits of the server for its clients; those of HTTP/2 hold for HTTP/1.1 where it has the same thing. */
export interface ServerLimits extends Http2ServerLimits {
  readonly maxConnections: number;
  /** Connections that are no tunnels. 0: no limit. */
  readonly maxOrdinaryConnections: number;
  /** Milliseconds for a client's TLS handshake. With Node's 120,000 a silent client holds a socket for long. */
  readonly tlsHandshakeTimeout: number;
  /** Milliseconds for the head of an HTTP/1.1 request. */
  readonly headersTimeout: number;
  /** Milliseconds between two looks at what is held for HTTP/1.1 clients. */
  readonly heldBytesInterval: number;
  /** Milliseconds between two checks for late heads; Node's default. */
  readonly connectionsCheckingInterval: number;
}

export const defaultServerLimits: ServerLimits = {
  ...defaultHttp2ServerLimits,
  maxConnections: 0,
  maxOrdinaryConnections: 0,
  tlsHandshakeTimeout: 10_000,
  headersTimeout: 60_000,
  heldBytesInterval: 100,
  connectionsCheckingInterval: 30_000,
};
