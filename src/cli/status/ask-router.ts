import { sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import { askOverHttps, type HttpsAnswer } from '../terminal/ask-over-https.ts';
import type { RouterConnection } from './router-connection.ts';

/** The largest answer is the snapshot, as plain JSON. */
const longestResponse = 2 * sealedSnapshotLimit;

/**
 * Asks a router for one of its own paths.
 * @param path below `/.mixed-version-proxy/`
 * @throws when there is no answer, or none that ends within ten seconds
 */
export function askRouter(
  { origin, headers, ...connection }: RouterConnection,
  path: string,
): Promise<HttpsAnswer> {
  return askOverHttps({
    ...connection,
    url: `${origin}/.mixed-version-proxy/${path}`,
    headers: ['accept', 'application/json', ...headers],
    responseTimeout: 10_000,
    longestResponse,
  });
}
