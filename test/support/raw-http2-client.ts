import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { RouterServer, RouterServerOptions } from '../../src/node/serving/server.ts';
import { eventually } from './eventually.ts';
import { rawClient } from './node-clients.ts';
import { startServer } from './node-server.ts';
import { frame, frameFlag, frameType, RawHttp2 } from './security/raw-http2.ts';

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** The lines of a GET, or of another method. */
export function requestLines(path = '/', method = 'GET', ...more: string[]): string[] {
  return [':method', method, ':scheme', 'https', ':authority', 'localhost', ':path', path, ...more];
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
): Promise<{ client: RawHttp2; server: RouterServer; port: number }> {
  const { port, server } = await startServer(context, fetch, options);
  return { client: await connectWithFrames(context, port, first), server, port };
}

/** One more client. */
export async function connectWithFrames(
  context: TestContext,
  port: number,
  first: readonly Buffer[] = [preface, frame(frameType.settings, frameFlag.none, 0)],
): Promise<RawHttp2> {
  const client = new RawHttp2(await rawClient(context, port, 'h2'));
  for (const each of first) client.write(each);
  await eventually(() => client.frames.length > 0);
  assert.equal(client.frames[0]?.type, frameType.settings);
  return client;
}
