import type { EncodedDocument } from './encoded-document.ts';

/** The headers of a request that change how a document is sent. */
interface ConditionalRequest {
  readonly method: string;
  readonly ifNoneMatch?: string | undefined;
  readonly acceptEncoding?: string | undefined;
}

/** Workers compress a body marked as gzip themselves unless told that it is compressed; others ignore this. */
interface EncodedResponseInit extends ResponseInit {
  readonly encodeBody: 'manual';
}

/** What every response with a document depends on. */
export const vary = 'Accept, Accept-Encoding';

/** The response to GET or HEAD: the document, with gzip where that is worth it, or 304 when the client has it. */
export async function respondWith(
  document: EncodedDocument,
  request: ConditionalRequest,
  { contentType, cacheControl }: { readonly contentType: string; readonly cacheControl: string },
): Promise<Response> {
  // One ETag for all encodings, as upstream: it is only ever compared weakly here.
  const etag = await document.etag();
  const headers: Record<string, string> = { 'cache-control': cacheControl, etag, vary };
  if (matchesIfNoneMatch(request.ifNoneMatch, etag)) return new Response(null, { status: 304, headers });

  const gzipped = acceptsGzip(request.acceptEncoding) ? await document.gzipped() : undefined;
  const body = gzipped ?? document.body;
  headers['content-type'] = contentType;
  headers['content-length'] = String(body.byteLength);
  if (gzipped !== undefined) headers['content-encoding'] = 'gzip';
  const init: EncodedResponseInit = { headers, encodeBody: 'manual' };
  return new Response(request.method === 'HEAD' ? null : body, init);
}

/**
 * Whether `If-None-Match` names the document, so that 304 is the response: a list of entity tags, weak or not,
 * or a star (RFC 9110 section 13.1.2). Compared weakly, as the header asks for.
 *
 * @param etag the document's own strong entity tag, quotes included
 */
export function matchesIfNoneMatch(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  for (const [, tag] of ifNoneMatch.matchAll(/(?:W\/)?("[^"]*")/g)) if (tag === etag) return true;
  return false;
}

/** Whether the client takes gzip: named with a quality above 0, or by a star (RFC 9110 section 12.5.3). */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  let byStar = false;
  for (const element of (acceptEncoding ?? '').split(',')) {
    const [coding = '', ...parameters] = element.split(';').map((part) => part.trim().toLowerCase());
    const refused = parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter));
    if (coding === 'gzip') return !refused;
    if (coding === '*') byStar = !refused;
  }
  return byStar;
}
