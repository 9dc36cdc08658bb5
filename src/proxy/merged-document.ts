import { firstHeader } from '../apimachinery/raw-headers.ts';
import { type MergedDiscoveryRequest, mergedDiscovery } from '../discovery/documents.ts';
import type { DiscoveryPath } from '../discovery/forms/discovery-path.ts';
import { OwnDocuments, type ServersDocument } from '../discovery/own-documents.ts';
import { auditIdOf } from '../request/headers.ts';
import { type Outcome, ownResponse } from '../request/transport.ts';
import { ledByPreference } from '../routing/preferred-version.ts';
import { readText } from '../runtime/bytes.ts';
import type { AdmittedRequest, Router } from './admitted-request.ts';
import { questionOf } from './ask-in-callers-name.ts';
import { forwardBy } from './forward.ts';
import type { RouterSettings } from './options.ts';

/** Characters of a server's document: discovery with thousands of custom resources has some megabytes. */
const maximumDocument = 16 * 1024 * 1024;

export class DocumentMerger {
  readonly #settings: RouterSettings;
  readonly #own: OwnDocuments;

  constructor(settings: RouterSettings) {
    this.#settings = settings;
    this.#own = new OwnDocuments(settings.logger);
  }

  /**
   * Asks a server for its own document, in the caller's name: whether the caller may read the path is the server's to say,
   * and what it serves itself is what it says now. The others' part is the snapshot's.
   *
   * @returns `undefined` when a server's own response is to be passed on
   */
  async respond(request: AdmittedRequest, deliver: Router['deliver']): Promise<Outcome | undefined> {
    const merged = this.#mergedFor(request);
    if (merged === undefined) return undefined;
    const { outcome, serverId } = await this.#ask(request, merged, deliver);
    if (outcome.kind === 'sent' || !outcome.isPassedOn) return outcome;
    const { response } = outcome;
    if (!isAllowed(response.status)) return outcome;
    // The document from before its deletion would be shown otherwise, as of something that the snapshot lacks.
    if (response.status === 404) this.#own.forget(serverId, merged.path);
    const own =
      response.status === 200 && request.inbound.method === 'GET'
        ? await this.#take(serverId, merged.path, response, () => response)
        : this.#own.known(serverId, merged.path)?.document;
    const document = await merged.respond(own);
    if (document === undefined && response.status === 404) return outcome;
    if (response.body?.locked === false) await response.body.cancel();
    return document && ownResponse(document);
  }

  /**
   * The response in place of that of a library's own handlers, which are its local server.
   * @returns `undefined` when theirs is to be passed on
   */
  async inPlaceOf(response: Response, request: AdmittedRequest): Promise<Response | undefined> {
    const merged = this.#mergedFor(request);
    if (merged === undefined || !isAllowed(response.status)) return undefined;
    const serverId = request.view.local?.id;
    const isDocument = serverId !== undefined && response.status === 200 && request.inbound.method === 'GET';
    const own = isDocument
      ? await this.#take(serverId, merged.path, response, () => response.clone())
      : undefined;
    return merged.respond(own);
  }

  #mergedFor({ inbound, requestInfo, view }: AdmittedRequest): MergedDiscoveryRequest | undefined {
    if (view.snapshot === undefined) return undefined;
    const { headers } = inbound;
    const asked = {
      method: inbound.method,
      path: requestInfo.path,
      accept: firstHeader(headers, 'accept'),
      acceptEncoding: firstHeader(headers, 'accept-encoding'),
      ifNoneMatch: firstHeader(headers, 'if-none-match'),
    };
    const { preferredVersion, steadyClock } = this.#settings;
    return mergedDiscovery(asked, ledByPreference(view.snapshot, preferredVersion, steadyClock()), {
      localServerId: view.local?.id,
      onAggregated: (wasMade) => {
        if (inbound.record !== undefined) inbound.record.aggregatedDiscovery = wasMade ? 'kept' : 'merged';
      },
    });
  }

  async #ask(
    request: AdmittedRequest,
    { path, accept, isKnown }: MergedDiscoveryRequest,
    deliver: Router['deliver'],
  ): Promise<{ readonly outcome: Outcome; readonly serverId: string }> {
    const { inbound } = request;
    const [target = ''] = inbound.target.split('?', 1);
    const question = {
      ...questionOf(inbound, { target, accept, signal: inbound.signal }),
      method: inbound.method,
      // The audit log of the server has the request under the ID that its client gets.
      auditId: auditIdOf(inbound),
      record: inbound.record,
    };
    let serverId = '';
    const send = forwardBy(this.#settings.transport, {
      ifNoneMatch: (destination) => {
        serverId = destination.id;
        return this.#own.known(serverId, path)?.etag;
      },
      believesNotFound: isKnown,
    });
    const outcome = await deliver({ ...request, inbound: question }, send);
    return { outcome, serverId };
  }

  /** @param read the response to read, which is used up then */
  async #take(
    serverId: string,
    path: DiscoveryPath,
    { headers }: Response,
    read: () => Response,
  ): Promise<ServersDocument | undefined> {
    const etag = headers.get('etag') ?? undefined;
    const text = async (): Promise<string | undefined> => {
      const { body } = read();
      return body === null ? undefined : readText(body, maximumDocument);
    };
    const document = { etag, contentType: headers.get('content-type') ?? '', text };
    return this.#own.take(serverId, path, document).catch(() => undefined);
  }
}

/** The server let the caller read the path, whether or not it has the document (or in that form). */
function isAllowed(status: number): boolean {
  return (status >= 200 && status < 300) || status === 304 || status === 404 || status === 406;
}
