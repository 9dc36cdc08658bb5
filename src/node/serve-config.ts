import type { AssertionKeySet } from '../identity/assertion/assertion-keys.ts';
import type { IdentityHeaderNames } from '../identity/identity-header-names.ts';
import type { IdentityMode } from '../identity/identity-token.ts';
import type { ExternalIssuerConfig } from '../identity/jwt/parse-configuration.ts';
import type { StalePolicy } from '../proxy/decision.ts';
import type { AddressPolicyOptions } from '../snapshot/address-policy.ts';
import type { PinnedKeySet } from '../snapshot/keys.ts';
import type { LoadedSigningKey } from '../snapshot/signing-key.ts';

/** A PEM file as it was read at start; the path is kept so that the file can be read again when it changes. */
export interface PemFile {
  readonly path: string;
  readonly pem: string;
}

/** A certificate (with its chain) and the private key that belongs to it. */
export interface CertificatePair {
  readonly certificate: PemFile;
  readonly privateKey: PemFile;
}

/** Request-header authentication: whose word about the caller counts, and in which headers it stands. */
export interface RequestHeaderConfig {
  readonly clientCa: PemFile;
  /** Common names of front proxies. `any`: every certificate of the CA (the flag was set to blank). */
  readonly allowedNames: readonly string[] | 'any';
}

/** How destinations are told who calls, and which other routers are believed about it. */
export interface DestinationIdentityConfig {
  readonly local: IdentityMode;
  readonly peer: IdentityMode;
  /** What tokens are signed with; `undefined` where both modes are `front-proxy`. */
  readonly signingKey: { readonly path: string; readonly loaded: LoadedSigningKey } | undefined;
  /** `iss` of this router's own assertions. */
  readonly assertionIssuer: string;
  /** Public keys of other routers, each for one issuer; without them no assertion is believed. */
  readonly assertionKeys: { readonly path: string; readonly pinned: AssertionKeySet } | undefined;
  /** `undefined` where no mode is `oidc-token`. */
  readonly oidc: { readonly issuerUrl: string; readonly audience: string } | undefined;
}

/** Whose tokens establish callers here. */
export interface JwtConfig {
  /** Those of `--authentication-config`. */
  readonly issuers: readonly ExternalIssuerConfig[];
  /** The cluster's own; `undefined` unless an operator has said so. */
  readonly serviceAccounts:
    | {
        readonly issuers: readonly string[];
        /** Paths; read again when keys are renewed. */
        readonly keyFiles: readonly string[];
        readonly apiAudiences: readonly string[];
      }
    | undefined;
}

/** The address peers should use for this router, and which setting it came from. */
export interface AdvertisedAddress {
  /** An IP address, IPv6 without brackets. */
  readonly host: string;
  /** 0 when the serving port is chosen by the system at start. */
  readonly port: number;
  readonly source: 'peer-advertise-ip' | 'advertise-address' | 'bind-address' | 'default-interface';
}

export interface LoggingConfig {
  readonly format: 'text' | 'json';
  /** As kube-apiserver's `-v`: 4 and more shows debug lines. */
  readonly verbosity: number;
}

/** Everything `serve` was told, checked and read. Plain data; made only by `validateServeOptions`. */
export interface ServeConfig {
  /** ID of the local API server, as it stands in the snapshot. */
  readonly serverId: string;
  /** The feature gate UnknownVersionInteroperabilityProxy. Off: plain pass-through to the local server. */
  readonly featureGateEnabled: boolean;
  readonly local: {
    /** `https://host:port`. */
    readonly origin: string;
    /** The name its serving certificate must carry. */
    readonly serverName: string;
    readonly ca: PemFile;
  };
  /** An IP address; `0.0.0.0` and `::` are all interfaces. */
  readonly bindAddress: string;
  /** 0: any free port. */
  readonly securePort: number;
  readonly advertisedAddress: AdvertisedAddress | undefined;
  readonly serving: CertificatePair;
  /** What peers' serving certificates are checked against; `undefined` with the gate off. */
  readonly peerCa: PemFile | undefined;
  /**
   * The front-proxy pair; `undefined` only where no destination is told by X-Remote headers who calls: by tokens
   * instead, or, with the gate off, not at all.
   */
  readonly proxyClient: CertificatePair | undefined;
  readonly clientCa: PemFile | undefined;
  readonly requestHeader: RequestHeaderConfig | undefined;
  readonly jwt: JwtConfig;
  readonly identityHeaderNames: IdentityHeaderNames;
  readonly destinationIdentity: DestinationIdentityConfig;
  /** Who may use `/.mixed-version-proxy/`. */
  readonly allowedGroups: readonly string[];
  readonly allowedUsers: readonly string[];
  readonly snapshot: {
    /** Where the last good snapshot is kept, as it was signed, and read from at start. */
    readonly file: string | undefined;
    /** Public keys that snapshots must be signed with; `undefined` only with the gate off. */
    readonly keys:
      | { readonly path: string; readonly text: string; readonly pinned: PinnedKeySet }
      | undefined;
    readonly stalePolicy: StalePolicy;
  };
  readonly extensionRouting: 'local' | 'extension';
  /** Which of the addresses in a snapshot may be called. */
  readonly peerAddresses: AddressPolicyOptions;
  /** Milliseconds between two looks at the files named above, for changes. */
  readonly fileCheckInterval: number;
  readonly logging: LoggingConfig;
}

/** A running router. */
export interface RunningRouter {
  /** Looks at every watched file at once and takes changed ones into use. Never rejects: faults are logged. */
  reload(): Promise<void>;
  /** `https://host:port` it listens on. */
  readonly origin: string;
  /**
   * Takes no new requests, lets those in flight end, then closes.
   * @param graceMilliseconds after which what is still open (watches, tunnels) is cut. Default 10,000.
   */
  close(graceMilliseconds?: number): Promise<void>;
}
