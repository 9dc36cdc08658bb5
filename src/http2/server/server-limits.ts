/** What one client, and all of them together, may ask of the server. */
export interface Http2ServerLimits {
  /** Requests under way at a time on one connection. Default 100, as Go's servers have it since CVE-2023-44487. */
  readonly maxConcurrentStreams: number;
  /** Requests beyond it that are refused, at once (one more is forgotten each second), before the connection ends. Default 100. */
  readonly maxSessionRejectedStreams: number;
  /** Bytes of content that a client may send ahead of its reader, for each request. Default 256 KiB. */
  readonly streamWindow: number;
  /** Header lines of one request. Default 4,096. */
  readonly maximumHeaderLines: number;
  /** Bytes of the header lines of one request, each with 32 more (RFC 9113 section 6.5.2). Default 64 KiB. */
  readonly maximumHeaderBytes: number;
  /** The same of clients that have shown a certificate that was verified. Default 1 MiB, as Go's servers. */
  readonly maximumVerifiedHeaderBytes: number;
  /** Milliseconds within which a head that has begun must be there, or a frame. Default 10,000. */
  readonly headerBlockTimeout: number;
  /**
   * Bytes that heads that are not whole may take, on all connections of verified clients together, and as many on those of
   * all others. Default 32 MiB.
   */
  readonly maximumUnfinishedHeads: number;
  /** Milliseconds, or up to a quarter more, that a connection without a request is kept. Default 90,000. */
  readonly keepAliveTimeout: number;
}

export const defaultHttp2ServerLimits: Http2ServerLimits = {
  maxConcurrentStreams: 100,
  maxSessionRejectedStreams: 100,
  streamWindow: 256 * 1024,
  maximumHeaderLines: 4_096,
  maximumHeaderBytes: 64 * 1024,
  maximumVerifiedHeaderBytes: 1024 * 1024,
  headerBlockTimeout: 10_000,
  maximumUnfinishedHeads: 32 * 1024 * 1024,
  keepAliveTimeout: 90_000,
};
