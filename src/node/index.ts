/** Exports for Node in addition to the core: the server, the transport over mTLS, upgrades, HTTP/2, the file store. */

export {
  type Http2Bindings,
  Http2Pool,
  type Http2PoolOptions,
  type Http2Server,
  type Http2ServerLimits,
  type Http2ServerOptions,
  type IncomingStream,
  MemoryBudget,
  serveHttp2,
} from '../../packages/http2/index.ts';
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
