import * as v from 'valibot';
import { joinHostPort, parseHostPort } from '../../snapshot/addresses/host-port.ts';
import { checkedDocument } from '../documents/json-document.ts';

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
export function parseEndpointSlice(path: string, object: unknown): EndpointSlice {
  return checkedDocument(endpointSlice, path, object);
}

/** The valid addresses of an endpoint, as `host:port`. */
export function addressesAt(
  port: number | null | undefined,
  { addresses }: EndpointSlice['endpoints'][number],
): readonly string[] {
  if (port == null) return [];
  return addresses.map((host) => joinHostPort(host, port)).filter((address) => parseHostPort(address).ok);
}
