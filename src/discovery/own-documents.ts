import * as v from 'valibot';
import { BoundedMap } from '../runtime/bounded-map.ts';
import { parseLargeJson } from '../runtime/large-json.ts';
import type { Logger } from '../runtime/logger.ts';
import { SharedFlights } from '../runtime/shared-flights.ts';
import { createTimeSlice } from '../runtime/time.ts';
import { jsonObject } from '../runtime/validation.ts';
import type { APIGroupDiscovery } from '../snapshot/format/schema.ts';
import { nameIssue } from '../snapshot/format/schema.ts';
import { ownGroups } from './forms/aggregated.ts';
import { type Classic, parseClassic } from './forms/classic.ts';
import type { DiscoveryPath } from './forms/discovery-path.ts';
import { DiscoveryDocumentError, parseWith } from './forms/parse-document.ts';

/** The document of one server about itself under a path. */
export type OwnDocument =
  /** `/api` and `/apis`: everything, in aggregated form. */
  | { readonly kind: 'groups'; readonly groups: readonly APIGroupDiscovery[] }
  /** `/apis/<group>`. */
  | { readonly kind: 'group'; readonly group: Classic<'APIGroup'> }
  /** `/api/<version>` and `/apis/<group>/<version>`. */
  | {
      readonly kind: 'resources';
      readonly group: string;
      readonly version: string;
      readonly resources: Classic<'APIResourceList'>['resources'];
    }
  | { readonly kind: 'openapi-v3'; readonly urls: Readonly<Record<string, string>> };

const aggregated = 'application/json;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList';

/**
 * Accepts the forms of a server's own discovery, newest first. From 1.35 on, plain v2 also holds what peers serve;
 * `profile=nopeer` excludes that, and older servers ignore it. v2beta1 (1.26 to 1.36) and the classic form, which a
 * server without aggregated discovery returns, are never merged (aggregated/wrapper.go).
 */
export const ownDiscoveryAccept = [
  `${aggregated};v=v2;profile=nopeer`,
  `${aggregated};v=v2`,
  `${aggregated};v=v2beta1`,
  'application/json',
].join(',');

/**
 * @param contentType of the response
 * @returns `undefined` where the server has no aggregated form of it: its list of groups is that of the APIService objects,
 *   which all servers share, and says nothing of what it serves
 * @throws {DiscoveryDocumentError} when it is not that document
 */
async function parseOwnDocument(
  path: DiscoveryPath,
  contentType: string,
  text: string,
): Promise<OwnDocument | undefined> {
  if (path.kind === 'groups' && !/;\s*as=APIGroupDiscoveryList/i.test(contentType)) return undefined;
  const slice = createTimeSlice();
  const parsed = await parseLargeJson(text, discoveryDepth, slice);
  if (!parsed.ok) throw new DiscoveryDocumentError(`This document ${parsed.issue.message}.`);
  const document = parsed.value;
  switch (path.kind) {
    case 'groups':
      return { kind: 'groups', groups: await ownGroups(document, path.legacy, slice) };
    case 'group': {
      const group = parseClassic('APIGroup', document);
      return group.name === path.group ? { kind: 'group', group } : undefined;
    }
    case 'resources': {
      const { resources } = parseClassic('APIResourceList', document);
      return { kind: 'resources', group: path.group, version: path.version, resources };
    }
    case 'openapi-v3':
      return { kind: 'openapi-v3', urls: parseOpenApiV3Index(document) };
  }
}

/** Levels of a document of a server: those of the deepest, an accepted type of a subresource, are 11. */
export const discoveryDepth = 64;
/** Documents kept at most: those of a large cluster by every client form, not what clients invent. */
const maximumDocuments = 512;
/** Characters of a text that is kept, to know it again. */
const maximumText = 1024 * 1024;

/** A document of a server about itself. As long as the server says the same, the object is the same. */
export interface ServersDocument {
  readonly serverId: string;
  readonly says: OwnDocument;
}

interface ServersResponse {
  readonly etag: string | undefined;
  readonly contentType: string;
  /** Reads the body. Not called where the ETag says that the document is known. `undefined`: it is too long. @throws when it broke off */
  text(): Promise<string | undefined>;
}

interface Remembered {
  /** With it the server is asked whether it still says the same. */
  readonly etag: string | undefined;
  /** Where there is no ETag: classic documents, the OpenAPI index. */
  readonly text: string | undefined;
  readonly document: ServersDocument | undefined;
}

/** The documents of servers as of the last question, so that unchanged documents are not read and merged again. */
export class OwnDocuments {
  readonly #logger: Logger;
  readonly #remembered = new BoundedMap<string, Remembered>(maximumDocuments);
  readonly #taking = new SharedFlights<ServersDocument | undefined>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  known(serverId: string, path: DiscoveryPath): Remembered | undefined {
    return this.#remembered.get(keyOf(serverId, path));
  }

  /** Forgets a document that the server says it does not have now. */
  forget(serverId: string, path: DiscoveryPath): void {
    this.#remembered.delete(keyOf(serverId, path));
  }

  /**
   * One caller reads the document for all that are given the same one at the same time.
   * @returns `undefined` where it is no document that can be merged: the snapshot's word holds then
   * @throws when the body broke off
   */
  async take(
    serverId: string,
    path: DiscoveryPath,
    response: ServersResponse,
  ): Promise<ServersDocument | undefined> {
    const { etag, contentType } = response;
    // Two documents without an ETag can be compared once both are read.
    const untagged = etag === undefined ? await response.text() : undefined;
    if (etag === undefined && untagged === undefined) return undefined;
    const key = keyOf(serverId, path);
    const isKnown = (known: Remembered | undefined): known is Remembered =>
      known !== undefined && (etag === undefined ? known.text === untagged : known.etag === etag);
    const known = this.known(serverId, path);
    if (isKnown(known)) return known.document;
    return this.#taking.once(`${key} ${etag ?? untagged}`, async () => {
      // A caller may have waited for a reading that failed, and another one may have ended well since.
      const current = this.known(serverId, path);
      if (isKnown(current)) return current.document;
      const text = untagged ?? (await response.text());
      if (text === undefined) return undefined;
      const says = await this.#read(serverId, path, contentType, text);
      const document = says && { serverId, says };
      this.#remembered.set(key, {
        etag,
        text: etag === undefined && text.length <= maximumText ? text : undefined,
        document,
      });
      return document;
    });
  }

  async #read(
    serverId: string,
    path: DiscoveryPath,
    contentType: string,
    text: string,
  ): Promise<OwnDocument | undefined> {
    try {
      return await parseOwnDocument(path, contentType, text);
    } catch (error) {
      if (!(error instanceof DiscoveryDocumentError)) throw error;
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

export function discoveryPathString(path: DiscoveryPath): string {
  switch (path.kind) {
    case 'groups':
      return path.legacy ? '/api' : '/apis';
    case 'group':
      return `/apis/${path.group}`;
    case 'resources':
      return path.group === '' ? `/api/${path.version}` : `/apis/${path.group}/${path.version}`;
    case 'openapi-v3':
      return '/openapi/v3';
  }
}

const index = v.object({ paths: jsonObject });
const indexEntry = v.object({ serverRelativeURL: v.string() });

/**
 * Reads the index `/openapi/v3`: path (for example `apis/batch/v1`) to the server's own `serverRelativeURL`.
 *
 * A URL that does not lie under `/openapi/v3/` is left out: clients follow it, and one that names a host
 * would lead them there with their credentials. So is a path that a snapshot may not have as a name.
 *
 * @param document parsed JSON of unknown origin
 * @throws {DiscoveryDocumentError} when it is no such index
 */
export function parseOpenApiV3Index(document: unknown): Record<string, string> {
  const refusal = 'This is no OpenAPI v3 index:';
  const { paths } = parseWith(index, document, refusal);
  const urls = Object.entries(paths).map(([path, entry]) => {
    const { serverRelativeURL } = parseWith(indexEntry, entry, refusal);
    return [path, serverRelativeURL] as const;
  });
  return Object.fromEntries(
    urls.filter(([path, url]) => nameIssue(path) === undefined && url.startsWith('/openapi/v3/')),
  );
}
