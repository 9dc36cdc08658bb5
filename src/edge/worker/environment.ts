import type { DurableObjectNamespace, Fetcher } from '../platform/bindings.ts';

/**
 * A variable that holds JSON: as text (a secret, `--var`, capnp), or as the value itself where the runtime parses it
 * (`[vars]` in wrangler.toml, capnp `json`).
 */
type JsonVariable = string | boolean | number | object;

/**
 * Variables, secrets and bindings of the Worker, as the runtime hands them over. Checked as a whole by
 * `readConfiguration`: a name in capitals that is not listed here is ignored, since the platform adds its own.
 */
export interface WorkerEnvironment {
  // Where requests go.

  /**
   * API server ID of what stands behind `LOCAL_SERVER`, as in the snapshot.
   * Left out, with `LOCAL_SERVER`, in the gateway form alone.
   */
  readonly SERVER_ID?: string;
  /**
   * `https://name:port` that takes what is local: an API server, or a router in front of one. On Cloudflare a DNS name
   * that its certificate carries, for the platform connects to no bare IP address and checks the name in the URL.
   */
  readonly LOCAL_SERVER?: string;
  /** `true`: the gateway form, in which no server is closer than another. Default `false`. */
  readonly GATEWAY?: JsonVariable;
  /**
   * Binding whose `fetch` presents the front-proxy client certificate: `mtls_certificates`, or on self-hosted workerd
   * a `network` with a key pair. Needed without `ASSERTION_SIGNING_KEY`.
   */
  readonly PEER_MTLS?: Fetcher;
  /**
   * Binding that destinations are reached through without a client certificate: a `network` that trusts a private
   * authority. Default: the global `fetch`.
   */
  readonly DESTINATIONS?: Fetcher;

  // How they are told who calls.

  /**
   * Secret: private JWK (JSON) that assertions are signed with, in place of X-Remote headers. Destinations are routers
   * that have pinned its public half for `ASSERTION_ISSUER`.
   */
  readonly ASSERTION_SIGNING_KEY?: JsonVariable;
  /** Name under which assertions are signed; goes with `ASSERTION_SIGNING_KEY`. */
  readonly ASSERTION_ISSUER?: string;

  // How callers are established. Without any of these every caller's own credentials go on as they came.

  /**
   * `cf`: the client certificate that the platform verified (`request.cf.tlsClientAuth`), CN as user, O as groups.
   * Only where the platform itself fills `request.cf`. Default `none`.
   */
  readonly CLIENT_CERTIFICATES?: string;
  // One issuer of JSON Web Tokens, whose tokens come as bearer tokens or, of a team of Cloudflare Access, in the header
  // `Cf-Access-Jwt-Assertion`. All of the first three or nothing.

  /** The `iss` of its tokens, exactly: `https://<team>.cloudflareaccess.com`, or another issuer. */
  readonly TOKEN_ISSUER?: string;
  /** The `aud` of tokens that are meant for this router. */
  readonly TOKEN_AUDIENCE?: string;
  /**
   * `https://` URL of its keys: `jwks_uri` of its discovery document, or `<team>/cdn-cgi/access/certs`. Its certificate is
   * checked as the runtime's `fetch` does.
   */
  readonly TOKEN_JWKS_URL?: string;
  /** The claim that names the user. Default `sub`. A name or a group under `system:` is refused. */
  readonly TOKEN_USERNAME_CLAIM?: string;
  /** The claim that lists the user's groups. Default: none. */
  readonly TOKEN_GROUPS_CLAIM?: string;
  // What the cluster serves.

  /** Public JWKS (JSON) that snapshots may be signed with. */
  readonly SNAPSHOT_KEYS: JsonVariable;
  /** Sealed snapshot to begin with, given at deployment. */
  readonly SNAPSHOT?: string;
  /**
   * Durable Object namespace of the class `SnapshotObject`, with SQLite storage: where all isolates keep the snapshot.
   * Left out, each keeps its own in memory: for trying out.
   */
  readonly SNAPSHOT_OBJECT?: DurableObjectNamespace;
  /**
   * Which version serves resources that servers of several versions understand differently: `majority`, `newest`,
   * `oldest`, `local`, or a minor version such as `1.36`. Default `majority`.
   */
  readonly PREFERRED_VERSION?: string;
  /** JSON array of CIDR blocks that IP addresses in a snapshot must lie in. */
  readonly PEER_CIDRS?: JsonVariable;
  /** JSON array: the only ports that may be dialled. */
  readonly PEER_PORTS?: JsonVariable;
  /** `true`: addresses of this machine count too, for self-hosted workerd on a control-plane node. Default `false`. */
  readonly ALLOW_LOOPBACK_PEERS?: JsonVariable;

  /** Log lines down to this level: `debug`, `info`, `warn`, `error` or `none`. Default `info`. */
  readonly LOG_LEVEL?: string;
}
