import { errorMessage } from '../../runtime/error-message.ts';
import type { SnapshotApiService } from '../../snapshot/format/types.ts';
import { readFromFirst, type ServerDocuments } from '../documents/server-documents.ts';
import { apiServicesPath, readApiServices } from './api-services.ts';
import {
  type CustomResource,
  customResourceDefinitionsPath,
  type GroupAndVersion,
  groupVersionsOfCustomResources,
  readCustomResources,
} from './custom-resource-groups.ts';

/** Objects that all API servers of a cluster share. `undefined`: nothing was read, the last known ones are used. */
export interface ClusterObjects {
  readonly apiServices: readonly SnapshotApiService[] | undefined;
  readonly customResourceGroups: readonly GroupAndVersion[] | undefined;
  /** The definitions behind `customResourceGroups`. */
  readonly customResources?: readonly CustomResource[] | undefined;
  readonly warnings: readonly string[];
}

/**
 * Reads the shared objects from the first of `servers` that has them. Never rejects.
 *
 * @returns `isComplete`: none of them could not be read, though some may not be served
 */
export async function readClusterObjects(
  servers: readonly ServerDocuments[],
  signal?: AbortSignal,
): Promise<ClusterObjects & { readonly isComplete: boolean }> {
  const warnings: string[] = [];
  let isComplete = true;
  async function first<Objects>(
    path: string,
    read: (documents: ServerDocuments) => Promise<Objects>,
  ): Promise<Objects | undefined> {
    try {
      return await readFromFirst(servers, read);
    } catch (error) {
      isComplete = false;
      warnings.push(
        `${path} cannot be read, so only what was known of it before is used: ${errorMessage(error)}`,
      );
      return undefined;
    }
  }
  const [services, customResources] = await Promise.all([
    first(apiServicesPath, (documents) => readApiServices(documents, signal)),
    first(customResourceDefinitionsPath, (documents) => readCustomResources(documents, signal)),
  ]);
  const customResourceGroups = customResources && groupVersionsOfCustomResources(customResources);
  warnings.push(...(services?.warnings ?? []));
  return { apiServices: services?.apiServices, customResourceGroups, customResources, warnings, isComplete };
}
