/**
 * Further exports for a program that speaks HTTP/1.1 beside HTTP/2, so that both count memory in the same accounts,
 * gather their writes, show requests and responses by the same interfaces, and read header lines alike.
 */

export type { ResponseSource } from './client/client-stream.ts';
export { DispatchedRequest } from './client/dispatched-request.ts';
export type { RequestBody } from './client/http2-pool.ts';
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
export { lightRequest, type ReceivedRequest } from './server/fetch-adapter.ts';
export { defaultHttp2ServerLimits } from './server/server-session.ts';
export type { ResponseWriter, StreamFollower } from './server/server-stream.ts';
export { GatheredWrites, handleInput } from './sockets/gathered-writes.ts';
export type { Account, HeldBytes, Holder, Holding, Relief } from './sockets/held-bytes.ts';
export { connectionBelow, resetConnection } from './sockets/reset-connection.ts';
