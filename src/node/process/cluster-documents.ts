import { prewarmDiscovery } from '../../discovery/documents.ts';
import { MergedOpenApiV2 } from '../../discovery/openapi-v2/merged-openapi-v2.ts';
import { OpenApiV3Indexes } from '../../discovery/openapi-v3/openapi-v3-indexes.ts';
import {
  createDocumentReader,
  type DocumentReaderOptions,
} from '../../proxy/delivery/read-server-document.ts';
import type { PreferredVersionOptions } from '../../routing/decision.ts';
import { ledByPreference } from '../../routing/preferred-version.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** The merged documents of a router that has a background to make them in. */
export interface ClusterDocuments {
  readonly openApiV2: MergedOpenApiV2;
  readonly openApiV3: OpenApiV3Indexes;
  /** Makes what clients will ask for, off the request path: the first one after a change must not wait for it. */
  prepare(table: RoutingTable, preferredVersion: PreferredVersionOptions): Promise<void>;
  /** Ends the reading. Without it, whoever closes the connections would have the servers blamed for it. */
  stop(): void;
}

/** @param onReadFailed told of each document of a server that could not be read, for metrics */
export function createClusterDocuments(
  options: DocumentReaderOptions,
  logger: Logger,
  onReadFailed: () => void = () => {},
): ClusterDocuments {
  const readDocument = createDocumentReader(options);
  const read: typeof readDocument = async (request) => {
    try {
      return await readDocument(request);
    } catch (error) {
      onReadFailed();
      throw error;
    }
  };
  const stop = new AbortController();
  const common = {
    read,
    clock: () => performance.now(),
    logger,
    localServerId: () => options.local?.id,
    signal: stop.signal,
  };
  const openApiV2 = new MergedOpenApiV2(common);
  return {
    openApiV2,
    openApiV3: new OpenApiV3Indexes(common),
    async prepare(table, preferredVersion) {
      const led = ledByPreference(table, preferredVersion);
      try {
        await prewarmDiscovery(led);
      } catch (error) {
        logger.error({ err: error }, 'The merged discovery documents could not be built');
      }
      await openApiV2.update(led);
    },
    stop: () => stop.abort(),
  };
}
