import type { Workbench } from '../workbench.ts';

/** How a load generator asks. */
export interface Load {
  readonly protocol: 'http1' | 'http2';
  readonly url: string;
  readonly connections: number;
  /** Requests in flight on each connection: 1 for HTTP/1.1. */
  readonly streams: number;
  /** Seconds; the first ones do not count. */
  readonly warmUp: number;
  readonly seconds: number;
  /** File with the body of a POST; without one it is GET. */
  readonly bodyFile?: string | undefined;
  /** Requests a second over all connections. Without it each connection asks again as soon as it is answered. */
  readonly rate?: number | undefined;
  /** Bytes of an answer's body, where answers are so long that whole ones are too coarse a measure. */
  readonly responseBytes?: number | undefined;
}

/** Figures of a load generator, after its warm-up. */
export interface LoadFigures {
  /** Answers with a 2xx. May be no whole number where it is worked out from the bytes. */
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** Anything but a 2xx. */
  readonly failed: number;
  /** Milliseconds from when a request was due to the end of its answer; only of loads with a rate. */
  readonly latency?: { readonly p50: number; readonly p99: number } | undefined;
}

/** The library by which wrk and h2load present the client certificate, for which they have no option. */
export function clientCertificateEnvironment({
  clientCertificateLibrary,
  certificates,
}: Workbench): Readonly<Record<string, string>> {
  return {
    LD_PRELOAD: clientCertificateLibrary,
    BENCH_CLIENT_CERTIFICATE: certificates.alice.certificate,
    BENCH_CLIENT_KEY: certificates.alice.privateKey,
  };
}
