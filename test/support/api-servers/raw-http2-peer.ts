import type { TestContext } from 'node:test';
import {
  type RawHttp2Server as PlainServer,
  type RawHttp2ServerOptions,
  startRawHttp2Server as startServer,
} from '../../../packages/http2/test/raw-http2-peer.ts';
import type { Destination } from '../../../src/request/destination.ts';
import { destinationAt, peerPair } from './node-exchange.ts';

export {
  dataFrame,
  headFrame,
  okFrames,
  type RawHttp2Peer,
  settingsFrame,
} from '../../../packages/http2/test/raw-http2-peer.ts';

export interface RawHttp2Server extends PlainServer {
  readonly destination: Destination;
}

/** A server of frames that is a destination of the router. Stopped at the end of the test. */
export async function startRawHttp2Server(
  context: TestContext,
  options: RawHttp2ServerOptions = {},
): Promise<RawHttp2Server> {
  const tls = { cert: peerPair.chain, key: peerPair.privateKey };
  const server = await startServer(context, { ...options, tls });
  return { ...server, destination: destinationAt(`https://127.0.0.1:${server.port}`) };
}
