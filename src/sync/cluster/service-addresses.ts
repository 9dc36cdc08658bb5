import * as v from 'valibot';
import type { Clock } from '../../runtime/clock.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import { createLimiter } from '../../runtime/limiter.ts';
import { joinHostPort, parseHostPort } from '../../snapshot/addresses/host-port.ts';
import type { Snapshot, SnapshotApiService } from '../../snapshot/format/types.ts';
import { checkedDocument, getJsonIfServed } from '../documents/json-document.ts';
import { listObjects, withLabelSelector } from '../documents/list-objects.ts';
import { readFromFirst, type ServerDocuments, withReadTimeout } from '../documents/server-documents.ts';
import { addressesAt, parseEndpointSlice } from './endpoint-slices.ts';

/** Services read at once. */
const concurrentServices = 8;

type Resolved = Pick<ServiceAddress, 'address'> & { readonly warning?: string };

/**
 * Reads Services every `refreshMilliseconds`, and when APIServices name other ones. Services are not watched: that would
 * need a permission for all of them, and a Service keeps its address.
 */
export function createServiceAddressReader(clock: Clock, refreshMilliseconds: number) {
  let last:
    | { readonly at: number; readonly named: string; readonly resolved: Map<string, Resolved> }
    | undefined;
  return {
    /**
     * Gives APIServices the addresses of their Services. A Service that cannot be read keeps its known address. Never
     * rejects.
     *
     * @param readable servers to read from: the first that can be read counts; without any, nothing changes
     * @param timeout milliseconds for one Service
     */
    async resolve(
      apiServices: readonly SnapshotApiService[],
      previous: Snapshot | undefined,
      readable: readonly ServerDocuments[],
      timeout: number,
      signal: AbortSignal,
    ) {
      const services = new Map(
        apiServices.flatMap(({ service }) => (service === undefined ? [] : [[keyOf(service), service]])),
      );
      const known = knownAddresses(previous);
      const named = [...services.keys()].sort().join(' ');
      const now = clock.monotonic();
      const isDue = last === undefined || last.named !== named || now - last.at >= refreshMilliseconds;
      let resolved = last?.resolved ?? new Map<string, Resolved>();
      if (services.size > 0 && isDue && readable.length > 0) {
        const limit = createLimiter(concurrentServices);
        const read = async ([key, service]: [string, NamedService]): Promise<[string, Resolved]> => [
          key,
          await limit(() => resolveOne(service, known.get(key), readable, timeout, signal)),
        ];
        resolved = new Map(await Promise.all([...services].map(read)));
        last = { at: now, named, resolved };
      }
      return {
        apiServices: apiServices.map((apiService) => withAddress(apiService, resolved, known)),
        warnings: [...services.keys()].flatMap((key) => resolved.get(key)?.warning ?? []),
      };
    },
  };
}

async function resolveOne(
  service: NamedService,
  known: string | undefined,
  readable: readonly ServerDocuments[],
  timeout: number,
  signal: AbortSignal,
): Promise<Resolved> {
  const subject = `Service ${service.namespace}/${service.name}, which an APIService names,`;
  try {
    const { address, issue } = await withReadTimeout(timeout, signal, (deadline) =>
      readFromFirst(readable, (documents) => resolveServiceAddress(service, known, documents, deadline)),
    );
    // Without an address, requests for it go through the aggregator of an API server.
    return issue === undefined ? { address } : { address, warning: `${subject} has no address: ${issue}` };
  } catch (error) {
    const outcome = known === undefined ? 'has no address' : 'keeps its address';
    return { address: known, warning: `${subject} ${outcome}: ${errorMessage(error)}` };
  }
}

function withAddress(
  apiService: SnapshotApiService,
  resolved: ReadonlyMap<string, Resolved>,
  known: ReadonlyMap<string, string>,
): SnapshotApiService {
  const { service } = apiService;
  if (service === undefined) return apiService;
  const key = keyOf(service);
  const found = resolved.get(key);
  const address = found === undefined ? known.get(key) : found.address;
  return address === undefined ? apiService : { ...apiService, service: { ...service, address } };
}

function knownAddresses(previous: Snapshot | undefined): ReadonlyMap<string, string> {
  return new Map(
    (previous?.apiServices ?? []).flatMap(({ service }) =>
      service?.address === undefined ? [] : [[keyOf(service), service.address]],
    ),
  );
}

function keyOf({ namespace, name, port }: NamedService): string {
  return `${namespace}/${name}:${port}`;
}

/** The Service and port that an APIService names. */
type NamedService = Pick<NonNullable<SnapshotApiService['service']>, 'namespace' | 'name' | 'port'>;

export function servicePath({ namespace, name }: NamedService): string {
  return `/api/v1/namespaces/${namespace}/services/${name}`;
}

export function serviceEndpointsPath({ namespace, name }: NamedService): string {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  return withLabelSelector(path, `kubernetes.io/service-name=${name}`);
}

/** The address of a Service, or why it has none. */
type ServiceAddress =
  | { readonly address: string; readonly issue?: undefined }
  | { readonly address?: undefined; readonly issue: string };

const service = v.object({
  spec: v.object({
    // kube-apiserver fills in both. With `None` instead of an address, the Service is headless.
    type: v.nullish(v.string(), 'ClusterIP'),
    clusterIP: v.nullish(v.string(), ''),
    externalName: v.nullish(v.string(), ''),
    ports: v.nullish(v.array(v.object({ name: v.nullish(v.string(), ''), port: v.number() })), []),
  }),
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
  const document = await getJsonIfServed(documents, path, signal);
  if (document === undefined) return { issue: 'there is no such Service' };
  const { type, clusterIP, externalName, ports } = checkedDocument(service, path, document).spec;
  if (type === 'ExternalName') return checked(`${externalName}:${named.port}`);
  const port = ports.find((candidate) => candidate.port === named.port);
  if (port === undefined) return { issue: `the Service has no port ${named.port}` };
  if (clusterIP !== 'None') return checked(joinHostPort(clusterIP, named.port));
  const slices = await listObjects(documents, serviceEndpointsPath(named), signal);
  const ready = slices.flatMap((slice) => readyAddresses(slice, path, port.name)).sort();
  const address = ready.find((candidate) => candidate === known) ?? ready[0];
  return address === undefined ? { issue: 'the Service has no endpoint that is ready' } : { address };
}

/** The port of an EndpointSlice has the name of the Service's port; its targetPort has been resolved. */
function readyAddresses(slice: unknown, path: string, portName: string): string[] {
  const { endpoints, ports } = parseEndpointSlice(path, slice);
  const port = ports.find(({ name }) => name === portName)?.port;
  return endpoints
    .filter(({ conditions }) => conditions.ready)
    .flatMap((endpoint) => addressesAt(port, endpoint));
}

/** A router would refuse the whole snapshot for an invalid address. */
function checked(address: string): ServiceAddress {
  return parseHostPort(address).ok
    ? { address }
    : { issue: `the Service has an invalid address: ${address}` };
}
