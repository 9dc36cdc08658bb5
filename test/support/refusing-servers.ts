import assert from 'node:assert/strict';
import { shuttingDownStatus } from '../../src/proxy/delivery/judge-response.ts';
import { mixedCluster } from './decision-rows.ts';
import { recordingTransport } from './recording-transport.ts';
import { type TestAppOptions, testApp, userConnection } from './test-app.ts';

/** Of `mixedCluster`: jobs are served by peers alone, pods by everybody. */
export const jobs = 'https://router.example/apis/batch/v1/namespaces/default/jobs';
export const pods = 'https://router.example/api/v1/namespaces/default/pods';

/** As kube-apiserver 1.31 and 1.36 respond while they end. */
export const shuttingDownHead = {
  'cache-control': 'no-cache, private',
  'content-type': 'application/json',
  'retry-after': '1',
  'x-content-type-options': 'nosniff',
  'content-length': '150',
};
export const shuttingDown = () =>
  new Response(shuttingDownStatus, { status: 503, headers: shuttingDownHead });

/**
 * The app before servers that refuse.
 * @param refuses whether the n-th server that is asked does, counted from 0
 * @param refusal what it responds with then
 */
export async function startWithRefusals(
  refuses: (attempt: number) => boolean,
  refusal: () => Response,
  snapshot = mixedCluster,
  options: Pick<TestAppOptions, 'health'> = {},
) {
  let attempts = 0;
  const transport = recordingTransport(({ destination }) =>
    refuses(attempts++) ? refusal() : Response.json({ answeredBy: destination.id }),
  );
  return testApp({ snapshot, transport, connection: userConnection('alice', ['dev']), ...options });
}

/** The first server refuses, and another one responds. */
export async function assertAnotherResponds(
  method: string,
  url: string,
  refusal: () => Response,
): Promise<void> {
  const { app, transport } = await startWithRefusals((attempt) => attempt === 0, refusal);
  assert.equal((await app.request(url, { method })).status, 200, `${method} ${url}`);
  const [first, second] = transport.sent;
  assert.equal(transport.sent.length, 2);
  assert.notEqual(first?.destination.id, second?.destination.id);
}
