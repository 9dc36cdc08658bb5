/** A router on an edge runtime, listening on loopback. */
export interface RunningEdge {
  /** `https://127.0.0.1:port`. */
  readonly origin: string;
  /** Of its process. */
  readonly pid: number;
  /** Output of the process so far, for failure messages. */
  output(): string;
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** Ends the process and resolves once it is gone. What it stored stays. */
  close(): Promise<void>;
}

/** A certificate chain and its private key, both PEM. */
export interface PemPair {
  readonly certificate: string;
  readonly privateKey: string;
}

/** The TLS side of a router on an edge runtime, all of it PEM text. */
export interface EdgeTls {
  /** Presented to clients. */
  readonly serving: PemPair;
  /** Only clients with a certificate under these authorities may connect. Left out: everybody may. */
  readonly clientAuthorities?: string | undefined;
  /** Authorities of the destinations' serving certificates. */
  readonly destinationAuthorities: string;
  /** Presented to destinations, with X-Remote headers alone. Left out: none, identity by signed tokens. */
  readonly frontProxyClient?: PemPair | undefined;
}

/** Options that a router on an edge runtime is started with. */
export interface StartEdgeOptions {
  /** For its configuration, keys and stored snapshot; must exist. A later start finds the snapshot there. */
  readonly directory: string;
  readonly tls: EdgeTls;
  /** Variables and secrets, under the names in docs/guides/edge.md. */
  readonly environment: Readonly<Record<string, string>>;
  /** Default: a free one. */
  readonly port?: number | undefined;
}
