import type { Dispatcher } from 'undici';
import { ownPathsPrefix } from '../../request/own-path-target.ts';
import { errorMessage } from '../../runtime/errors.ts';
import {
  type AdvertisedServer,
  advertisedAddressHeader,
  parseAdvertisedServer,
} from '../../snapshot/addresses/addresses.ts';
import { sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import {
  heldGenerationCause,
  parseEntityTag,
  sealedMediaType,
} from '../../snapshot/receiving/snapshot-endpoint.ts';
import type { Delivery, DeliveryResult } from '../delivery/deliver.ts';
import {
  failureText,
  httpsAgent,
  isTransient,
  readText,
  type ServerAccess,
  sendRequest,
  statusOf,
  type TextResponse,
} from './http-client.ts';
import type { HoldingTarget } from './previous-snapshot.ts';

/** With a client certificate, a token or both, of an allowed caller of the router. */
export interface HttpsTargetOptions extends ServerAccess {
  /** `https://host:port` of a router's serving or admin address, or of a Worker. */
  readonly url: string;
  /** Called for each response with the address that the router advertises for peers; `undefined`: none. */
  readonly onAdvertised?: ((advertised: AdvertisedServer | undefined) => void) | undefined;
  /** For one push, milliseconds. Default 10,000. */
  readonly timeoutMilliseconds?: number | undefined;
}

/** A router that snapshots are pushed to. */
export interface HttpsTarget extends HoldingTarget {
  holds(delivery: Delivery, signal: AbortSignal): Promise<boolean>;
}

/** A router that accepts no connection in this time counts as down, and is tried again soon. Milliseconds. */
const connectTimeout = 1_000;
/** For the check whether it still holds the snapshot, milliseconds. */
const checkTimeout = 2_000;
/** Of a response: a short JSON document, or a Status, which may list a hundred issues. */
const maximumResponseBytes = 256 * 1024;

/**
 * Pushes to a router over HTTPS: the snapshot, or its renewal if the router already holds the snapshot.
 *
 * @example
 * ```ts
 * const target = httpsTarget({ url: routerUrl, certificateAuthorities, clientCertificate });
 * const delivery = await sealDelivery(snapshot, signingKeyOf(privateJwk));
 * console.log((await target.put(delivery, signal)).kind); // accepted
 * await target.close();
 * ```
 */
export function httpsTarget(options: HttpsTargetOptions): HttpsTarget {
  const { url, bearerToken, timeoutMilliseconds = 10_000 } = options;
  const snapshotUrl = new URL(`${ownPathsPrefix}/v1/snapshot`, url);
  const renewalUrl = new URL(`${ownPathsPrefix}/v1/snapshot/renewal`, url);
  const agent = httpsAgent(options, { connect: { timeout: connectTimeout } });

  async function send(
    method: 'GET' | 'HEAD' | 'PUT',
    target: URL,
    signal: AbortSignal,
    { body, timeout = timeoutMilliseconds }: { readonly body?: string; readonly timeout?: number } = {},
  ): Promise<Dispatcher.ResponseData> {
    const response = await sendRequest(target, {
      agent,
      method,
      headers: body === undefined ? { accept: sealedMediaType } : { 'content-type': sealedMediaType },
      body,
      bearerToken,
      timeoutMilliseconds: timeout,
      signal,
    });
    const header = response.headers[advertisedAddressHeader];
    const advertised = typeof header === 'string' ? parseAdvertisedServer(header) : undefined;
    // A failure without the header may come from an intermediary. It does not withdraw the address.
    if (advertised !== undefined || response.statusCode === 200) options.onAdvertised?.(advertised);
    return response;
  }

  async function push(target: URL, jws: string, signal: AbortSignal): Promise<DeliveryResult> {
    try {
      return resultOf(await readText(await send('PUT', target, signal, { body: jws }), maximumResponseBytes));
    } catch (error) {
      return { kind: 'unreachable', message: errorMessage(error) };
    }
  }

  const unexpected = (response: TextResponse) => new Error(`${url} returned ${failureText(response)}`);

  return {
    name: url,
    checksCreationTime: true,
    async put({ sealed }: Delivery, signal) {
      if (sealed === undefined) return { kind: 'refused', message: 'routers accept only signed snapshots' };
      const { snapshot, renewal } = sealed;
      if (renewal === undefined) return push(snapshotUrl, snapshot, signal);
      const renewed = await push(renewalUrl, renewal, signal);
      if (renewed.kind !== 'newer-held') return renewed;
      // It does not hold the snapshot: it has started late, or has lost it.
      const pushed = await push(snapshotUrl, snapshot, signal);
      return pushed.kind === 'accepted' ? push(renewalUrl, renewal, signal) : pushed;
    },
    async holds({ sealed }, signal) {
      const { statusCode, headers, body } = await send('HEAD', snapshotUrl, signal, {
        timeout: checkTimeout,
      });
      await body.dump();
      if (statusCode !== 200 && statusCode !== 404) throw unexpected({ status: statusCode, body: '' });
      const { etag } = headers;
      const held = typeof etag === 'string' ? parseEntityTag(etag) : undefined;
      if (held === undefined || sealed === undefined) return false;
      // A later time of making is a renewal of the same snapshot by another sync job.
      return held.digest === sealed.held.digest && held.createdAt >= sealed.held.createdAt;
    },
    async held(signal) {
      const response = await readText(await send('GET', snapshotUrl, signal), sealedSnapshotLimit);
      if (response.status === 404) return undefined;
      if (response.status !== 200) throw unexpected(response);
      return response.body;
    },
    close: () => agent.destroy(),
  };
}

/** The result of a push. */
function resultOf({ status, body }: TextResponse): DeliveryResult {
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
  if (isTransient(status)) return { kind: 'unreachable', message };
  return { kind: 'refused', message };
}
