import { prewarmDiscovery } from '../discovery/documents.ts';
import { MergedOpenApiV2 } from '../discovery/openapi-v2/merged-openapi-v2.ts';
import type { Logger } from '../observe/logger.ts';
import { createDocumentReader, type DocumentReaderOptions } from '../proxy/read-server-document.ts';
import type { RoutingTable } from '../snapshot/routing-table.ts';

/** The merged documents of a router that has a background to make them in. */
export interface ClusterDocuments {
  readonly openApiV2: MergedOpenApiV2;
  /** Makes what clients will ask for, off the request path: the first one after a change must not wait for it. */
  prepare(table: RoutingTable): Promise<void>;
}

export function createClusterDocuments(options: DocumentReaderOptions, logger: Logger): ClusterDocuments {
  const openApiV2 = new MergedOpenApiV2({ read: createDocumentReader(options), clock: Date.now, logger });
  return {
    openApiV2,
    async prepare(table) {
      try {
        await prewarmDiscovery(table);
      } catch (error) {
        logger.error({ err: error }, 'The merged discovery documents could not be built');
      }
      await openApiV2.update(table);
    },
  };
}
