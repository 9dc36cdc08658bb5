import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import {
  type AuthenticationOptions,
  type ExampleUser,
  makeAuthenticate,
  type UserOfToken,
} from './authentication.ts';
import { apiServerId, holdIdentityLease, registerApiServices } from './cluster.ts';
import { type HttpOptions, type RequestRecord, serve } from './http-server.ts';
import { serveUpgrade } from './http-upgrade.ts';
import { type KubernetesVersionName, kubernetesVersions } from './kubernetes-versions.ts';
import type { ServerContext } from './resource-request.ts';
import type { SpecFields } from './served-resources.ts';
import { ServedResources } from './served-resources.ts';
import type { ExampleStore } from './store.ts';

export type { ExampleUser } from './authentication.ts';
export { apiServerId } from './cluster.ts';
export type { RequestRecord } from './http-server.ts';
export type { KubernetesVersionName } from './kubernetes-versions.ts';
export { ExampleStore, type StoreOptions } from './store.ts';

export interface ExampleApiServerOptions extends AuthenticationOptions {
  readonly version: KubernetesVersionName;
  /** For people: what logs and exec output call this server. */
  readonly name: string;
  /** Shared by all servers of one cluster. */
  readonly store: ExampleStore;
  /** Bearer tokens and whose they are. */
  readonly tokens?: ReadonlyMap<string, ExampleUser>;
  /** PEM. */
  readonly tls: { readonly cert: string; readonly key: string };
  /** Default 127.0.0.1. */
  readonly address?: string;
  /** Default: any free one. */
  readonly port?: number;
  /** Text that the server ID is made from; must differ between servers. Default: `name`. */
  readonly hostname?: string;
  /** True if the server writes an identity Lease: servers before 1.26 do not unless told to. Default true. */
  readonly hasIdentityLease?: boolean;
  /** `host:port` in the identity Lease. Default: where the server listens. */
  readonly advertiseAddress?: string;
  /** As with --runtime-config=<group version>=false: `['batch/v1']`. */
  readonly disabledGroupVersions?: readonly string[];
  /** As with --runtime-config=<group version>=true, for those that are off by default. */
  readonly enabledGroupVersions?: readonly string[];
  /**
   * Fields of `spec` that only this server knows, by group version and kind: `{ 'autoscaling/v2/HorizontalPodAutoscaler':
   * ['tolerance'] }`. Told in OpenAPI; what is in `spec` is stored as it comes, here and elsewhere.
   */
  readonly addedFields?: SpecFields;
  /**
   * Fields of `spec` that servers of later versions know and this one does not: missing from what it reads and from
   * what is written through it, as kube-apiserver drops what it cannot decode.
   */
  readonly unknownFields?: SpecFields;
  /** Default 10,000; kube-apiserver sends one about every minute. */
  readonly bookmarkIntervalMilliseconds?: number;
  /** Told of every request before it is answered. */
  readonly onRequest?: (record: RequestRecord) => void;
  /** Stands in front of the server's own handling, as a filter of its handler chain. Upgrades pass it by. */
  readonly filter?: RequestFilter;
}

/** Answers a request itself, or has the server handle it by calling `next`. */
export type RequestFilter = (
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  next: () => void,
) => void;

export interface ExampleApiServer {
  /** `https://host:port` */
  readonly url: string;
  readonly address: string;
  readonly port: number;
  readonly name: string;
  /** Name of the identity Lease. */
  readonly serverId: string;
  readonly version: KubernetesVersionName;
  /**
   * Turns a group version on or off while the server runs, as an upgrade or a restart with other flags would.
   * @throws {Error} when this version of Kubernetes does not know the group version
   */
  setGroupVersion(groupVersion: string, on: boolean): void;
  /** Ends every stream and connection and removes the identity Lease. */
  close(): Promise<void>;
}

/**
 * Starts an API server that serves what a version of Kubernetes serves, over HTTPS with HTTP/2 and HTTP/1.1, from
 * a store that other servers share. For trying and testing: nothing runs behind it, no controllers, no kubelets,
 * no admission, and CustomResourceDefinitions are stored but not served.
 *
 * @throws {Error} when the port is taken, the certificate unusable, or a disabled group version unknown
 */
export async function startExampleApiServer(options: ExampleApiServerOptions): Promise<ExampleApiServer> {
  const { store, name, address = '127.0.0.1', port = 0, hostname = name } = options;
  const version = kubernetesVersions[options.version];
  const { disabledGroupVersions = [], enabledGroupVersions = [] } = options;
  const off = version.offByDefault.filter((groupVersion) => !enabledGroupVersions.includes(groupVersion));
  const served = new ServedResources(
    version.table,
    [...off, ...disabledGroupVersions],
    options.unknownFields,
  );
  const server = createServer(options);
  const listening = await listen(server, address, port);
  const authority = `${address.includes(':') ? `[${address}]` : address}:${listening.port}`;
  const stopping = new AbortController();
  const bookmarkIntervalMilliseconds = options.bookmarkIntervalMilliseconds ?? 10_000;
  const userOfToken: UserOfToken = (token) => options.tokens?.get(token);
  const context: ServerContext = {
    name,
    version,
    served,
    store,
    address: authority,
    userOfToken,
    bookmarkIntervalMilliseconds,
    addedFields: options.addedFields ?? {},
    stopping: stopping.signal,
  };
  const http: HttpOptions = {
    context,
    authenticate: makeAuthenticate(options, userOfToken),
    onRequest: options.onRequest,
  };
  const { filter = (_request, _response, next) => next() } = options;
  server.on('request', (request, response) =>
    filter(request, response, () => void serve(http, request, response)),
  );
  server.on('upgrade', (request, socket, head) => serveUpgrade(http, request, socket, head));

  const serverId = apiServerId(hostname);
  registerApiServices(store, served);
  const advertiseAddress = options.advertiseAddress ?? authority;
  const { hasIdentityLease = true } = options;
  const releaseLease = hasIdentityLease
    ? holdIdentityLease(store, { serverId, hostname, advertiseAddress, version })
    : () => {};
  const disconnect = connectionsOf(server);
  return {
    url: `https://${authority}`,
    address,
    port: listening.port,
    name,
    serverId,
    version: options.version,
    setGroupVersion: (groupVersion, on) => {
      served.setGroupVersion(groupVersion, on);
      registerApiServices(store, served);
    },
    close: async () => {
      releaseLease();
      stopping.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      disconnect();
      await closed;
    },
  };
}

/** How long a connection is kept that nobody uses. */
const idleMilliseconds = 90_000;

function createServer({ tls, clientCa, requestHeaderCa }: ExampleApiServerOptions): Http2SecureServer {
  const authorities = [clientCa, requestHeaderCa].filter((pem) => pem !== undefined);
  const server = createSecureServer({
    ...tls,
    allowHTTP1: true,
    // Asked for but not demanded: whoever has none may still bring a token, or stay anonymous.
    requestCert: true,
    rejectUnauthorized: false,
    // Never the public authorities Node would fall back to: their certificates mean nothing here.
    ca: authorities,
  });
  // As kube-apiserver (k8s.io/apiserver pkg/server/secure_serving.go, `IdleTimeout`). After Node's five seconds whoever asks every
  // five seconds had to connect anew each time.
  return Object.assign(server, { keepAliveTimeout: idleMilliseconds });
}

function listen(server: Http2SecureServer, address: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.off('error', reject);
      resolve(server.address() as AddressInfo);
    });
  });
}

/** How long a connection may take to send what was written before the server stopped. */
const closeGraceMilliseconds = 1000;

/** Follows the connections of a server; the returned function ends them once what was written has left. */
function connectionsOf(server: Http2SecureServer): () => void {
  const secure = new Map<string, Socket>();
  const plain = new Map<string, Socket>();
  const follow = (sockets: Map<string, Socket>, socket: Socket): void => {
    const key = `${socket.remoteAddress} ${socket.remotePort}`;
    sockets.set(key, socket);
    socket.once('close', () => sockets.delete(key));
  };
  server.on('connection', (socket) => follow(plain, socket));
  server.on('secureConnection', (socket) => follow(secure, socket));
  return () => {
    for (const socket of secure.values()) {
      setImmediate(() => socket.destroySoon());
      // A peer that does not read would hold the server open.
      setTimeout(() => socket.destroy(), closeGraceMilliseconds).unref();
    }
    // Sockets whose handshake never ended would keep the server open.
    for (const [key, socket] of plain) if (!secure.has(key)) socket.destroy();
  };
}
