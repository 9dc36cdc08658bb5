import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { memoryForOthers } from '../../src/node/exchange/serving-limits.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import { ask } from '../support/clients/ask.ts';
import { rawHttp1 } from '../support/clients/raw-http1.ts';
import { frame, frameType, rawHttp2 } from '../support/clients/raw-http2.ts';
import { eventually } from '../support/eventually.ts';
import {
  clusterSnapshot,
  type RouterUnderTest,
  snapshotKey,
  startRouterUnderTest,
} from '../support/routers/router-under-test.ts';

const path = '/.mixed-version-proxy/v1/snapshot';
const mebibyte = 1024 * 1024;
const longest = 11 * mebibyte;
const beginning = `PUT ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${longest}\r\n\r\n`;

/** No server says who may push: the signature alone decides. */
async function startInOutage(context: TestContext): Promise<RouterUnderTest> {
  const router = await startRouterUnderTest(context, { snapshot: () => undefined });
  await router.local.stop();
  return router;
}

const headerOf = (jws: string): string => jws.slice(0, jws.indexOf('.') + 1);

test('attack: in an outage anybody pushes 11 MB that no pinned key has signed; over HTTP/1.1 the 401 comes after the first bytes', async (context) => {
  const router = await startInOutage(context);
  const stranger = signingKeyOf((await generateSigningKey('EdDSA')).privateJwk);
  const header = headerOf(await sealSnapshot(clusterSnapshot(router), stranger));
  const raw = await rawHttp1(context, router.port);
  raw.write(`${beginning}${header}${'A'.repeat(1_000)}`);
  assert.match(await raw.until((received) => received.includes('UnknownKey')), /^HTTP\/1\.1 401 /);
});

test('attack: the same over HTTP/2: the stream ends with the 401, whatever is left of it', async (context) => {
  const router = await startInOutage(context);
  const raw = await rawHttp2(context, router.port);
  const lines = [':method', 'PUT', ':scheme', 'https', ':authority', 'localhost', ':path', path];
  raw.request(1, lines, { endStream: false });
  raw.write(frame(frameType.data, 0, 1, Buffer.from('x'.repeat(4_000))));
  assert.equal((await raw.outcome(1)).status, 401);
});

test('attack: pushes under the ID of the pinned key: one is read, counted for its connection, and who is known does not wait', async (context) => {
  const router = await startInOutage(context);
  const header = headerOf(await sealSnapshot(clusterSnapshot(router), snapshotKey));
  const before = memoryForOthers.bytes;
  const attackers = [];
  for (let count = 0; count < 6; count++) {
    const raw = await rawHttp1(context, router.port);
    raw.socket.write(`${beginning}${header}${'A'.repeat(4 * mebibyte)}`);
    attackers.push(raw);
  }
  await eventually(() => memoryForOthers.bytes - before > 4 * mebibyte);
  // Bytes that wait are in the buffers of their own connection.
  assert.ok(memoryForOthers.bytes - before < 6 * mebibyte);
  const known = await ask(router.port, { client: 'alice', method: 'PUT', path, body: `${header}AAAA.AAAA` });
  assert.match(known.body, /BadSignature/);
  for (const { socket } of attackers) socket.destroy();
  await eventually(() => memoryForOthers.bytes <= before);
  const sealed = await sealSnapshot(clusterSnapshot(router), snapshotKey);
  const taken = await ask(router.port, { method: 'PUT', path, body: sealed });
  assert.equal(taken.status, 200, taken.body);
});
