import * as v from 'valibot';
import { quoted } from '../../runtime/validation.ts';
import { type SnapshotApiService, apiService as snapshotApiService } from '../../snapshot/format/schema.ts';
import { checkedDocument } from '../documents/json-document.ts';
import { listObjectsIfServed } from '../documents/list-objects.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';

export const apiServicesPath = '/apis/apiregistration.k8s.io/v1/apiservices';

/** The part of k8s.io/kube-aggregator pkg/apis/apiregistration/v1/types.go that routing needs. */
const apiService = v.object({
  spec: v.object({
    group: v.nullish(v.string(), ''),
    version: v.string(),
    service: v.nullish(v.object({ namespace: v.string(), name: v.string() })),
  }),
  status: v.nullish(
    v.object({ conditions: v.nullish(v.array(v.object({ type: v.string(), status: v.string() })), []) }),
    {},
  ),
});

/**
 * Reads the APIServices of the cluster. Any API server that serves them has all: they are shared through etcd.
 *
 * @returns `undefined` if the server does not serve them
 * @throws {ReadError}
 */
export async function readApiServices(documents: ServerDocuments, signal: AbortSignal | undefined) {
  const list = await listObjectsIfServed(documents, apiServicesPath, signal);
  return list && apiServicesOf(list.items.map(parseApiService));
}

/**
 * Sorted by group and version, each once (upstream requires that the name says both), and the warnings about those that
 * routers would refuse.
 */
export function apiServicesOf(parsed: readonly ParsedApiService[]) {
  const byName = new Map<string, SnapshotApiService>();
  for (const { apiService } of parsed) {
    if (apiService === undefined) continue;
    const name = `${apiService.version}.${apiService.group}`;
    if (!byName.has(name)) byName.set(name, apiService);
  }
  return {
    apiServices: [...byName.values()].sort(byGroupAndVersion),
    warnings: parsed.flatMap(({ warning }) => warning ?? []),
  };
}

export interface ParsedApiService {
  /** `undefined` if routers would refuse it. */
  readonly apiService: SnapshotApiService | undefined;
  readonly warning?: string;
}

/** @throws {ReadError} `InvalidDocument` for any other object */
export function parseApiService(object: unknown): ParsedApiService {
  const { spec, status } = checkedDocument(apiService, apiServicesPath, object);
  const { group, version } = spec;
  // The API servers themselves serve it: for kube-aggregator such an APIService is always available.
  if (spec.service == null) return acceptable({ group, version, available: true });
  const { namespace, name } = spec.service;
  return acceptable({
    group,
    version,
    service: { namespace, name },
    // kube-aggregator sends no request to a service whose Available condition is missing or not True (handler_proxy.go).
    available: status.conditions.some(({ type, status }) => type === 'Available' && status === 'True'),
  });
}

/** Routers refuse a snapshot with any error, so one invalid APIService would block all updates. */
function acceptable(apiService: SnapshotApiService): ParsedApiService {
  const name = quoted(`${apiService.version}.${apiService.group}`);
  if (v.is(snapshotApiService, apiService)) return { apiService };
  return {
    apiService: undefined,
    warning: `APIService ${name} is left out: its spec does not meet upstream's validation`,
  };
}

export function byGroupAndVersion(
  one: { readonly group: string; readonly version: string },
  other: { readonly group: string; readonly version: string },
): number {
  if (one.group !== other.group) return one.group < other.group ? -1 : 1;
  if (one.version === other.version) return 0;
  return one.version < other.version ? -1 : 1;
}
