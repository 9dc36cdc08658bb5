import type { AssertionKeySet } from '../../identity/assertion/assertion-keys.ts';
import type { FoundSetting } from '../../own-paths/status/status-sources.ts';
import type { IdentityHeaderNames } from '../../request/headers.ts';
import type { ServerBookOptions } from '../../servers/server-book.ts';
import type { AdvertisedBy } from '../../snapshot/addresses/addresses.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import type { RouterSettings } from './router-settings.ts';

/** A PEM file as it was read at start; the path is kept so that the file can be read again when it changes. */
export interface PemFile {
  readonly path: string;
  readonly pem: string;
}

export interface CertificatePair {
  readonly certificate: PemFile;
  readonly privateKey: PemFile;
}

/** Request-header authentication: whose word about the caller counts, and in which headers it stands. */
export interface RequestHeaderConfig {
  readonly clientCa: PemFile;
  /** Common names of front proxies. None: every certificate of the CA (the flag was set to blank). */
  readonly allowedNames: readonly string[];
}

/** The address peers should use for this router, and which setting it came from. */
export interface AdvertisedAddress {
  readonly host: string;
  /** 0 when the serving port is chosen by the system at start. */
  readonly port: number;
  readonly source: AdvertisedBy;
}

export interface TlsParameters {
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
}

export type Listening = Pick<RouterSettings['serving'], 'bindAddress' | 'port'>;

/** Where a cluster is, and as whom to read it. */
export type ClusterAccessOptions =
  /** A kubeconfig file. `context`: instead of its current one. `text`: its content, if it has been read. */
  | {
      readonly kubeconfig: string;
      readonly context?: string | undefined;
      readonly text?: string | undefined;
    }
  /** The service account of the pod. */
  | { readonly inCluster: true };

/** How the health of the API servers is found out. All but the interval is a constant (docs/reference/limits.md). */
export interface HealthConfig extends Omit<ServerBookOptions, 'monotonic'> {
  /** Milliseconds between two probes of a healthy server. */
  readonly interval: number;
  /** Milliseconds that one probe may take. */
  readonly timeout: number;
}

/** Everything `serve` was told, checked and read. Plain data; made only by `routerConfig`. */
export interface ServeConfig {
  /** As it was told: what needs no reading is used as it stands here. */
  readonly settings: RouterSettings;
  /**
   * ID of the local API server, as it stands in the snapshot; `undefined` in the gateway form, as `local` is, and where the
   * cluster is to tell it.
   */
  readonly serverId: string | undefined;
  /** The feature gate UnknownVersionInteroperabilityProxy. Off: plain pass-through to the local server. */
  readonly featureGateEnabled: boolean;
  readonly local:
    | {
        readonly origin: string;
        readonly serverName: string;
        readonly ca: PemFile;
      }
    | undefined;
  readonly health: HealthConfig | undefined;
  readonly advertisedAddress: AdvertisedAddress | undefined;
  readonly serving: CertificatePair;
  /** With host names, also `*.example.com`; without any: those of the certificate. */
  readonly namedServing: readonly (CertificatePair & { readonly names: readonly string[] })[];
  readonly tls: TlsParameters;
  readonly peerCa: PemFile | undefined;
  /**
   * The front-proxy pair; `undefined` only where no destination is told who calls: with the gate off, and in a gateway
   * whose callers have tokens.
   */
  readonly proxyClient: CertificatePair | undefined;
  readonly clientCa: PemFile | undefined;
  readonly requestHeader: RequestHeaderConfig | undefined;
  readonly identityHeaderNames: IdentityHeaderNames;
  /** Public keys of edge routers whose assertions are believed; `undefined`: no one's. */
  readonly assertionKeys: AssertionKeySet | undefined;
  /** Public keys that snapshots must be signed with; `undefined` only with the gate off and with `embeddedSync`. */
  readonly snapshotKeys: PinnedKeySet | undefined;
  /** `undefined`: snapshots are pushed. */
  readonly embeddedSync: ClusterAccessOptions | undefined;
  /** Milliseconds. */
  readonly timeouts: {
    /** Until the response to a read begins that another server could be asked for: 45 s, or three quarters of `--request-timeout`. */
    readonly responseHeader: number;
    /** For the TLS handshake with a server, and with a client: a constant. */
    readonly tlsHandshake: number;
  };
  /** The files of credentials, by the flags that name them, as they were read: they are taken into use when they change. */
  readonly credentialFiles: readonly {
    readonly name: string;
    readonly path: string;
    readonly text: string;
  }[];
  /** The version of this program. */
  readonly version: string;
  readonly found: readonly FoundSetting[];
}

export interface RunningRouter {
  /** Looks at every watched file at once and takes changed ones into use. Never rejects: errors are logged. */
  reload(): Promise<void>;
  readonly origin: string;
  /** `http://host:port` of the admin address; `undefined` without one. */
  readonly adminOrigin?: string | undefined;
  /** Ends as its settings say: not ready, drained, closed. Resolves when that is done. */
  shutdown(): Promise<void>;
  /**
   * Takes no new requests, lets those in flight end, then closes.
   * @param graceMilliseconds after which what is still open (watches, tunnels) is cut. Default 10,000.
   */
  close(graceMilliseconds?: number): Promise<void>;
}
