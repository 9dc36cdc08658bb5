import { ApiError } from './api-error.ts';
import type { KubernetesObject } from './kubernetes-object.ts';
import type { ResourceRequest, ServerContext } from './resource-request.ts';
import type { ServedResources } from './served-resources.ts';
import type { StorageKey } from './store.ts';

/**
 * The group version that a server stores a resource at: the first that has it, whatever version is asked for
 * (k8s.io/apiserver pkg/endpoints/discovery/storageversionhash.go).
 */
export function storageVersionOf(all: ServedResources, { group, resource }: StorageKey): string {
  const found = all
    .groupVersions()
    .find((one) => one.group === group && one.resources.some((each) => each.resource === resource));
  return found?.version ?? 'v1';
}

/** An object as it is stored, of whatever version it came in. */
export function asStored({ server, served }: ResourceRequest, object: KubernetesObject): KubernetesObject {
  const { group } = served.storage;
  const version = storageVersionOf(server.served, served.storage);
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return { ...object, apiVersion, kind: served.kind };
}

/**
 * A stored object, as far as the server knows the version that it is stored at: a newer server may have written it.
 * @throws {ApiError} 500 without a reason, as any error of a codec is (k8s.io/apimachinery pkg/runtime/error.go)
 */
export function decoded(
  { version: { decodableVersions } }: ServerContext,
  object: KubernetesObject,
): KubernetesObject {
  const { apiVersion = 'v1', kind = '' } = object;
  if (decodableVersions.has(apiVersion)) return object;
  throw new ApiError(
    '',
    `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/api/legacyscheme/scheme.go:30"`,
  );
}
