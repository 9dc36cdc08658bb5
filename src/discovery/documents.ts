import { pause } from '../runtime/time.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { type DiscoveryPath, parseDiscoveryPath } from './forms/discovery-path.ts';
import { contentType, negotiateForm, respondWith } from './forms/encoded-document.ts';
import { mergedDocumentsOf } from './merged-documents.ts';
import { ownDiscoveryAccept, type ServersDocument } from './own-documents.ts';

export interface DiscoveryRequest {
  readonly method: string;
  /** Decoded, Go's `URL.Path`. */
  readonly path: string;
  readonly accept?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly acceptEncoding?: string | undefined;
}

interface DiscoveryOptions {
  /** Server the router stands in front of; `undefined` where there is none. */
  readonly localServerId?: string | undefined;
  /**
   * Told that the response is an aggregated document (v2, v2beta1).
   * @param isMade whether it was there, from an earlier request; else it was written for this one
   */
  readonly onAggregated?: ((isMade: boolean) => void) | undefined;
}

/** A document that is merged of what a server says of itself and of what the snapshot has of the others. */
export interface MergedDiscoveryRequest {
  readonly path: DiscoveryPath;
  /** The forms in which a server says what it serves itself. */
  readonly accept: string;
  readonly isKnown: boolean;
  /**
   * @param own what a server says of itself now. Default: what the snapshot has
   * @returns `undefined` when no server has the document
   */
  respond(own?: ServersDocument): Promise<Response | undefined>;
}

/**
 * Serves `/api`, `/apis`, `/apis/<group>`, `/apis/<group>/<version>`, `/api/<version>` and the index
 * `/openapi/v3` with what all servers serve together, in the form the client asks for.
 *
 * The caller's permission to read the document is not checked here. The content is the same on every router that holds
 * the snapshot, the ETag with it, unless the router's server says something else by now.
 *
 * @returns `undefined` when the local server is to respond: no such document, no GET or HEAD, a form that is
 *   not merged (YAML, protobuf) or does not exist, the local view asked for (`profile=nopeer`), or a snapshot that does
 *   not know what the local server discovers
 */
export function mergedDiscovery(
  request: DiscoveryRequest,
  table: RoutingTable,
  options: DiscoveryOptions,
): MergedDiscoveryRequest | undefined {
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
  const path = parseDiscoveryPath(request.path);
  if (path === undefined || !isLocalServerKnown(path, table, options)) return undefined;

  const form = negotiateForm(path, request.accept);
  if (form === undefined) return undefined;
  const documents = mergedDocumentsOf(table);
  return {
    path,
    isKnown: documents.isKnown(path),
    accept: path.kind === 'groups' ? ownDiscoveryAccept : 'application/json',
    async respond(own) {
      const merged = await documents.get(path, form, own);
      if (merged === undefined) return undefined;
      if (form !== 'plain') options.onAggregated?.(merged.wasMade);
      return respondWith(
        merged.document,
        request,
        form === 'plain' ? classicResponse : { contentType: contentType(form), cacheControl: 'public' },
      );
    },
  };
}

/**
 * API servers let aggregated discovery be stored and everything else not; both are asked for again with If-None-Match
 * (upstream etag.go, filters/cachecontrol.go).
 */
const classicResponse = { contentType: contentType('plain'), cacheControl: 'no-cache, private' };

/**
 * Merges what the servers serve, in slices. To be called when a table is accepted, so that no client waits for it. Documents
 * are written when they are asked for.
 */
export async function prewarmDiscovery(table: RoutingTable): Promise<void> {
  await pause();
  await mergedDocumentsOf(table).discovery?.inSlices();
}

/**
 * A server whose own discovery is not in the snapshot may serve what the merged document lacks. A router in
 * front of it must not hide that. A server the snapshot has never heard of is about to be in the next one.
 */
function isLocalServerKnown(
  path: DiscoveryPath,
  { snapshot }: RoutingTable,
  { localServerId }: DiscoveryOptions,
): boolean {
  const local = snapshot.servers.find(({ id }) => id === localServerId);
  if (local === undefined) return true;
  const set = snapshot.servedSets[local.serves];
  return (path.kind === 'openapi-v3' ? set?.openapiV3 : set?.discovery) !== undefined;
}
