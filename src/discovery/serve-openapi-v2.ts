import { type MediaTypeOffer, negotiateMediaType } from '../apimachinery/accept.ts';
import type { DiscoveryRequest } from './documents.ts';
import { openApiV2Path } from './forms/discovery-path.ts';
import { respondWith } from './forms/encoded-document.ts';
import { type MergedOpenApiV2, type OpenApiV2Form, openApiV2Codecs } from './openapi-v2/merged-openapi-v2.ts';

interface Offer extends MediaTypeOffer {
  readonly form: OpenApiV2Form;
}

/** In the order in which API servers offer them; the second is an old name of the third (kube-openapi handler.go). */
const offers: readonly Offer[] = [
  { mediaType: openApiV2Codecs.json.mediaType, form: 'json' },
  { mediaType: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf', form: 'protobuf' },
  { mediaType: openApiV2Codecs.protobuf.mediaType, form: 'protobuf' },
];

/**
 * Serves `/openapi/v2` with what all servers describe together. Whether the caller may read it is not asked here.
 *
 * @returns `undefined` when the local server is to respond: another path or method, a form that does not exist (its
 *   406), or nothing merged yet
 */
export function serveOpenApiV2(
  request: Omit<DiscoveryRequest, 'query'>,
  merged: Pick<MergedOpenApiV2, 'document'>,
): Promise<Response | undefined> | undefined {
  if (request.path !== openApiV2Path) return undefined;
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
  const form = negotiateMediaType(request.accept, offers)?.offer.form;
  if (form === undefined) return undefined;
  const headers = { contentType: openApiV2Codecs[form].mediaType, cacheControl: 'no-cache, private' };
  return merged.document(form).then((document) => document && respondWith(document, request, headers));
}
