import * as v from 'valibot';
import { parseWith, recordField } from '../forms/parse-document.ts';

const index = v.object({ paths: recordField(v.object({ serverRelativeURL: v.string() })) });

/**
 * Reads the index `/openapi/v3`: path (for example `apis/batch/v1`) to the server's own `serverRelativeURL`.
 *
 * A URL that does not lie under `/openapi/v3/` is left out: clients follow it, and one that names a host
 * would lead them there with their credentials.
 *
 * @param document parsed JSON of unknown origin
 * @throws {DiscoveryDocumentError} when it is no such index
 */
export function parseOpenApiV3Index(document: unknown): Record<string, string> {
  const { paths } = parseWith(index, document, 'NotTheDocument', 'This is no OpenAPI v3 index:');
  const urls = Object.entries(paths).map(
    ([path, { serverRelativeURL }]) => [path, serverRelativeURL] as const,
  );
  return Object.fromEntries(urls.filter(([, url]) => url.startsWith('/openapi/v3/')));
}
