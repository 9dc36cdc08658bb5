/** What a Node program needs beside the core: the server, the transport over mTLS, upgrades, HTTP/2, the file store. */

export { Http2Pool, type Http2PoolOptions } from '../http2/client/http2-pool.ts';
export {
  type Http2Bindings,
  type Http2Server,
  type Http2ServerOptions,
  serveHttp2,
} from '../http2/server/fetch-adapter.ts';
export type { IncomingStream } from '../http2/server/incoming-stream.ts';
export type { Http2ServerLimits } from '../http2/server/server-limits.ts';
export { type ClientAuthorities, readClientAuthorities } from './client-authorities.ts';
export { ClientCertificateReader, clientCertificateTlsOptions } from './client-certificate.ts';
export type { DispatcherFor } from './destination-dispatchers.ts';
export { createFileSnapshotStore } from './file-snapshot-store.ts';
export { type NodeBindings, NodeInboundRequest, nodeInbound } from './node-inbound.ts';
export {
  NodeTransport,
  /** @deprecated Called `NodeTransport` now. */
  NodeTransport as UndiciTransport,
  type NodeTransportOptions,
  /** @deprecated Called `NodeTransportOptions` now. */
  type NodeTransportOptions as UndiciTransportOptions,
} from './node-transport.ts';
export { CredentialWatch } from './reload/credential-watch.ts';
export type { FileGroup, WatchedFile } from './reload/file-group.ts';
export type { RunningRouter, ServeConfig } from './serve-config.ts';
export { createRouterServer, type RouterServer, type RouterServerOptions } from './server.ts';
export { startRouter } from './start-router.ts';
export type { TransportCredentials } from './tls-dialer.ts';
export { type UpgradeListener, type UpgradeOptions, upgradeListener } from './upgrade.ts';
