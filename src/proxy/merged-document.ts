import { firstHeader } from '../apimachinery/raw-headers.ts';
import { serveDiscovery } from '../discovery/documents.ts';
import { queryOf } from '../request/inbound.ts';
import type { AdmittedRequest } from '../request/router.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { localServerId, type MixedVersionProxyOptions } from './options.ts';

/** Given the code of a server's response: the response in its place, or `undefined` to pass it on. */
export type Replacement = (status: number) => Response | undefined;

/** The router's options that a merged document needs. */
export type MergedDocumentOptions = Pick<MixedVersionProxyOptions, 'serverId' | 'local' | 'preferredVersion'>;

/**
 * A merged discovery document or OpenAPI index, as the response to those whom the API server lets read its path:
 * authorisation is the API server's, the merged content ours.
 */
export async function mergedDocument(
  { inbound, requestInfo }: AdmittedRequest,
  table: RoutingTable,
  options: MergedDocumentOptions,
): Promise<Replacement | undefined> {
  const { headers } = inbound;
  const asked = {
    method: inbound.method,
    path: requestInfo.path,
    query: queryOf(inbound.target),
    accept: firstHeader(headers, 'accept'),
    acceptEncoding: firstHeader(headers, 'accept-encoding'),
    ifNoneMatch: firstHeader(headers, 'if-none-match'),
  };
  let wasMade: boolean | undefined;
  const onAggregated = (isMade: boolean): void => {
    wasMade = isMade;
  };
  const document = await serveDiscovery(asked, table, {
    localServerId: localServerId(options),
    onAggregated,
  });
  return (
    document &&
    ((status) => {
      if (!isAllowed(status)) return undefined;
      if (wasMade !== undefined) inbound.observed?.aggregatedDiscovery(wasMade);
      return document;
    })
  );
}

/** The server let the caller read the path, whether or not it has the document (or in that form). */
function isAllowed(status: number): boolean {
  return (status >= 200 && status < 300) || status === 304 || status === 404 || status === 406;
}
