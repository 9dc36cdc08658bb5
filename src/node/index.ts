/** What a Node program needs in addition to the core: the server, the transport over mTLS, upgrades, HTTP/2, the file store. */

export { Http2Pool, type Http2PoolOptions } from '../../packages/http2/client/http2-pool.ts';
export {
  type Http2Bindings,
  type Http2Server,
  type Http2ServerOptions,
  serveHttp2,
} from '../../packages/http2/server/fetch-adapter.ts';
export type { Http2ServerLimits } from '../../packages/http2/server/server-session.ts';
export type { IncomingStream } from '../../packages/http2/server/server-stream.ts';
export {
  type ClientAuthorities,
  ClientCertificateReader,
  clientCertificateTlsOptions,
  readClientAuthorities,
} from './callers/client-certificate.ts';
export type { RunningRouter, ServeConfig } from './configuration/serve-config.ts';
export { NodeTransport, type NodeTransportOptions } from './destinations/node-transport.ts';
export type { TransportCredentials } from './destinations/tls-dialer.ts';
export { type NodeBindings, NodeInboundRequest, nodeInbound } from './exchange/node-inbound.ts';
export { createFileSnapshotStore } from './files/file-snapshot-store.ts';
export { startRouter } from './process/start-router.ts';
export { createRouterServer, type RouterServer, type RouterServerOptions } from './serving/server.ts';
export { type UpgradeListener, type UpgradeOptions, upgradeListener } from './upgrades/upgrade.ts';
