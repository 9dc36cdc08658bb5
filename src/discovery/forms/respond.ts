import { acceptsGzip, matchesIfNoneMatch } from './conditional.ts';
import type { EncodedDocument } from './encoded-document.ts';

/** The headers of a request that change how a document is sent. */
export interface ConditionalRequest {
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
