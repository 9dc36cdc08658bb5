import {
  failureText,
  type HttpsResponse,
  type HttpsServer,
  type OpenServerClient,
  openHttpsClient,
  type ServerClient,
  statusOf,
} from '../../node/destinations/https-client.ts';
import { createFileSnapshotStore } from '../../node/files/file-snapshot-store.ts';
import { ownPathsPrefix } from '../../request/own-path-target.ts';
import { errorMessage } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { systemClock } from '../../runtime/time.ts';
import {
  type AdvertisedServer,
  advertisedAddressHeader,
  parseAdvertisedServer,
} from '../../snapshot/addresses/addresses.ts';
import { sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import type { SnapshotErrorCode } from '../../snapshot/format/snapshot-error.ts';
import { parseEntityTag, sealedMediaType } from '../../snapshot/receiving/snapshot-endpoint.ts';
import { heldGenerationCause } from '../../snapshot/receiving/snapshot-pushes.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import { openSnapshot } from '../../snapshot/signing/open-sealed.ts';
import type { Delivery, DeliveryResult, SealedDelivery, SnapshotTarget } from '../deliver.ts';
import { isTransient } from './api-client.ts';

/** With a client certificate, a token or both, of an allowed caller of the router. */
interface HttpsTargetOptions extends Pick<HttpsServer, 'serverName'> {
  /** `https://host:port` of a router's serving or admin address, or of a Worker. */
  readonly url: string;
  /** Asked before each request: files are renewed. */
  readonly credentials: () => Promise<Pick<HttpsServer, 'certificateAuthorities' | 'clientCertificate'>>;
  /** Called for each response with the address that the router advertises for peers; `undefined`: none. */
  readonly onAdvertised?: ((advertised: AdvertisedServer | undefined) => void) | undefined;
  readonly bearerToken?: (() => string | Promise<string>) | undefined;
  /** Default: over HTTPS from this process. */
  readonly openClient?: OpenServerClient | undefined;
}

/** For one push, milliseconds. */
const pushTimeout = 10_000;
/** A router that accepts no connection in this time counts as down, and is tried again soon. Milliseconds. */
const connectTimeout = 1_000;
/** For the check whether it still holds the snapshot, milliseconds. */
const checkTimeout = 2_000;
/** Bytes of a response: a short JSON document, or a Status, which may list a hundred issues. */
const maximumResponseBytes = 256 * 1024;

const snapshotPath = `${ownPathsPrefix}/v1/snapshot`;

/** Pushes to a router over HTTPS. */
export class HttpsTarget implements Required<SnapshotTarget> {
  readonly name: string;
  readonly #options: HttpsTargetOptions;
  #connected: { readonly client: ServerClient; readonly made: string } | undefined;
  /** Digest of what it has taken last. */
  #taken: string | undefined;

  constructor(options: HttpsTargetOptions) {
    this.name = options.url;
    this.#options = options;
  }

  async put({ sealed }: Delivery, signal: AbortSignal): Promise<DeliveryResult> {
    if (sealed === undefined) return { kind: 'refused', message: 'routers accept only signed snapshots' };
    return this.#pushSnapshot(sealed, signal);
  }

  async holds({ sealed }: Delivery, signal: AbortSignal): Promise<boolean> {
    const response = await this.#send('HEAD', signal, { timeout: checkTimeout });
    if (response.status !== 200 && response.status !== 404) throw this.#unexpected(response);
    const { etag } = response.headers;
    const held = etag === undefined ? undefined : parseEntityTag(etag);
    if (held === undefined) this.#taken = undefined;
    if (held === undefined || sealed === undefined) return false;
    // A later time of making is a renewal of the same snapshot by another sync job.
    return held.digest === sealed.held.digest && held.createdAt >= sealed.held.createdAt;
  }

  async held(signal: AbortSignal): Promise<string | undefined> {
    const response = await this.#send('GET', signal, { longest: sealedSnapshotLimit });
    // 406: it reads the cluster itself, and has none that is signed.
    if (response.status === 404 || response.status === 406) return undefined;
    if (response.status !== 200) throw this.#unexpected(response);
    return response.text;
  }

  close(): void {
    this.#connected?.client.close();
  }

  /** Only what is new to it, if it holds what was delivered before; if it has lost that, all of it. */
  async #pushSnapshot(sealed: SealedDelivery, signal: AbortSignal): Promise<DeliveryResult> {
    const { change, held, snapshot } = sealed;
    const isChange = change !== undefined && change.from === this.#taken;
    const result = await this.#push(isChange ? change.snapshot : snapshot, signal);
    this.#taken = result.kind === 'accepted' ? held.digest : undefined;
    return isChange && result.kind === 'refused' ? this.#pushSnapshot(sealed, signal) : result;
  }

  async #push(body: string, signal: AbortSignal): Promise<DeliveryResult> {
    try {
      return resultOf(await this.#send('PUT', signal, { body }));
    } catch (error) {
      return { kind: 'unreachable', message: errorMessage(error) };
    }
  }

  async #send(
    method: 'GET' | 'HEAD' | 'PUT',
    signal: AbortSignal,
    {
      body,
      timeout = pushTimeout,
      longest = maximumResponseBytes,
    }: { readonly body?: string; readonly timeout?: number; readonly longest?: number } = {},
  ): Promise<HttpsResponse> {
    const { bearerToken, onAdvertised } = this.#options;
    const client = await this.#client();
    const headers = [
      ...(body === undefined ? ['accept', sealedMediaType] : ['content-type', sealedMediaType]),
      ...(bearerToken === undefined ? [] : ['authorization', `Bearer ${await bearerToken()}`]),
    ];
    const request = { method, path: snapshotPath, headers, body, signal };
    const response = await client.ask(request, { responseTimeout: timeout, longestResponse: longest });
    const header = response.headers[advertisedAddressHeader];
    const advertised = typeof header === 'string' ? parseAdvertisedServer(header) : undefined;
    // A failure without the header may come from an intermediary. It does not withdraw the address.
    if (advertised !== undefined || response.status === 200) onAdvertised?.(advertised);
    return response;
  }

  async #client(): Promise<ServerClient> {
    const { url, serverName, credentials, openClient = openHttpsClient } = this.#options;
    const server = { origin: url, serverName, ...(await credentials()) };
    const made = JSON.stringify(server);
    if (this.#connected?.made === made) return this.#connected.client;
    const client = openClient(server, { connectTimeout });
    this.#connected?.client.retire();
    this.#connected = { client, made };
    return client;
  }

  #unexpected(response: HttpsResponse): Error {
    return new Error(`${this.name} returned ${failureText(response)}`);
  }
}

/** Conflicts that no higher generation resolves. */
const finalConflicts: ReadonlySet<string> = new Set<SnapshotErrorCode>(['OtherCluster', 'GenerationAhead']);

function resultOf({ status, text }: HttpsResponse): DeliveryResult {
  if (status === 200 || status === 201 || status === 204) return { kind: 'accepted' };
  const failure = statusOf(text);
  const message = `${status} ${failure?.message ?? 'without a Status'}`;
  const isOfOther = failure?.details?.causes?.some(({ reason }) => finalConflicts.has(reason)) === true;
  if (status === 409 && !isOfOther) {
    const cause = failure?.details?.causes?.find(({ reason }) => reason === heldGenerationCause);
    const generation = Number(cause?.message);
    return {
      kind: 'newer-held',
      // One that nothing could be above would keep what is new from all other targets.
      generation: Number.isSafeInteger(generation + 1) && generation > 0 ? generation : undefined,
      message,
    };
  }
  if (isTransient(status)) return { kind: 'unreachable', message };
  return { kind: 'refused', message };
}

const nothing = (): undefined => undefined;

export interface FileTargetOptions {
  readonly file: string;
  /** Plain JSON instead of a JWS: to be read, and for `explain`. Default false. */
  readonly unsigned?: boolean;
}

/**
 * Keeps the current snapshot in a file. A reader sees the old or the new one, never a part. A signed file has the form
 * of the routers' own stores, so that `serve --snapshot-file` accepts it.
 */
export function fileTarget({ file, unsigned = false }: FileTargetOptions): SnapshotTarget {
  const store = createFileSnapshotStore(file);
  return {
    name: file,
    async put({ snapshot, sealed }: Delivery): Promise<DeliveryResult> {
      const text = unsigned ? JSON.stringify(snapshot, null, 2) : sealed?.snapshot;
      if (text === undefined) {
        return { kind: 'refused', message: 'there is no signing key: give one, or write the file unsigned' };
      }
      try {
        await store.save(text);
        return { kind: 'accepted' };
      } catch (error) {
        return { kind: 'unreachable', message: errorMessage(error) };
      }
    },
    async held() {
      // Reading deletes what a killed writer has left, of an unsigned file too, which is no snapshot to start from.
      const stored = store.load();
      return unsigned ? stored.then(nothing, nothing) : stored;
    },
  };
}

type SnapshotHolder = Pick<SnapshotTarget, 'name' | 'held'>;

const askedAgainAfter = 500;

interface PreviousSnapshotSources {
  readonly holders: readonly SnapshotHolder[];
  /** A snapshot that is not signed with one of these is not used. */
  readonly keys: PinnedKeySet;
  readonly logger: Logger;
  /** Milliseconds for which they are asked again while one is silent and none has given a snapshot. Default: once. */
  readonly patience?: number;
}

/**
 * The newest snapshot that any target holds. Without it, after a restart routers would lose the routes of a server that
 * cannot be read.
 *
 * Never rejects: a sync job that finds none starts without.
 */
export async function previousSnapshot(
  { holders, keys, logger, patience = 0 }: PreviousSnapshotSources,
  signal: AbortSignal,
): Promise<Snapshot | undefined> {
  const until = systemClock.monotonic() + patience;
  const ask = async (holder: SnapshotHolder) => {
    const { name: source } = holder;
    try {
      return { source, jws: await holder.held?.(signal), isSilent: false };
    } catch (err) {
      // A router that is not up yet is normal at the very first start.
      logger.info({ err, source }, 'The snapshot that a target holds could not be read');
      return { source, jws: undefined, isSilent: true };
    }
  };
  let responses = await Promise.all(holders.map(ask));
  const mayHoldOne = () =>
    responses.some(({ isSilent }) => isSilent) && responses.every(({ jws }) => jws === undefined);
  while (mayHoldOne() && !signal.aborted && systemClock.monotonic() < until) {
    await systemClock.sleep(askedAgainAfter, signal);
    responses = await Promise.all(holders.map(ask));
  }
  const found = await Promise.all(
    responses.map(async ({ source, jws }) => {
      try {
        return jws === undefined ? undefined : (await openSnapshot(jws, keys)).snapshot;
      } catch (err) {
        logger.warn({ err, source }, 'The snapshot of an earlier run cannot be used');
        return undefined;
      }
    }),
  );
  const [newest] = found
    .filter((each) => each !== undefined)
    .sort((one, other) => other.metadata.generation - one.metadata.generation);
  return newest;
}
