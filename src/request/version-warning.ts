import type { InboundRequest } from './inbound.ts';

/**
 * Adds a warning to the header lines of a response that came from a server of another version than the cluster
 * shows. May change the given lines. `kubectl` and client-go print it (RFC 7234 section 5.5, KEP-1693; 299 is their one code).
 */
export function withVersionWarning(headers: string[], { otherVersion }: InboundRequest): string[] {
  if (otherVersion === undefined) return headers;
  const { minor, isOlder } = otherVersion;
  const version =
    minor === undefined ? 'an API server of unknown version' : `an API server of version ${minor}`;
  const consequence = isOlder
    ? 'fields that it does not know are missing from this response, and from what is written through it'
    : 'it may show fields that others do not';
  const text = `no API server of the preferred version can be reached: ${version} responded, and ${consequence}`;
  headers.push('warning', `299 - "${text}"`);
  return headers;
}
