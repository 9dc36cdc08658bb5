import * as v from 'valibot';
import { addressOf, ipAddressKey, joinHostPort, parseHostPort } from '../../snapshot/addresses/addresses.ts';
import { checkedDocument } from '../documents/json-document.ts';
import type { ServerDescription } from './sync-server.ts';

/** The Service `kubernetes`: each API server maintains its own endpoint. */
export const apiEndpointsPath = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
export const apiEndpointsSelector = 'kubernetes.io/service-name=kubernetes';

/** The endpoint of an API server in the Service `kubernetes`. */
export interface ApiEndpoint {
  /** `host:port`; an IPv6 host in brackets. */
  readonly address: string;
  /** Names of the host in the EndpointSlice. kube-apiserver writes none; other control planes may. */
  readonly hostnames: readonly string[];
}

/**
 * The endpoints of one EndpointSlice. Conditions do not count: reading a server shows whether it is available.
 *
 * @throws {ReadError} `InvalidDocument` for any other object
 */
export function parseApiEndpoints(object: unknown): readonly ApiEndpoint[] {
  const { endpoints, ports } = parseEndpointSlice(apiEndpointsPath, object);
  const port = (ports.find(({ name }) => name === 'https') ?? ports[0])?.port;
  return endpoints.flatMap((endpoint) => {
    const { hostname, nodeName } = endpoint;
    const hostnames = [...new Set([hostname, nodeName])].filter((name) => name !== '');
    return addressesAt(port, endpoint).map((address) => ({ address, hostnames }));
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
        conditions: v.nullish(v.object({ ready: v.nullish(v.boolean(), true) }), {}),
        hostname: v.nullish(v.string(), ''),
        nodeName: v.nullish(v.string(), ''),
      }),
    ),
    [],
  ),
  ports: v.nullish(v.array(v.object({ name: v.nullish(v.string(), ''), port: v.nullish(v.number()) })), []),
});

type EndpointSlice = v.InferOutput<typeof endpointSlice>;

/** @throws {ReadError} `InvalidDocument` for any other object */
function parseEndpointSlice(path: string, object: unknown): EndpointSlice {
  return checkedDocument(endpointSlice, path, object);
}

/** The valid addresses of an endpoint, as `host:port`. */
function addressesAt(
  port: number | null | undefined,
  { addresses }: EndpointSlice['endpoints'][number],
): readonly string[] {
  if (port == null) return [];
  return addresses.map((host) => joinHostPort(host, port)).filter((address) => parseHostPort(address).ok);
}
