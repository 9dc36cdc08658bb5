import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Http2Server, Http2ServerOptions } from '../server/fetch-adapter.ts';
import { startAdapter } from './adapter.ts';
import { eventually } from './eventually.ts';
import { rawClient } from './node-client.ts';
import { frame, frameFlag, frameType, RawHttp2 } from './raw-http2.ts';

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** The lines of a GET, or of another method. */
export function requestLines(path = '/', method = 'GET', ...more: string[]): string[] {
  return [':method', method, ':scheme', 'https', ':authority', 'localhost', ':path', path, ...more];
}

interface FrameClientOptions {
  /** The first bytes of the connection, each in a TLS record of its own. Default: preface and empty SETTINGS. */
  readonly first?: readonly Buffer[];
  readonly server?: Omit<Http2ServerOptions, 'fetch'>;
}

/** A server that answers by `fetch`, and a client of it that writes frames; both end with the test. */
export async function startWithFrames(
  context: TestContext,
  fetch: Http2ServerOptions['fetch'],
  { first = [preface, frame(frameType.settings, frameFlag.none, 0)], server }: FrameClientOptions = {},
): Promise<{ client: RawHttp2; port: number; http2: Http2Server }> {
  const { port, http2 } = await startAdapter(context, fetch, server);
  return { client: await connectWithFrames(context, port, first), port, http2 };
}

/** One more client. */
export async function connectWithFrames(
  context: TestContext,
  port: number,
  first: readonly Buffer[] = [preface, frame(frameType.settings, frameFlag.none, 0)],
): Promise<RawHttp2> {
  const client = new RawHttp2(await rawClient(context, port));
  for (const each of first) client.write(each);
  await eventually(() => client.frames.length > 0);
  assert.equal(client.frames[0]?.type, frameType.settings);
  return client;
}
