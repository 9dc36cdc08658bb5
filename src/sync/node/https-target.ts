import { Agent, request } from 'undici';
import * as v from 'valibot';
import { ownPathsPrefix } from '../../proxy/own-paths.ts';
import { sealedSnapshotLimit } from '../../snapshot/limits.ts';
import { heldGenerationCause, sealedMediaType } from '../../snapshot/snapshot-endpoint.ts';
import type { Delivery, DeliveryResult, SnapshotTarget } from '../deliver.ts';

export interface HttpsTargetOptions {
  /** `https://host:port` of a router's serving or admin address. */
  readonly url: string;
  /** PEM bundle that the router's serving certificate is checked against. */
  readonly certificateAuthorities: string;
  /** The name the router's certificate must carry. Default: the host of `url`. */
  readonly serverName?: string | undefined;
  /** PEM pair of the sync job, an allowed caller of the router. */
  readonly clientCertificate: { readonly certificate: string; readonly key: string };
  /** For one push, milliseconds. Default 10,000. */
  readonly timeoutMilliseconds?: number | undefined;
}

/** A router that snapshots are pushed to. */
export interface HttpsTarget extends SnapshotTarget {
  /**
   * The sealed snapshot that the router holds; `undefined` when it holds none.
   * @throws when it cannot be asked.
   */
  held(signal: AbortSignal): Promise<string | undefined>;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A router's answers are a short JSON document or a Status, which may list a hundred issues. */
const maximumAnswerBytes = 256 * 1024;

/** Pushes to a router over mTLS: the snapshot where it is new to it, its renewal where the router holds it. */
export function httpsTarget(options: HttpsTargetOptions): HttpsTarget {
  const {
    url,
    certificateAuthorities,
    serverName,
    clientCertificate,
    timeoutMilliseconds = 10_000,
  } = options;
  const snapshotUrl = new URL(`${ownPathsPrefix}/v1/snapshot`, url);
  const renewalUrl = new URL(`${ownPathsPrefix}/v1/snapshot/renewal`, url);
  const agent = new Agent({
    connect: {
      ca: certificateAuthorities,
      cert: clientCertificate.certificate,
      key: clientCertificate.key,
      ...(serverName === undefined ? {} : { servername: serverName }),
    },
  });

  async function ask(
    method: 'GET' | 'PUT',
    target: URL,
    body: string | null,
    signal: AbortSignal,
    limit: number,
  ) {
    // Redirects are not followed (undici's `request` never does): a snapshot goes where it was meant to go.
    const answer = await request(target, {
      dispatcher: agent,
      method,
      body,
      headers: body === null ? { accept: sealedMediaType } : { 'content-type': sealedMediaType },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMilliseconds)]),
    });
    return { status: answer.statusCode, body: await readText(answer.body, limit) };
  }

  async function push(target: URL, jws: string, signal: AbortSignal): Promise<DeliveryResult> {
    try {
      return resultOf(await ask('PUT', target, jws, signal, maximumAnswerBytes));
    } catch (error) {
      return { kind: 'unreachable', message: error instanceof Error ? error.message : String(error) };
    }
  }

  return {
    name: url,
    async put({ sealed }: Delivery, signal) {
      if (sealed === undefined) return { kind: 'refused', message: 'routers take signed snapshots only' };
      const { snapshot, renewal } = sealed;
      if (renewal === undefined) return push(snapshotUrl, snapshot, signal);
      const renewed = await push(renewalUrl, renewal, signal);
      if (renewed.kind !== 'newer-held') return renewed;
      // It does not hold the snapshot that was renewed: it has come late, or has lost it.
      const pushed = await push(snapshotUrl, snapshot, signal);
      return pushed.kind === 'accepted' ? push(renewalUrl, renewal, signal) : pushed;
    },
    async held(signal) {
      const { status, body } = await ask('GET', snapshotUrl, null, signal, sealedSnapshotLimit);
      if (status === 404) return undefined;
      if (status !== 200) throw new Error(`${url} answered with ${status}: ${statusOf(body)?.message ?? ''}`);
      return body;
    },
    close: () => agent.destroy(),
  };
}

function resultOf({ status, body }: Answer): DeliveryResult {
  if (status === 200 || status === 201 || status === 204) return { kind: 'accepted' };
  const failure = statusOf(body);
  const message = `${status} ${failure?.message ?? 'without a Status'}`;
  if (status === 409) {
    const cause = failure?.details?.causes?.find(({ reason }) => reason === heldGenerationCause);
    const generation = Number(cause?.message);
    return {
      kind: 'newer-held',
      generation: Number.isSafeInteger(generation) && generation > 0 ? generation : undefined,
      message,
    };
  }
  // 429 and 5xx pass; every other code needs somebody to change a key, a right or the snapshot itself.
  return { kind: status === 429 || status >= 500 ? 'unreachable' : 'refused', message };
}

const failureStatus = v.object({
  message: v.string(),
  details: v.optional(
    v.object({ causes: v.optional(v.array(v.object({ reason: v.string(), message: v.string() }))) }),
  ),
});

function statusOf(body: string): v.InferOutput<typeof failureStatus> | undefined {
  try {
    const parsed = v.safeParse(failureStatus, JSON.parse(body));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}

async function readText(body: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limit) throw new Error(`the answer is larger than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
