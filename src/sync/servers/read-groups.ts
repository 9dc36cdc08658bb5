import * as v from 'valibot';
import { parseAggregated } from '../../discovery/forms/parse-aggregated.ts';
import { getJson } from '../documents/json-document.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';
import { type ReadGroups, readClassic, type UnlistedSources } from './read-classic.ts';

const aggregated = 'application/json;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList';

/**
 * The server's own view, newest form first. Since 1.35 plain v2 holds what peers serve, too; `profile=nopeer`
 * asks for the server's own, and older servers ignore it. v2beta1 (1.26 to 1.36) and the classic form, which is
 * what a server without aggregated discovery answers, are never merged (aggregated/wrapper.go).
 */
export const ownDiscoveryAccept = [
  `${aggregated};v=v2;profile=nopeer`,
  `${aggregated};v=v2`,
  `${aggregated};v=v2beta1`,
  'application/json',
].join(',');

const aggregatedDocument = v.object({ kind: v.literal('APIGroupDiscoveryList') });

/**
 * Reads all groups a server itself serves, in the best form it has.
 *
 * @throws {ReadError | DiscoveryDocumentError} on any fault
 */
export async function readGroups(
  documents: ServerDocuments,
  concurrentDocuments: number,
  unlisted: UnlistedSources,
  signal: AbortSignal,
): Promise<ReadGroups> {
  const [api, apis] = await Promise.all([
    getJson(documents, '/api', ownDiscoveryAccept, signal),
    getJson(documents, '/apis', ownDiscoveryAccept, signal),
  ]);
  if (v.is(aggregatedDocument, api) && v.is(aggregatedDocument, apis)) {
    return { groups: [...parseAggregated(api), ...parseAggregated(apis)] };
  }
  return readClassic(documents, concurrentDocuments, unlisted, signal);
}
