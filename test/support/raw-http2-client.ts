import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { RouterServer, RouterServerOptions } from '../../src/node/serving/server.ts';
import { eventually } from './eventually.ts';
import { rawClient } from './node-clients.ts';
import { startServer } from './node-server.ts';
import { uint32 } from './raw-http2-peer.ts';
import { type Frame, frame, frameFlag, frameType, RawHttp2 } from './security/raw-http2.ts';

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** The lines of a GET, or of another method. */
export function requestLines(path = '/', method = 'GET', ...more: string[]): string[] {
  return [':method', method, ':scheme', 'https', ':authority', 'localhost', ':path', path, ...more];
}

/** A client that writes frames by hand, and what the router said to it. */
export class FrameClient extends RawHttp2 {
  #pings = 0;

  /** Received ones of this type, of one stream or of all. */
  of(type: number, stream?: number): Frame[] {
    return this.frames.filter((each) => each.type === type && (stream ?? each.stream) === each.stream);
  }

  /** Bytes of content that came on a stream. */
  received(stream: number): number {
    return this.of(frameType.data, stream).reduce((sum, { payload }) => sum + payload.length, 0);
  }

  /** Until the router has dealt with all that was written, and its answers are here. */
  async settled(): Promise<void> {
    const payload = uint32(0x7e57, ++this.#pings);
    this.write(frame(frameType.ping, frameFlag.none, 0, payload));
    await eventually(() =>
      this.of(frameType.ping).some((each) => each.flags === frameFlag.ack && each.payload.equals(payload)),
    );
  }

  /** The error code of the GOAWAY, once it is here. */
  async goAwayCode(): Promise<number | undefined> {
    await eventually(() => this.of(frameType.goAway).length > 0);
    return this.of(frameType.goAway)[0]?.payload.readUInt32BE(4);
  }

  /**
   * The error code that the connection ended with. `undefined` where the client began to read so late that the
   * router had given it up, and the GOAWAY was lost with the connection.
   */
  async endedWith(): Promise<number | undefined> {
    await eventually(() => this.isOver);
    return this.of(frameType.goAway)[0]?.payload.readUInt32BE(4);
  }

  /** The error code of a stream's RST_STREAM, once it is here. */
  async resetCode(stream: number): Promise<number | undefined> {
    await eventually(() => this.of(frameType.rstStream, stream).length > 0);
    return this.of(frameType.rstStream, stream)[0]?.payload.readUInt32BE(0);
  }

  /** Whether END_STREAM came on it. */
  hasEnded(stream: number): boolean {
    return this.of(frameType.data, stream).some(({ flags }) => (flags & frameFlag.endStream) !== 0);
  }

  /** RFC 9113 section 6.9. */
  widen(stream: number, increment: number): void {
    this.write(frame(frameType.windowUpdate, frameFlag.none, stream, uint32(increment)));
  }

  data(stream: number, content: string | Buffer, flags: number = frameFlag.none): void {
    this.write(frame(frameType.data, flags, stream, Buffer.from(content)));
  }
}

interface FrameClientOptions {
  /** What the connection begins with, each in a TLS record of its own. Default: preface and empty SETTINGS. */
  readonly first?: readonly Buffer[];
  readonly server?: Partial<RouterServerOptions>;
}

/** A server that answers by `fetch`, and a client of it that writes frames; both end with the test. */
export async function startWithFrames(
  context: TestContext,
  fetch: RouterServerOptions['fetch'],
  {
    first = [preface, frame(frameType.settings, frameFlag.none, 0)],
    server: options,
  }: FrameClientOptions = {},
): Promise<{ client: FrameClient; server: RouterServer; port: number }> {
  const { port, server } = await startServer(context, fetch, options);
  return { client: await connectWithFrames(context, port, first), server, port };
}

/** One more client. */
export async function connectWithFrames(
  context: TestContext,
  port: number,
  first: readonly Buffer[] = [preface, frame(frameType.settings, frameFlag.none, 0)],
): Promise<FrameClient> {
  const client = new FrameClient(await rawClient(context, port, 'h2'));
  for (const each of first) client.write(each);
  await eventually(() => client.frames.length > 0);
  assert.equal(client.frames[0]?.type, frameType.settings);
  return client;
}
