import type { Logger } from '../runtime/logger.ts';
import { type DiscoveryPath, discoveryPathString } from './forms/discovery-path.ts';
import { DiscoveryDocumentError } from './forms/parse-document.ts';
import { type OwnDocument, parseOwnDocument } from './own-document.ts';

/** Documents kept at most: those of a large cluster by every client form, not what clients invent. */
const maximumDocuments = 512;
/** Characters of a text that is kept, to know it again. */
const maximumText = 1024 * 1024;

/** What a server said of itself. As long as it says the same, it is the same object. */
export interface ServersDocument {
  readonly serverId: string;
  readonly says: OwnDocument;
}

/** A server's response with code 200. */
interface ServersResponse {
  readonly etag: string | undefined;
  readonly contentType: string;
  readonly text: string;
}

interface Remembered {
  /** With it the server is asked whether it still says the same. */
  readonly etag: string | undefined;
  /** Where there is no ETag: classic documents, the OpenAPI index. */
  readonly text: string | undefined;
  readonly document: ServersDocument | undefined;
}

/** What servers said of themselves when they were asked last, so that what has not changed is not read and merged again. */
export class OwnDocuments {
  readonly #logger: Logger;
  readonly #remembered = new Map<string, Remembered>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  known(serverId: string, path: DiscoveryPath): Remembered | undefined {
    return this.#remembered.get(keyOf(serverId, path));
  }

  /** @returns `undefined` where it is no document that can be merged: the snapshot's word holds then */
  take(serverId: string, path: DiscoveryPath, response: ServersResponse): ServersDocument | undefined {
    const { etag, text } = response;
    const key = keyOf(serverId, path);
    const known = this.#remembered.get(key);
    if (known?.text === text) return known.document;
    const says = this.#read(serverId, path, response);
    const document = says && { serverId, says };
    this.#remembered.delete(key);
    const isKept = etag === undefined && text.length <= maximumText;
    this.#remembered.set(key, { etag, text: isKept ? text : undefined, document });
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > maximumDocuments && oldest !== undefined) this.#remembered.delete(oldest);
    return document;
  }

  #read(
    serverId: string,
    path: DiscoveryPath,
    { contentType, text }: ServersResponse,
  ): OwnDocument | undefined {
    try {
      return parseOwnDocument(path, contentType, text);
    } catch (error) {
      if (!(error instanceof DiscoveryDocumentError || error instanceof SyntaxError)) throw error;
      const fields = { server: serverId, path: discoveryPathString(path), problem: error.message };
      this.#logger.warn(
        fields,
        'A document of a server cannot be used: what the snapshot has of it is shown',
      );
      return undefined;
    }
  }
}

function keyOf(serverId: string, path: DiscoveryPath): string {
  return `${discoveryPathString(path)} ${serverId}`;
}
