/**
 * Header lines of one message. A user in 1,000 groups has to get through; Node allows 128 lines on HTTP/2
 * (measured: 124 X-Remote-Group lines pass, 128 end the stream with ENHANCE_YOUR_CALM) and 1,000 on HTTP/1.1.
 */
export const maximumHeaderLines = 4_096;

/**
 * Bytes of one message's header lines. Node allows 16 KiB, too little for 1,000 groups (measured: 400 at
 * 1,000 of them, 431 at 1,990); Go's servers, kube-apiserver among them, allow 1 MiB.
 */
export const maximumHeaderBytes = 1024 * 1024;

/**
 * The same before anybody has shown a certificate that was verified: a user in 1,000 groups comes through a front proxy,
 * which has one. Tokens take some KiB; Node's own servers take 16 KiB, Go's 1 MiB.
 */
const maximumAnonymousHeaderBytes = 64 * 1024;

export function maximumHeaderBytesOf(isVerified: boolean): number {
  return isVerified ? maximumHeaderBytes : maximumAnonymousHeaderBytes;
}

/** Bytes that may be sent ahead on one HTTP/2 stream, as kube-apiserver grants (kubernetes#67902). */
export const streamWindow = 256 * 1024;

/** What one client may ask of the server. */
export interface ServerLimits {
  /** Connections that are open at a time; one more is closed as it comes. 0 is no limit. */
  readonly maxConnections: number;
  /** Milliseconds for a client's TLS handshake. Node's 120,000 let whoever says nothing hold a socket for long. */
  readonly tlsHandshakeTimeout: number;
  /**
   * Concurrent HTTP/2 streams of one connection. Node: 2³²−1; kube-apiserver: 100 since the rapid reset attack
   * (CVE-2023-44487).
   */
  readonly maxConcurrentStreams: number;
  /** Refused streams after which a connection ends; Node's own figure, set so that it cannot drift. */
  readonly maxSessionRejectedStreams: number;
  /**
   * Milliseconds an idle connection is kept. Node's 5,000 are less than load balancers keep theirs (often 60 s),
   * so that requests run into a connection that is being closed; kube-apiserver has 90 s.
   */
  readonly keepAliveTimeout: number;
  /** Milliseconds within which the head of an HTTP/1.1 request must be there. */
  readonly headersTimeout: number;
  /** Milliseconds within which an HTTP/2 head that has begun must be there, or a frame. */
  readonly headerBlockTimeout: number;
  /**
   * Bytes that heads that are not whole may take, on all connections of clients without a verified certificate together,
   * for HTTP/2 and for HTTP/1.1 each; over HTTP/2 as many on those of clients with one.
   */
  readonly maximumUnfinishedHeads: number;
  /** Milliseconds between two looks at what unfinished HTTP/1.1 heads take. */
  readonly unfinishedHeadsInterval: number;
  /** Milliseconds between two looks for heads and requests that are late; Node's own figure. */
  readonly connectionsCheckingInterval: number;
  /**
   * Milliseconds for a whole HTTP/1.1 request. Node's 300,000 would cut long-running requests with a body; 0 is no
   * limit, for `RequestDeadlines` knows which requests are to have one.
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
  maximumUnfinishedHeads: 32 * 1024 * 1024,
  unfinishedHeadsInterval: 500,
  connectionsCheckingInterval: 30_000,
  requestTimeout: 0,
};
