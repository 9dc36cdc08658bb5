import * as v from 'valibot';
import { parseHostPort, parseHttpsOrigin } from '../../snapshot/addresses/host-port.ts';
import { checkedDocument } from '../documents/json-document.ts';
import type { ServerDescription } from './sync-server.ts';

/** The Service `kubernetes`, whose endpoints the API servers themselves keep, each its own. */
export const apiEndpointsPath = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
export const apiEndpointsSelector = 'kubernetes.io/service-name=kubernetes';

/** Where an API server answers, as the Service `kubernetes` says. */
export interface ApiEndpoint {
  /** `host:port`; an IPv6 host in brackets. */
  readonly address: string;
  /** What the EndpointSlice calls the host. kube-apiserver leaves it out; other control planes may not. */
  readonly hostnames: readonly string[];
}

const endpointSlice = v.object({
  endpoints: v.nullish(
    v.array(
      v.object({
        addresses: v.nullish(v.array(v.string()), []),
        hostname: v.nullish(v.string()),
        nodeName: v.nullish(v.string()),
      }),
    ),
  ),
  ports: v.nullish(v.array(v.object({ name: v.nullish(v.string()), port: v.nullish(v.number()) }))),
});

/**
 * The endpoints of one EndpointSlice. Conditions are not looked at: whether a server answers is seen by asking it.
 *
 * @throws {ReadError} `InvalidDocument` for what is no EndpointSlice
 */
export function parseApiEndpoints(object: unknown): readonly ApiEndpoint[] {
  const { endpoints, ports } = checkedDocument(endpointSlice, apiEndpointsPath, object);
  const port = (ports?.find(({ name }) => name === 'https') ?? ports?.[0])?.port;
  if (port == null) return [];
  return (endpoints ?? []).flatMap(({ addresses, hostname, nodeName }) => {
    const hostnames = [...new Set([hostname, nodeName].filter((name) => name != null && name !== ''))];
    return (addresses ?? [])
      .map((host) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
      .filter((address) => parseHostPort(address).ok)
      .map((address) => ({ address, hostnames: hostnames.filter((name) => name != null) }));
  });
}

/** ID of a server of which nothing is known but where it answers. */
export function endpointServerId(address: string): string {
  const plain = address.toLowerCase().replaceAll(/[[\]]/g, '');
  return `endpoint-${plain.replaceAll(/[^a-z0-9]/g, '-')}`;
}

/** One text for one `host:port`, however it is spelled. */
export function placeOf(address: string): string {
  const parsed = parseHostPort(address);
  if (!parsed.ok) return address;
  const { host, ip, port } = parsed.value;
  return ip === undefined ? `${host.toLowerCase()} ${port}` : `IPv${ip.family} ${ip.bits} ${port}`;
}

/** Where a server is, as `host:port`, whether it is described by address or by URL. */
export function addressOf({ address, url }: ServerDescription): string | undefined {
  if (address !== undefined || url === undefined) return address;
  const parsed = parseHttpsOrigin(url);
  if (!parsed.ok) return undefined;
  const { host, port } = parsed.value;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function placeOfServer(server: ServerDescription): string | undefined {
  const address = addressOf(server);
  return address === undefined ? undefined : placeOf(address);
}
