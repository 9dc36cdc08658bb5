import * as v from 'valibot';
import { hostPort } from '../../snapshot/format/schema-parts.ts';
import type { SnapshotApiService } from '../../snapshot/format/types.ts';
import { checkedDocument, getJsonIfServed } from '../documents/json-document.ts';
import { listObjects } from '../documents/list-objects.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';

/** The Service that an APIService names, and the port of it. */
export type NamedService = Pick<NonNullable<SnapshotApiService['service']>, 'namespace' | 'name' | 'port'>;

export function servicePath({ namespace, name }: NamedService): string {
  return `/api/v1/namespaces/${namespace}/services/${name}`;
}

export function serviceEndpointsPath({ namespace, name }: NamedService): string {
  const selector = encodeURIComponent(`kubernetes.io/service-name=${name}`);
  return `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${selector}`;
}

/** Where a Service answers, or why that is nowhere. */
export type ServiceAddress =
  | { readonly address: string; readonly fault?: undefined }
  | { readonly address?: undefined; readonly fault: string };

const service = v.object({
  spec: v.object({
    // kube-apiserver fills both in; `None` in place of an address is a headless Service.
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
 * Where a Service answers, as kube-aggregator resolves it without `--enable-aggregator-routing`
 * (k8s.io/apiserver pkg/util/proxy/proxy.go, ResolveCluster): the cluster IP with the Service's own port, or the
 * external name. That address outlives the pods behind it, so that a rollout makes no new snapshot, and kube-proxy
 * chooses a pod that is ready. A headless Service has none, and upstream gives it up; here one of its ready
 * endpoints is taken (ResolveEndpoint in the same file), the known one as long as it is among them.
 *
 * @param known what it answered at so far
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
  if (clusterIP !== 'None') return checked(joined(clusterIP ?? '', named.port));
  const slices = await listObjects(documents, serviceEndpointsPath(named), signal);
  const ready = slices.flatMap((slice) => readyAddresses(slice, path, port.name ?? '')).sort();
  const address = ready.find((candidate) => candidate === known) ?? ready[0];
  return address === undefined ? { fault: 'the Service has no endpoint that is ready' } : { address };
}

/** An EndpointSlice names the port of the pods by the name of the Service's: targetPort is resolved in it already. */
function readyAddresses(slice: unknown, path: string, portName: string): string[] {
  const { endpoints, ports } = checkedDocument(endpointSlice, path, slice);
  const port = ports?.find(({ name }) => (name ?? '') === portName)?.port;
  if (port == null) return [];
  return (endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ addresses }) => (addresses ?? []).map((host) => joined(host, port)))
    .filter((address) => v.is(hostPort, address));
}

function joined(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** A router refuses what is no address, and with it the whole snapshot. */
function checked(address: string): ServiceAddress {
  return v.is(hostPort, address) ? { address } : { fault: `the Service names no address: ${address}` };
}
