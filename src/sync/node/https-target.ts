import { Agent, request } from 'undici';
import { checkServerIdentity } from '../../node/destinations/server-identity.ts';
import { ownPathsPrefix } from '../../request/own-path-target.ts';
import {
  type AdvertisedServer,
  advertisedAddressHeader,
  parseAdvertisedServer,
} from '../../snapshot/addresses/advertised-address.ts';
import { sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import { parseEntityTag, sealedMediaType } from '../../snapshot/receiving/snapshot-endpoint.ts';
import type { Delivery, DeliveryResult, SnapshotTarget } from '../delivery/deliver.ts';
import {
  type DeliveryAnswer,
  maximumAnswerBytes,
  readAnswerText,
  resultOf,
  statusOf,
  unreachable,
} from './delivery-answer.ts';

export interface HttpsTargetOptions {
  /** `https://host:port` of a router's serving or admin address, or of a Worker. */
  readonly url: string;
  /** PEM bundle that the router's serving certificate is checked against. Default: the public authorities. */
  readonly certificateAuthorities?: string | undefined;
  /** The name the router's certificate must carry. Default: the host of `url`. */
  readonly serverName?: string | undefined;
  /** PEM pair of the sync job, an allowed caller of the router. One of this and `bearerToken`, or both. */
  readonly clientCertificate?: { readonly certificate: string; readonly key: string } | undefined;
  /** Asked for each request, since tokens are rotated. */
  readonly bearerToken?: (() => string | Promise<string>) | undefined;
  /** Told, with each answer of the router, where it says that peers should call it; `undefined`: it does not say. */
  readonly onAdvertised?: ((said: AdvertisedServer | undefined) => void) | undefined;
  /** For one push, milliseconds. Default 10,000. */
  readonly timeoutMilliseconds?: number | undefined;
}

/** A router that snapshots are pushed to. */
export interface HttpsTarget extends SnapshotTarget {
  holds(delivery: Delivery, signal: AbortSignal): Promise<boolean>;
  /**
   * The sealed snapshot that the router holds; `undefined` when it holds none.
   * @throws when it cannot be asked.
   */
  held(signal: AbortSignal): Promise<string | undefined>;
  close(): Promise<void>;
}

/** A router that does not take a connection within this is as good as down; it is tried again at once. */
const connectTimeout = 1_000;
/** For the question whether it still holds the snapshot: a line each way. */
const checkTimeout = 2_000;

/**
 * Pushes to a router over HTTPS: the snapshot where it is new to it, its renewal where the router holds it.
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
  const { url, certificateAuthorities, serverName, clientCertificate } = options;
  const { bearerToken, timeoutMilliseconds = 10_000 } = options;
  const snapshotUrl = new URL(`${ownPathsPrefix}/v1/snapshot`, url);
  const renewalUrl = new URL(`${ownPathsPrefix}/v1/snapshot/renewal`, url);
  const agent = new Agent({
    // An HTTP/2 connection to a machine that lost its power stays in use until TCP gives up, a quarter of an hour;
    // an HTTP/1.1 connection ends with the first request on it that times out.
    allowH2: false,
    connect: {
      checkServerIdentity,
      timeout: connectTimeout,
      ...(certificateAuthorities === undefined ? {} : { ca: certificateAuthorities }),
      ...(clientCertificate === undefined
        ? {}
        : { cert: clientCertificate.certificate, key: clientCertificate.key }),
      ...(serverName === undefined ? {} : { servername: serverName }),
    },
  });

  async function ask(
    method: 'GET' | 'HEAD' | 'PUT',
    target: URL,
    body: string | null,
    signal: AbortSignal,
    timeout = timeoutMilliseconds,
  ) {
    const authorization = bearerToken === undefined ? undefined : `Bearer ${await bearerToken()}`;
    // Redirects are not followed (undici's `request` never does): a snapshot goes where it was meant to go.
    const answer = await request(target, {
      dispatcher: agent,
      method,
      body,
      headers: {
        ...(body === null ? { accept: sealedMediaType } : { 'content-type': sealedMediaType }),
        ...(authorization === undefined ? {} : { authorization }),
      },
      // undici ends a connection after HEAD, for servers that send a body all the same. Routers do not, and a check
      // each second would be a handshake each second.
      reset: false,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
    });
    const header = answer.headers[advertisedAddressHeader];
    const said = typeof header === 'string' ? parseAdvertisedServer(header) : undefined;
    // A refusal without the line may be the word of something in between, which takes nothing back.
    if (said !== undefined || answer.statusCode === 200) options.onAdvertised?.(said);
    return answer;
  }

  async function push(target: URL, jws: string, signal: AbortSignal): Promise<DeliveryResult> {
    try {
      const { statusCode, body } = await ask('PUT', target, jws, signal);
      return resultOf({ status: statusCode, body: await readAnswerText(body, maximumAnswerBytes) });
    } catch (error) {
      return unreachable(error);
    }
  }

  return {
    name: url,
    checksCreationTime: true,
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
    async holds({ sealed }, signal) {
      const { statusCode, headers, body } = await ask('HEAD', snapshotUrl, null, signal, checkTimeout);
      await body.dump();
      const { etag } = headers;
      if (statusCode !== 200 && statusCode !== 404) throw unexpected(url, { status: statusCode, body: '' });
      const held = typeof etag === 'string' ? parseEntityTag(etag) : undefined;
      if (held === undefined || sealed === undefined) return false;
      // A later lifetime is another leader's renewal of the same: nothing is lost.
      return held.digest === sealed.held.digest && held.createdAt >= sealed.held.createdAt;
    },
    async held(signal) {
      const { statusCode, body } = await ask('GET', snapshotUrl, null, signal);
      const text = await readAnswerText(body, sealedSnapshotLimit);
      if (statusCode === 404) return undefined;
      if (statusCode !== 200) throw unexpected(url, { status: statusCode, body: text });
      return text;
    },
    close: () => agent.destroy(),
  };
}

function unexpected(url: string, { status, body }: DeliveryAnswer): Error {
  return new Error(`${url} answered with ${status}: ${statusOf(body)?.message ?? 'without a Status'}`);
}
