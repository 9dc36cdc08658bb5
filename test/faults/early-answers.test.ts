import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../../scripts/harness/free-port.ts';
import { eventually } from '../support/eventually.ts';
import { frame, frameFlag, frameType, type RawHttp2, rawHttp2 } from '../support/security/raw-http2.ts';
import { startRouterUnderTest } from '../support/security/router-under-test.ts';

const hasEndStream = ({ frames }: RawHttp2): boolean =>
  frames.some(
    ({ type, flags, stream }) =>
      stream === 1 && type === frameType.data && (flags & frameFlag.endStream) !== 0,
  );
const resetCode = ({ frames }: RawHttp2): number | undefined =>
  frames.find(({ type, stream }) => stream === 1 && type === frameType.rstStream)?.payload.readUInt32BE();

const uploads = {
  'a write whose server is down': ['POST', '/apis/apps/v1/deployments', 503],
  'a snapshot from somebody who may not push one': ['PUT', '/.mixed-version-proxy/v1/snapshot', 403],
} as const;

for (const [what, [method, path, status]] of Object.entries(uploads)) {
  for (const isWhole of [true, false]) {
    test(`${what}, ${isWhole ? 'sent at once' : 'still being sent'}: its answer has an end on HTTP/2`, async (context) => {
      const nobody = await freePort();
      const router = await startRouterUnderTest(context, {
        flags: { 'local-server': [`https://127.0.0.1:${nobody}`] },
      });
      const raw = await rawHttp2(context, router.port, 'alice');
      raw.request(1, [':method', method, ':scheme', 'https', ':authority', 'localhost', ':path', path], {
        endStream: false,
      });
      raw.write(frame(frameType.data, isWhole ? frameFlag.endStream : frameFlag.none, 1, Buffer.from('{}')));
      await eventually(() => raw.isOver || hasEndStream(raw));
      assert.equal((await raw.outcome(1)).status, status);
      if (isWhole) return;
      // RFC 9113 section 8.1: behind the whole answer the client is told to stop sending.
      await eventually(() => resetCode(raw) !== undefined);
      assert.equal(resetCode(raw), 0);
    });
  }
}
