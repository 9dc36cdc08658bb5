import { errorMessage } from '../../runtime/errors.ts';
import type { SnapshotApiService } from '../../snapshot/format/schema.ts';
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
  /** About the APIServices. */
  readonly warnings: readonly string[];
}

export interface ReadClusterObjects extends ClusterObjects {
  /** Why objects could not be read. That no server serves them is no failure. */
  readonly failures: readonly string[];
}

/** Reads the shared objects from the first of `servers` that has them. Never rejects. */
export async function readClusterObjects(
  servers: readonly ServerDocuments[],
  signal?: AbortSignal,
): Promise<ReadClusterObjects> {
  const failures: string[] = [];
  async function first<Objects>(
    path: string,
    read: (documents: ServerDocuments) => Promise<Objects>,
  ): Promise<Objects | undefined> {
    try {
      return await readFromFirst(servers, read);
    } catch (error) {
      failures.push(
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
  const { apiServices, warnings = [] } = services ?? {};
  return { apiServices, customResourceGroups, customResources, warnings, failures };
}
