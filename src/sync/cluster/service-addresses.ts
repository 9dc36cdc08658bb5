import type { Clock } from '../../runtime/clock.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import { createLimiter } from '../../runtime/limiter.ts';
import type { Snapshot, SnapshotApiService } from '../../snapshot/format/types.ts';
import { readFromFirst, type ServerDocuments, withReadTimeout } from '../documents/server-documents.ts';
import { type NamedService, resolveServiceAddress, type ServiceAddress } from './service-address.ts';

/** Services read at once. */
const concurrentServices = 8;

export interface ServiceAddressReader {
  /**
   * Gives APIServices the addresses of their Services. A Service that cannot be read keeps its known address. Never
   * rejects.
   *
   * @param readable servers to read from: the first that can be read counts; without any, nothing changes
   * @param timeout milliseconds for one Service
   */
  resolve(
    apiServices: readonly SnapshotApiService[],
    previous: Snapshot | undefined,
    readable: readonly ServerDocuments[],
    timeout: number,
    signal: AbortSignal,
  ): Promise<{ readonly apiServices: readonly SnapshotApiService[]; readonly warnings: readonly string[] }>;
}

type Resolved = Pick<ServiceAddress, 'address'> & { readonly warning?: string };

/**
 * Reads Services every `refreshMilliseconds`, and when APIServices name other ones. Services are not watched: that would
 * need a permission for all of them, and a Service keeps its address.
 */
export function createServiceAddressReader(clock: Clock, refreshMilliseconds: number): ServiceAddressReader {
  let last:
    | { readonly at: number; readonly named: string; readonly resolved: Map<string, Resolved> }
    | undefined;
  return {
    async resolve(apiServices, previous, readable, timeout, signal) {
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
        warnings: [...resolved.values()].flatMap(({ warning }) => warning ?? []),
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
    const { address, fault } = await withReadTimeout(timeout, signal, (deadline) =>
      readFromFirst(readable, (documents) => resolveServiceAddress(service, known, documents, deadline)),
    );
    // Without an address, requests for it go through the aggregator of an API server.
    return fault === undefined ? { address } : { address, warning: `${subject} has no address: ${fault}` };
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
