import { Agent, request } from 'undici';
import * as v from 'valibot';
import { checkServerIdentity } from '../../node/destinations/server-identity.ts';
import { sealedRenewalLimit, sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import {
  parseStoredSnapshotText,
  storedSnapshotText,
} from '../../snapshot/receiving/stored-snapshot-text.ts';
import type { Delivery, SnapshotTarget } from '../delivery/deliver.ts';
import { maximumAnswerBytes, readAnswerText, unreachable } from './delivery-answer.ts';

export interface WorkersKvTargetOptions {
  readonly accountId: string;
  readonly namespaceId: string;
  /** Default `snapshot`. */
  readonly key?: string | undefined;
  /** An API token with the permission "Workers KV Storage Write". Asked for each request. */
  readonly apiToken: () => string | Promise<string>;
  /** Default `https://api.cloudflare.com/client/v4`. */
  readonly apiUrl?: string | undefined;
  /** PEM; default the public authorities. */
  readonly certificateAuthorities?: string | undefined;
  /** For one request, milliseconds. Default 30,000. */
  readonly timeoutMilliseconds?: number | undefined;
}

export interface WorkersKvTarget extends SnapshotTarget {
  /**
   * The sealed snapshot under the key; `undefined` when there is none.
   * @throws when it cannot be asked
   */
  held(signal: AbortSignal): Promise<string | undefined>;
  close(): Promise<void>;
}

const workersKvApiUrl = 'https://api.cloudflare.com/client/v4';

/** Of one value (developers.cloudflare.com/kv/platform/limits). */
const maximumValueBytes = 25 * 1024 * 1024;

/**
 * Keeps the current snapshot under one key of a Workers KV namespace, by Cloudflare's REST API, in the form that
 * routers store theirs in. Written only when it has changed: writes are paid for, and one key takes one a second.
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
export function workersKvTarget(options: WorkersKvTargetOptions): WorkersKvTarget {
  const { accountId, namespaceId, key = 'snapshot', apiToken, certificateAuthorities } = options;
  const { apiUrl = workersKvApiUrl, timeoutMilliseconds = 30_000 } = options;
  const path = ['accounts', accountId, 'storage', 'kv', 'namespaces', namespaceId, 'values', key];
  const url = `${apiUrl.replace(/\/+$/, '')}/${path.map(encodeURIComponent).join('/')}`;
  const agent = new Agent({
    connect: {
      checkServerIdentity,
      ...(certificateAuthorities === undefined ? {} : { ca: certificateAuthorities }),
    },
  });
  let written: string | undefined;

  async function ask(method: 'GET' | 'PUT', body: string | null, signal: AbortSignal, limit: number) {
    const answer = await request(url, {
      dispatcher: agent,
      method,
      body,
      headers: {
        authorization: `Bearer ${await apiToken()}`,
        ...(body === null ? {} : { 'content-type': 'application/octet-stream' }),
      },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMilliseconds)]),
    });
    return { status: answer.statusCode, body: await readAnswerText(answer.body, limit) };
  }

  return {
    name: `workers-kv ${namespaceId}/${key}`,
    async put({ sealed }: Delivery, signal) {
      if (sealed === undefined) return { kind: 'refused', message: 'Workers take signed snapshots only' };
      const value = storedSnapshotText(sealed);
      if (value === written) return { kind: 'accepted' };
      const bytes = Buffer.byteLength(value);
      if (bytes > maximumValueBytes) {
        const message = `the snapshot has ${bytes} bytes, a value of Workers KV at most ${maximumValueBytes}`;
        return { kind: 'refused', message };
      }
      try {
        const { status, body } = await ask('PUT', value, signal, maximumAnswerBytes);
        if (status === 200 && isSuccess(body)) {
          written = value;
          return { kind: 'accepted' };
        }
        // Also what passes (429, 5xx): the API counts requests, so it is not asked again in the same second.
        return { kind: 'refused', message: `${status} ${errorsOf(body)}` };
      } catch (error) {
        return unreachable(error);
      }
    },
    async held(signal) {
      const limit = sealedSnapshotLimit + sealedRenewalLimit + 4;
      const { status, body } = await ask('GET', null, signal, limit);
      if (status === 404) return undefined;
      if (status !== 200) throw new Error(`Workers KV answered with ${status}: ${errorsOf(body)}`);
      return parseStoredSnapshotText(body).snapshot;
    },
    close: () => agent.destroy(),
  };
}

/** The envelope of every answer of Cloudflare's API (developers.cloudflare.com/api/resources/kv). */
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
