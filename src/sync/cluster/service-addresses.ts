import type { Clock } from '../../runtime/clock.ts';
import { withDeadline } from '../../runtime/deadline.ts';
import { createLimiter } from '../../runtime/limiter.ts';
import type { Snapshot, SnapshotApiService } from '../../snapshot/format/types.ts';
import { ReadError, type ServerDocuments } from '../documents/server-documents.ts';
import { type NamedService, resolveServiceAddress, type ServiceAddress } from './service-address.ts';

/** Services read at once. */
const concurrentServices = 8;

export interface ServiceAddressReader {
  /**
   * Gives APIServices the addresses of their Services. What cannot be read keeps the address it had, if it had one.
   * Never rejects.
   *
   * @param readable servers to ask, the first that answers counts; none leaves everything as it was
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
 * Reads Services no more often than `refreshMilliseconds`, and when APIServices name others. They are not watched:
 * a right to watch one object is one to each, and a Service keeps its address for as long as it lives.
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
  const tooSlow = () => new ReadError('Unreachable', `no answer within ${timeout} ms`);
  try {
    const { address, fault } = await withDeadline(timeout, signal, tooSlow, (deadline) =>
      firstAnswer(readable, (documents) => resolveServiceAddress(service, known, documents, deadline)),
    );
    // Requests for it go through the aggregator of an API server, which knows as little.
    return fault === undefined ? { address } : { address, warning: `${subject} has no address: ${fault}` };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const outcome = known === undefined ? 'has no address' : 'keeps its address';
    return { address: known, warning: `${subject} ${outcome}: ${reason}` };
  }
}

async function firstAnswer<Answer>(
  readable: readonly ServerDocuments[],
  ask: (documents: ServerDocuments) => Promise<Answer>,
): Promise<Answer> {
  let failure: unknown;
  for (const documents of readable) {
    try {
      return await ask(documents);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
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
