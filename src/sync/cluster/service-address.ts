import * as v from 'valibot';
import { hostPort } from '../../snapshot/format/schema-parts.ts';
import type { SnapshotApiService } from '../../snapshot/format/types.ts';
import { checkedDocument, getJsonIfServed } from '../documents/json-document.ts';
import { listObjects, withLabelSelector } from '../documents/list-objects.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';
import { joinHostPort } from './api-endpoints.ts';

/** The Service and port that an APIService names. */
export type NamedService = Pick<NonNullable<SnapshotApiService['service']>, 'namespace' | 'name' | 'port'>;

export function servicePath({ namespace, name }: NamedService): string {
  return `/api/v1/namespaces/${namespace}/services/${name}`;
}

export function serviceEndpointsPath({ namespace, name }: NamedService): string {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  return withLabelSelector(path, `kubernetes.io/service-name=${name}`);
}

/** The address of a Service, or why it has none. */
export type ServiceAddress =
  | { readonly address: string; readonly fault?: undefined }
  | { readonly address?: undefined; readonly fault: string };

const service = v.object({
  spec: v.object({
    // kube-apiserver fills in both. With `None` instead of an address, the Service is headless.
    type: v.nullish(v.string(), 'ClusterIP'),
    clusterIP: v.nullish(v.string(), ''),
    externalName: v.nullish(v.string(), ''),
    ports: v.nullish(v.array(v.object({ name: v.nullish(v.string(), ''), port: v.number() })), []),
  }),
});

const endpointSlice = v.object({
  endpoints: v.nullish(
    v.array(
      v.object({
        addresses: v.nullish(v.array(v.string()), []),
        conditions: v.nullish(v.object({ ready: v.nullish(v.boolean(), true) })),
      }),
    ),
    [],
  ),
  ports: v.nullish(v.array(v.object({ name: v.nullish(v.string(), ''), port: v.nullish(v.number()) })), []),
});

/**
 * The address of a Service, as kube-aggregator resolves it without `--enable-aggregator-routing` (k8s.io/apiserver
 * pkg/util/proxy/proxy.go, ResolveCluster): the cluster IP with the Service's own port, or the external name. Pods come
 * and go behind it without a new snapshot, and kube-proxy chooses a pod that is ready. A headless Service has no such
 * address, and upstream cannot reach it. Here it gets one of its ready endpoints (ResolveEndpoint in the same file), the
 * known one as long as it is ready.
 *
 * @param known its address so far
 * @throws {ReadError} when it cannot be read
 */
export async function resolveServiceAddress(
  named: NamedService,
  known: string | undefined,
  documents: ServerDocuments,
  signal: AbortSignal | undefined,
): Promise<ServiceAddress> {
  const path = servicePath(named);
  const document = await getJsonIfServed(documents, path, 'application/json', signal);
  if (document === undefined) return { fault: 'there is no such Service' };
  const { type, clusterIP, externalName, ports } = checkedDocument(service, path, document).spec;
  if (type === 'ExternalName') return checked(`${externalName}:${named.port}`);
  const port = ports?.find((candidate) => candidate.port === named.port);
  if (port === undefined) return { fault: `the Service has no port ${named.port}` };
  if (clusterIP !== 'None') return checked(joinHostPort(clusterIP ?? '', named.port));
  const slices = await listObjects(documents, serviceEndpointsPath(named), signal);
  const ready = slices.flatMap((slice) => readyAddresses(slice, path, port.name ?? '')).sort();
  const address = ready.find((candidate) => candidate === known) ?? ready[0];
  return address === undefined ? { fault: 'the Service has no endpoint that is ready' } : { address };
}

/** The port of an EndpointSlice has the name of the Service's port; its targetPort has been resolved. */
function readyAddresses(slice: unknown, path: string, portName: string): string[] {
  const { endpoints, ports } = checkedDocument(endpointSlice, path, slice);
  const port = ports?.find(({ name }) => (name ?? '') === portName)?.port;
  if (port == null) return [];
  return (endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ addresses }) => (addresses ?? []).map((host) => joinHostPort(host, port)))
    .filter((address) => v.is(hostPort, address));
}

/** A router would refuse the whole snapshot for an invalid address. */
function checked(address: string): ServiceAddress {
  return v.is(hostPort, address) ? { address } : { fault: `the Service has an invalid address: ${address}` };
}
