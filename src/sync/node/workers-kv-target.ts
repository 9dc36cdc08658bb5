import * as v from 'valibot';
import { errorMessage } from '../../runtime/error-message.ts';
import { storedSnapshotLimit } from '../../snapshot/format/limits.ts';
import { parseStoredSnapshotText, storedSnapshotText } from '../../snapshot/receiving/snapshot-store.ts';
import type { Delivery } from '../delivery/deliver.ts';
import { httpsAgent, readText, sendRequest } from './http-client.ts';
import type { HoldingTarget } from './previous-snapshot.ts';

export interface WorkersKvTargetOptions {
  readonly accountId: string;
  readonly namespaceId: string;
  /** Default `snapshot`. */
  readonly key?: string | undefined;
  /** An API token with the permission "Workers KV Storage Write". Called for each request. */
  readonly apiToken: () => string | Promise<string>;
  /** Default `https://api.cloudflare.com/client/v4`. */
  readonly apiUrl?: string | undefined;
  /** PEM; default the public authorities. */
  readonly certificateAuthorities?: string | undefined;
  /** For one request, milliseconds. Default 30,000. */
  readonly timeoutMilliseconds?: number | undefined;
}

const workersKvApiUrl = 'https://api.cloudflare.com/client/v4';

/** Largest value (developers.cloudflare.com/kv/platform/limits). */
const maximumValueBytes = 25 * 1024 * 1024;
/** Of a response to a write. */
const maximumResponseBytes = 256 * 1024;

/**
 * Keeps the current snapshot under one key of a Workers KV namespace, by Cloudflare's REST API, in the form of the
 * routers' own stores. It is written only when it has changed: writes cost money, and a key accepts one per second.
 *
 * @example
 * ```ts
 * const target = workersKvTarget({
 *   accountId: '0123456789abcdef0123456789abcdef',
 *   namespaceId: 'fedcba9876543210fedcba9876543210',
 *   apiToken: async () => 'from a secret store',
 * });
 * await target.close();
 * ```
 */
export function workersKvTarget(options: WorkersKvTargetOptions): HoldingTarget {
  const { accountId, namespaceId, key = 'snapshot', apiToken } = options;
  const { apiUrl = workersKvApiUrl, timeoutMilliseconds = 30_000 } = options;
  const path = ['accounts', accountId, 'storage', 'kv', 'namespaces', namespaceId, 'values', key];
  const url = `${apiUrl.replace(/\/+$/, '')}/${path.map(encodeURIComponent).join('/')}`;
  const agent = httpsAgent({ certificateAuthorities: options.certificateAuthorities }, { allowH2: true });
  let written: string | undefined;

  async function send(method: 'GET' | 'PUT', body: string | undefined, signal: AbortSignal, limit: number) {
    const headers = body === undefined ? {} : { 'content-type': 'application/octet-stream' };
    const options = { agent, method, headers, body, bearerToken: apiToken, timeoutMilliseconds, signal };
    return readText(await sendRequest(url, options), limit);
  }

  return {
    name: `workers-kv ${namespaceId}/${key}`,
    async put({ sealed }: Delivery, signal) {
      if (sealed === undefined) return { kind: 'refused', message: 'Workers accept only signed snapshots' };
      const value = storedSnapshotText(sealed);
      if (value === written) return { kind: 'accepted' };
      const bytes = Buffer.byteLength(value);
      if (bytes > maximumValueBytes) {
        const message = `the snapshot has ${bytes} bytes, a value of Workers KV at most ${maximumValueBytes}`;
        return { kind: 'refused', message };
      }
      try {
        const { status, body } = await send('PUT', value, signal, maximumResponseBytes);
        if (status === 200 && isSuccess(body)) {
          written = value;
          return { kind: 'accepted' };
        }
        // Also for 429 and 5xx: the API limits the rate of requests, so the longer back-off of refusals applies.
        return { kind: 'refused', message: `${status} ${errorsOf(body)}` };
      } catch (error) {
        return { kind: 'unreachable', message: errorMessage(error) };
      }
    },
    async held(signal) {
      const { status, body } = await send('GET', undefined, signal, storedSnapshotLimit);
      if (status === 404) return undefined;
      if (status !== 200) throw new Error(`Workers KV returned ${status}: ${errorsOf(body)}`);
      return parseStoredSnapshotText(body).snapshot;
    },
    close: () => agent.destroy(),
  };
}

/** The envelope of every response of Cloudflare's API (developers.cloudflare.com/api/resources/kv). */
const envelope = v.object({
  success: v.boolean(),
  errors: v.nullish(v.array(v.object({ code: v.number(), message: v.string() })), []),
});

function isSuccess(body: string): boolean {
  return parseEnvelope(body)?.success === true;
}

function errorsOf(body: string): string {
  const errors = parseEnvelope(body)?.errors ?? [];
  return errors.map(({ code, message }) => `${message} (${code})`).join('; ') || 'without a reason';
}

function parseEnvelope(body: string): v.InferOutput<typeof envelope> | undefined {
  try {
    const parsed = v.safeParse(envelope, JSON.parse(body));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}
