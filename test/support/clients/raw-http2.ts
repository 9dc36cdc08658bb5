import type { TestContext } from 'node:test';
import { frame, frameFlag, frameType, RawHttp2 } from '../../../packages/http2/test/raw-http2.ts';
import { eventually } from '../eventually.ts';
import { type Client, routerAt } from '../security/certificates.ts';
import { assertNoSecretIn } from '../security/secrets.ts';
import { openSocket } from './tls-client.ts';

export * from '../../../packages/http2/test/raw-http2.ts';

/** Preface and settings are exchanged; destroyed at the end of the test. */
export async function rawHttp2(
  context: TestContext,
  port: number,
  client: Client = 'nobody',
): Promise<RawHttp2> {
  const raw = new RawHttp2(await openSocket(context, routerAt(port, client), 'h2'));
  context.after(() => {
    for (const { payload } of raw.frames) assertNoSecretIn(payload.toString('latin1'), 'a frame');
  });
  raw.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(frameType.settings, frameFlag.none, 0));
  await eventually(() => raw.frames.length > 0);
  return raw;
}
