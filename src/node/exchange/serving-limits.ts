import { totalmem } from 'node:os';
import { MemoryBudget } from '../../http2/sockets/held-bytes.ts';

/**
 * Header lines of one message, enough for a user in 1,000 groups. Node allows 128 lines on HTTP/2 (measured: 124
 * X-Remote-Group lines pass, 128 end the stream with ENHANCE_YOUR_CALM) and 1,000 on HTTP/1.1.
 */
export const maximumHeaderLines = 4_096;

/**
 * Bytes of one message's header lines. Node allows 16 KiB, too little for 1,000 groups (measured: 400 at
 * 1,000 of them, 431 at 1,990); Go's servers, kube-apiserver among them, allow 1 MiB.
 */
export const maximumHeaderBytes = 1024 * 1024;

/** Flow-control window of an HTTP/2 stream in bytes: what may have to be held for whoever does not take it. */
export const streamWindow = 64 * 1024;

/** To which it grows for a quick reader, as that of kube-apiserver (kubernetes#67902). */
export const maximumStreamWindow = 256 * 1024;

/** Part of the memory that may be held for others. Connections, the router itself and V8's heap need the rest. */
const partForOthers = 8;
const maximumForOthers = 1024 * 1024 * 1024;

/** Bytes that may be held for others, from what the process may use. */
function heldForOthers(memory: number): number {
  return Math.min(memory / partForOthers, maximumForOthers);
}

/** Bytes that this process may use: those of its container or unit, else of the machine. */
export const usableMemory = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());

/** The budget of this process. */
export const memoryForOthers = new MemoryBudget(heldForOthers(usableMemory));

/** Limits of the server for its clients. */
export interface ServerLimits {
  /** Open connections; one more is closed at once. 0 is no limit. */
  readonly maxConnections: number;
  /** Milliseconds for a client's TLS handshake. With Node's 120,000 a silent client holds a socket for long. */
  readonly tlsHandshakeTimeout: number;
  /**
   * Concurrent HTTP/2 streams of one connection. Node: 2³²−1; kube-apiserver: 100 since the rapid reset attack
   * (CVE-2023-44487).
   */
  readonly maxConcurrentStreams: number;
  /** Refused streams after which a connection ends. */
  readonly maxSessionRejectedStreams: number;
  /**
   * Milliseconds that an idle connection is kept. Load balancers keep theirs for longer than Node's 5,000 (often 60 s),
   * and would send requests on a connection that is being closed. kube-apiserver has 90 s.
   */
  readonly keepAliveTimeout: number;
  /** Milliseconds for the head of an HTTP/1.1 request. */
  readonly headersTimeout: number;
  /** Milliseconds from the first byte of an HTTP/2 head or frame to its last. */
  readonly headerBlockTimeout: number;
  /** Milliseconds between two looks at what is held for HTTP/1.1 clients. */
  readonly heldBytesInterval: number;
  /** Milliseconds between two checks for late heads and requests; Node's default. */
  readonly connectionsCheckingInterval: number;
  /**
   * Milliseconds for a whole HTTP/1.1 request. Node's 300,000 would cut long-running requests with a body. 0 is no limit:
   * `RequestDeadlines` knows which requests have one.
   */
  readonly requestTimeout: number;
}

export const defaultServerLimits: ServerLimits = {
  maxConnections: 0,
  tlsHandshakeTimeout: 10_000,
  maxConcurrentStreams: 100,
  maxSessionRejectedStreams: 100,
  keepAliveTimeout: 90_000,
  headersTimeout: 60_000,
  headerBlockTimeout: 10_000,
  heldBytesInterval: 100,
  connectionsCheckingInterval: 30_000,
  requestTimeout: 0,
};
