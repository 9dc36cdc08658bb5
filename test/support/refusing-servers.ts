import { mixedCluster } from './decision-rows.ts';
import { recordingTransport } from './recording-transport.ts';
import { type TestAppOptions, testApp, userConnection } from './test-app.ts';

/** Of `mixedCluster`: jobs are served by peers alone, pods by everybody. */
export const jobs = 'https://router.example/apis/batch/v1/namespaces/default/jobs';
export const pods = 'https://router.example/api/v1/namespaces/default/pods';

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
