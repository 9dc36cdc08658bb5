import type { SnapshotApiService } from '../../snapshot/format/types.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';
import { apiServicesPath, readApiServices } from './api-services.ts';
import {
  type CustomResource,
  customResourceDefinitionsPath,
  type GroupAndVersion,
  groupVersionsOfCustomResources,
  readCustomResources,
} from './custom-resource-groups.ts';

/** Objects that all API servers of a cluster share. `undefined`: could not be read, so what was known stays. */
export interface ClusterObjects {
  readonly apiServices: readonly SnapshotApiService[] | undefined;
  readonly customResourceGroups: readonly GroupAndVersion[] | undefined;
  /** What the groups are of. */
  readonly customResources?: readonly CustomResource[] | undefined;
  readonly warnings: readonly string[];
}

/** Reads the shared objects from the first of `servers` that gives them. Never throws. */
export async function readClusterObjects(
  servers: readonly ServerDocuments[],
  signal?: AbortSignal,
): Promise<ClusterObjects> {
  const warnings: string[] = [];
  const first = <Objects>(path: string, read: (documents: ServerDocuments) => Promise<Objects>) =>
    firstReadable(servers, path, read, warnings);
  const [apiServices, customResources] = await Promise.all([
    first(apiServicesPath, (documents) =>
      readApiServices(documents, (warning) => warnings.push(warning), signal),
    ),
    first(customResourceDefinitionsPath, (documents) => readCustomResources(documents, signal)),
  ]);
  const customResourceGroups = customResources && groupVersionsOfCustomResources(customResources);
  return { apiServices, customResourceGroups, customResources, warnings };
}

async function firstReadable<Objects>(
  servers: readonly ServerDocuments[],
  path: string,
  read: (documents: ServerDocuments) => Promise<Objects>,
  warnings: string[],
): Promise<Objects | undefined> {
  let reason = 'no server can be read';
  for (const documents of servers) {
    try {
      return await read(documents);
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
  }
  warnings.push(`what is known of ${path} stays as it was: ${reason}`);
  return undefined;
}
