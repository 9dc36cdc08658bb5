/** Exports for a program that serves or asks over HTTP/2 (README.md). */

export { Http2Error } from './client/client-session.ts';
export type { ClientRequest } from './client/client-stream.ts';
export type { RequestListener } from './client/dispatched-request.ts';
export { Http2Pool, type Http2PoolOptions } from './client/http2-pool.ts';
export {
  type Http2Bindings,
  type Http2Server,
  type Http2ServerOptions,
  serveHttp2,
} from './server/fetch-adapter.ts';
export type { Http2ServerLimits } from './server/server-session.ts';
export type { IncomingStream } from './server/server-stream.ts';
export { MemoryBudget } from './sockets/held-bytes.ts';
