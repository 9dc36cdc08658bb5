import * as v from 'valibot';
import type { Clock } from '../../runtime/time.ts';
import { addressOf, ipAddressKey, joinHostPort, parseHostPort } from '../../snapshot/addresses/addresses.ts';
import { DocumentCache } from './document-cache.ts';
import { checkedDocument } from './server-documents.ts';
import type { ServerDescription } from './sync-server.ts';
import type { SyncTiming } from './timing.ts';

/** The Service `kubernetes`: each API server maintains its own endpoint. */
export const apiEndpointsPath = `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=${encodeURIComponent('kubernetes.io/service-name=kubernetes')}`;

/** `host:port` of the endpoints of one EndpointSlice. Conditions do not count: reading a server shows whether it is available. */
export function parseApiEndpoints(object: unknown): readonly string[] {
  const { endpoints, ports } = checkedDocument(endpointSlice, apiEndpointsPath, object);
  const port = (ports.find(({ name }) => name === 'https') ?? ports[0])?.port;
  if (port == null) return [];
  return endpoints
    .flatMap(({ addresses }) => addresses.map((host) => joinHostPort(host, port)))
    .filter((address) => parseHostPort(address).ok);
}

/** ID of a server of which only the address is known. */
export function endpointServerId(address: string): string {
  const plain = address.toLowerCase().replaceAll(/[[\]]/g, '');
  return `endpoint-${plain.replaceAll(/[^a-z0-9]/g, '-')}`;
}

/** The same text for all spellings of one `host:port`. */
export function placeOf(address: string): string {
  const parsed = parseHostPort(address);
  if (!parsed.ok) return address;
  const { host, ip, port } = parsed.value;
  return ip === undefined ? `${host.toLowerCase()} ${port}` : `${ipAddressKey(ip)} ${port}`;
}

/** The same text for all spellings of the IP address of a `host:port`; `undefined`: its host is a name. */
export function ipAddressOf(address: string): string | undefined {
  const parsed = parseHostPort(address);
  const ip = parsed.ok ? parsed.value.ip : undefined;
  return ip && ipAddressKey(ip);
}

export function placeOfServer(server: ServerDescription): string | undefined {
  const address = addressOf(server);
  return address === undefined ? undefined : placeOf(address);
}

/** k8s.io/api discovery/v1 types.go. Go writes a nil slice as null. */
const endpointSlice = v.object({
  endpoints: v.nullish(v.array(v.object({ addresses: v.nullish(v.array(v.string()), []) })), []),
  ports: v.nullish(v.array(v.object({ name: v.nullish(v.string(), ''), port: v.nullish(v.number()) })), []),
});

export interface EndpointNamesOptions {
  /** The DNS names in the serving certificate of the API server at `address`. Rejects if there is none. */
  readonly servingNames: (address: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly timing: SyncTiming;
  readonly onChange: () => void;
}

const maximumNames = 100;
const concurrentEndpoints = 8;

/**
 * Finds the names of endpoints' hosts. kube-apiserver writes only its IP address into the EndpointSlice, and its Lease
 * names its host. Its serving certificate connects the two: installers issue it for both.
 */
export class EndpointNames {
  readonly #options: EndpointNamesOptions;
  /** By address. */
  readonly #certificates: DocumentCache<readonly string[]>;
  #endpoints: readonly string[] = [];

  constructor(options: EndpointNamesOptions) {
    const { clock, timing } = options;
    this.#options = options;
    this.#certificates = new DocumentCache({
      clock,
      timeout: timing.identityTimeout,
      concurrentDocuments: concurrentEndpoints,
    });
  }

  /**
   * Reads the certificates that are due, and forgets endpoints that are gone.
   * @returns when all have been read. Never rejects.
   */
  async resolve(endpoints: readonly string[], signal: AbortSignal): Promise<void> {
    const { timing, servingNames, onChange } = this.#options;
    this.#endpoints = endpoints;
    this.#certificates.keep(new Set(endpoints));
    const before = JSON.stringify([...this.names()]);
    // The reader of the server reports a failure; here the endpoint only stays as it was.
    const wanted = endpoints.map((address) => ({
      key: address,
      refreshedAfter: timing.identityRefresh,
      read: async (deadline: AbortSignal) => (await servingNames(address, deadline)).slice(0, maximumNames),
    }));
    await this.#certificates.read(wanted, signal);
    if (!signal.aborted && JSON.stringify([...this.names()]) !== before) onChange();
  }

  /** True: the host of an endpoint is not known, as nobody has responded there yet. */
  get areAwaited(): boolean {
    return this.#endpoints.some((address) => this.#certificates.state(address).kind !== 'known');
  }

  /** By address. */
  names(): ReadonlyMap<string, readonly string[]> {
    return new Map(
      this.#endpoints.map((address) => {
        const state = this.#certificates.state(address);
        return [address, state.kind === 'known' ? state.value : []];
      }),
    );
  }
}
