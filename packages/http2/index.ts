/** The public face of the package: what a program around it uses (README.md). */

export { Http2Error, RequestHeadTooLargeError } from './client/client-session.ts';
export type { ClientRequest, ResponseSource, StreamListener } from './client/client-stream.ts';
export { DispatchedRequest, type RequestListener } from './client/dispatched-request.ts';
export { Http2Pool, type Http2PoolOptions, type RequestBody } from './client/http2-pool.ts';
export {
  connectionSpecific,
  contentLengthValue,
  hasContent,
  headMemory,
  linesForLogs,
  mayHaveLength,
  requestLines,
} from './fields/header-fields.ts';
export { networkOf } from './server/client-budgets.ts';
export {
  type Http2Bindings,
  type Http2Server,
  type Http2ServerOptions,
  lightRequest,
  type ReceivedRequest,
  serveHttp2,
} from './server/fetch-adapter.ts';
export { defaultHttp2ServerLimits, type Http2ServerLimits } from './server/server-session.ts';
export type { IncomingStream, ResponseWriter, StreamFollower } from './server/server-stream.ts';
export { GatheredWrites, handleInput } from './sockets/gathered-writes.ts';
export {
  type Account,
  type HeldBytes,
  type Holder,
  type Holding,
  MemoryBudget,
  type Relief,
} from './sockets/held-bytes.ts';
