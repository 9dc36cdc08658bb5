import type { Destination } from '../request/destination.ts';
import { cleanResponseHeaders, withAuditIdForClient } from '../request/headers.ts';
import type { OtherVersion } from '../request/inbound.ts';
import type { ResponseHead, Transport } from '../request/transport.ts';
import type { AdmittedRequest, Send } from './admitted-request.ts';
import { contentToJudge, insteadOf } from './judge-response.ts';

interface ForwardOptions {
  /**
   * The response is read here, and what the client gets is made of it: the entity tag of what has been read of a
   * destination before, with which it says whether that is still current.
   */
  readonly ifNoneMatch?: ((destination: Destination) => string | undefined) | undefined;
  /** No other server need be asked whether it has what one denies to have: that is known. Default false. */
  readonly believesNotFound?: boolean;
  /** @returns a Warning header for the response to a request that was carried out */
  readonly warningOf?: ((request: AdmittedRequest) => string | undefined) | undefined;
}

/**
 * Sends a request by `transport` and passes the response on, streamed and untouched for every code, unless `insteadOf` puts
 * something in its place.
 */
export function forwardBy(
  transport: Transport,
  { ifNoneMatch, believesNotFound = false, warningOf }: ForwardOptions = {},
): Send {
  return (outbound, request) => {
    const { inbound } = request;
    const { record } = inbound;
    const etag = ifNoneMatch?.(outbound.destination);
    const sent =
      etag === undefined ? outbound : { ...outbound, headers: [...outbound.headers, 'if-none-match', etag] };
    const judged = believesNotFound ? { ...outbound, othersMayServe: false } : outbound;
    const dispose = (head: ResponseHead, content?: Uint8Array) => {
      const instead = head.status < 300 ? undefined : insteadOf(request, judged, head, content);
      if (instead !== undefined) return { kind: 'replace', outcome: instead } as const;
      const headers = withAuditIdForClient(cleanResponseHeaders(head.headers), inbound);
      const { otherVersion } = inbound;
      if (otherVersion !== undefined) headers.push('warning', versionWarning(otherVersion));
      const warning = head.status < 300 ? warningOf?.(request) : undefined;
      if (warning !== undefined) headers.push('warning', warning);
      return { kind: 'forward', headers, record: ifNoneMatch === undefined ? record : undefined } as const;
    };
    return transport.send(sent, inbound, (head) => {
      record?.attemptEnded(head.status);
      const length = head.status < 400 ? undefined : contentToJudge(request, judged, head);
      if (length === undefined) return dispose(head);
      return { kind: 'read', length, judge: (content) => dispose(head, content) };
    });
  };
}

/**
 * The warning about a response that came from a server of another version than the cluster shows. `kubectl` and client-go
 * print it (RFC 7234 section 5.5, KEP-1693; 299 is their one code).
 */
export function versionWarning({ minor, isOlder }: OtherVersion): string {
  const version =
    minor === undefined ? 'an API server of unknown version' : `an API server of version ${minor}`;
  const consequence = isOlder
    ? 'fields that it does not know are missing from this response, and from what is written through it'
    : 'others may drop fields of it that they do not know';
  return `299 - "no API server of the version that should respond can be reached: ${version} responded, and ${consequence}"`;
}
