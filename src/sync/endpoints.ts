import * as v from 'valibot';
import type { Clock } from '../runtime/time.ts';
import { addressOf, ipAddressKey, joinHostPort, parseHostPort } from '../snapshot/addresses/addresses.ts';
import { createDocumentCache } from './document-cache.ts';
import { checkedDocument } from './server-documents.ts';
import type { ServerDescription } from './sync-server.ts';
import type { SyncTiming } from './timing.ts';

/** The Service `kubernetes`: each API server maintains its own endpoint. */
export const apiEndpointsPath = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
export const apiEndpointsSelector = 'kubernetes.io/service-name=kubernetes';

export interface ApiEndpoint {
  /** `host:port`; an IPv6 host in brackets. */
  readonly address: string;
  /** Names of the host in the EndpointSlice. kube-apiserver writes none; other control planes may. */
  readonly hostnames: readonly string[];
}

/** The endpoints of one EndpointSlice. Conditions do not count: reading a server shows whether it is available. */
export function parseApiEndpoints(object: unknown): readonly ApiEndpoint[] {
  const { endpoints, ports } = checkedDocument(endpointSlice, apiEndpointsPath, object);
  const port = (ports.find(({ name }) => name === 'https') ?? ports[0])?.port;
  if (port == null) return [];
  return endpoints.flatMap(({ addresses, hostname, nodeName }) => {
    const hostnames = [...new Set([hostname, nodeName])].filter((name) => name !== '');
    return addresses
      .map((host) => joinHostPort(host, port))
      .filter((address) => parseHostPort(address).ok)
      .map((address) => ({ address, hostnames }));
  });
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
  endpoints: v.nullish(
    v.array(
      v.object({
        addresses: v.nullish(v.array(v.string()), []),
        hostname: v.nullish(v.string(), ''),
        nodeName: v.nullish(v.string(), ''),
      }),
    ),
    [],
  ),
  ports: v.nullish(v.array(v.object({ name: v.nullish(v.string(), ''), port: v.nullish(v.number()) })), []),
});

export interface EndpointIdentitiesOptions {
  /** The DNS names in the serving certificate of the API server at `address`. Rejects if there is none. */
  readonly servingNames: (address: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly timing: SyncTiming;
  readonly onChange: () => void;
}

const maximumNames = 100;
const concurrentEndpoints = 8;

/**
 * Finds the server IDs of endpoints. kube-apiserver writes only its IP address into the EndpointSlice, and its Lease
 * names its host. Its serving certificate connects the two: installers issue it for both.
 */
export function createEndpointIdentities({
  servingNames,
  clock,
  timing,
  onChange,
}: EndpointIdentitiesOptions) {
  /** Server IDs, by address, and by the names of hosts. */
  const ids = createDocumentCache<readonly string[]>({
    clock,
    timeout: timing.identityTimeout,
    concurrentDocuments: concurrentEndpoints,
  });
  let known: readonly ApiEndpoint[] = [];
  const serverIds = (): ReadonlyMap<string, readonly string[]> =>
    new Map(
      known.map(({ address, hostnames }) => {
        const states = [...hostnames, address].map((key) => ids.state(key));
        return [
          address,
          [...new Set(states.flatMap((state) => (state.kind === 'known' ? state.value : [])))],
        ];
      }),
    );
  return {
    /**
     * Reads the certificates that are due, and forgets endpoints that are gone.
     * @returns when all have been read. Never rejects.
     */
    async resolve(endpoints: readonly ApiEndpoint[], signal: AbortSignal): Promise<void> {
      known = endpoints;
      const hostnames = new Set(endpoints.flatMap((endpoint) => endpoint.hostnames));
      const addresses = endpoints.map(({ address }) => address);
      ids.keep(new Set([...hostnames, ...addresses]));
      const before = JSON.stringify([...serverIds()]);
      await ids.read(
        [
          ...[...hostnames].map((name) => ({ key: name, read: () => serverIdsOf(name) })),
          // The reader of the server reports a failure; here the endpoint only stays as it was.
          ...addresses.map((address) => ({
            key: address,
            refreshedAfter: timing.identityRefresh,
            read: async (deadline: AbortSignal) => {
              const names = (await servingNames(address, deadline)).slice(0, maximumNames);
              return (await Promise.all(names.map(serverIdsOf))).flat();
            },
          })),
        ],
        signal,
      );
      if (!signal.aborted && JSON.stringify([...serverIds()]) !== before) onChange();
    },
    serverIds,
  };
}

/**
 * The IDs that the identity Lease of a kube-apiserver on a host can have: those of 1.28 and later, then those of 1.26
 * and 1.27. An ID does not show how its hash was made, so each form is given with both hashes. 1.25 makes a random ID
 * for each process, which no host name leads to.
 *
 * @param hostname host name of the server's operating system, not resolved and not shortened
 */
export async function serverIdsOf(hostname: string): Promise<readonly string[]> {
  const host = new TextEncoder().encode(hostname);
  const [newer, older] = await Promise.all([
    // k8s.io/apiserver pkg/server/config.go: host name and role, each behind its length in two bytes.
    hash([...lengthPrefixed(host), ...lengthPrefixed(new TextEncoder().encode('kube-apiserver'))]),
    // As in the Leases of 1.26 in test/fixtures.
    hash([...host]),
  ]);
  return [`apiserver-${newer}`, `kube-apiserver-${newer}`, `kube-apiserver-${older}`, `apiserver-${older}`];
}

function lengthPrefixed(bytes: Uint8Array): readonly number[] {
  return [bytes.length >> 8, bytes.length & 0xff, ...bytes];
}

/** The first 16 bytes of the SHA-256, in base32. */
async function hash(input: readonly number[]): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', Uint8Array.from(input));
  return base32(new Uint8Array(digest, 0, 16));
}

/** RFC 4648 section 6, in lower case and without padding. */
function base32(bytes: Uint8Array): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(value >> bits) & 31];
    }
  }
  return bits === 0 ? text : text + alphabet[(value << (5 - bits)) & 31];
}
