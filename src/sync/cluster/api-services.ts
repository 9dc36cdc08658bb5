import * as v from 'valibot';
import { quoted } from '../../snapshot/format/issues.ts';
import { apiService as snapshotApiService } from '../../snapshot/format/schema.ts';
import type { SnapshotApiService } from '../../snapshot/format/types.ts';
import { checkedDocument } from '../documents/json-document.ts';
import { listObjectsIfServed } from '../documents/list-objects.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';

export const apiServicesPath = '/apis/apiregistration.k8s.io/v1/apiservices';

/** The part of k8s.io/kube-aggregator pkg/apis/apiregistration/v1/types.go that routing needs. */
const apiService = v.object({
  spec: v.object({
    group: v.nullish(v.string(), ''),
    version: v.string(),
    service: v.nullish(
      v.object({
        namespace: v.string(),
        name: v.string(),
        // 443 if the object was stored before the field had a default.
        port: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65535)), 443),
      }),
    ),
    caBundle: v.nullish(v.string()),
    insecureSkipTLSVerify: v.nullish(v.boolean()),
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
  /** `undefined` if routers would refuse it whatever is left out of it. */
  readonly apiService: SnapshotApiService | undefined;
  readonly warning?: string;
}

/** @throws {ReadError} `InvalidDocument` for any other object */
export function parseApiService(object: unknown): ParsedApiService {
  const { spec, status } = checkedDocument(apiService, apiServicesPath, object);
  const { group, version } = spec;
  // The API servers themselves serve it: for kube-aggregator such an APIService is always available.
  if (spec.service == null) return acceptable([{ group, version, available: true }]);
  const { namespace, name, port } = spec.service;
  const known: SnapshotApiService = {
    group,
    version,
    service: { namespace, name, port },
    available: false,
  };
  const whole: SnapshotApiService = {
    ...known,
    ...(spec.caBundle == null || spec.caBundle === '' ? {} : { caBundle: decodeBase64(spec.caBundle) }),
    ...(spec.insecureSkipTLSVerify === true ? { insecureSkipTLSVerify: true } : {}),
    // kube-aggregator sends no request to a service whose Available condition is missing or not True (handler_proxy.go).
    available: status.conditions.some(({ type, status }) => type === 'Available' && status === 'True'),
  };
  // It must not become available without its CA bundle: the runtime's own roots would be trusted instead.
  return acceptable([whole, known]);
}

/**
 * The first that routers accept. They refuse a snapshot with any error, so one invalid APIService would block all updates.
 */
function acceptable(candidates: readonly SnapshotApiService[]): ParsedApiService {
  const [whole] = candidates;
  const apiService = candidates.find((candidate) => v.is(snapshotApiService, candidate));
  if (whole === undefined || apiService === whole) return { apiService };
  const outcome = apiService === undefined ? 'left out' : 'treated as not available';
  const name = quoted(`${whole.version}.${whole.group}`);
  return {
    apiService,
    warning: `APIService ${name} is ${outcome}: its spec does not meet upstream's validation`,
  };
}

/** A `[]byte` field in JSON is base64 (RFC 4648 section 4); this one holds PEM, which is ASCII. */
function decodeBase64(text: string): string {
  try {
    return atob(text);
  } catch {
    return 'not base64';
  }
}

export function byGroupAndVersion(
  one: { readonly group: string; readonly version: string },
  other: { readonly group: string; readonly version: string },
): number {
  if (one.group !== other.group) return one.group < other.group ? -1 : 1;
  if (one.version === other.version) return 0;
  return one.version < other.version ? -1 : 1;
}
