import * as v from 'valibot';
import { checkedDocument, getJsonIfServed } from './json-document.ts';
import { ReadError, type ServerDocuments, withoutQuery } from './server-documents.ts';

const listPage = v.object({
  // Go writes a nil slice as null.
  items: v.nullish(v.array(v.unknown()), []),
  metadata: v.optional(
    v.object({ continue: v.optional(v.string(), ''), resourceVersion: v.optional(v.string(), '') }),
    {},
  ),
});

/** The default of kubectl's `--chunk-size`, so that no response grows with the cluster. */
const pageSize = 500;
/** More pages than any cluster has: a server that always names a next page must not delay the round for ever. */
const maximumPages = 1000;

interface ObjectList {
  readonly items: readonly unknown[];
  /** Where a watch starts; empty if the server names none. */
  readonly resourceVersion: string;
}

/**
 * Lists all objects of one kind, page by page.
 *
 * @param path path of the collection, without a query
 * @throws {ReadError} if any page cannot be read, also if the continue token has expired (410)
 */
export async function listObjects(
  documents: ServerDocuments,
  path: string,
  signal: AbortSignal | undefined,
): Promise<readonly unknown[]> {
  const list = await listObjectsIfServed(documents, path, signal);
  if (list !== undefined) return list.items;
  throw new ReadError('UnexpectedStatus', `${withoutQuery(path)} returned 404 instead of 200`);
}

/**
 * As `listObjects`, for a kind that a server may not serve.
 *
 * That it does not is no error, and says nothing about the objects: whoever asks keeps those that are known. Another
 * server may serve the kind, and a server before 1.23 says the same of every kind while it starts; later ones respond with
 * 503 then (k8s.io/apiserver pkg/util/notfoundhandler). client-go keeps its objects too, after any failed list
 * (tools/cache/reflector.go).
 *
 * @param path path of the collection; may have a query
 * @returns `undefined` if the API server itself says that it does not serve the path
 */
export async function listObjectsIfServed(
  documents: ServerDocuments,
  path: string,
  signal: AbortSignal | undefined,
): Promise<ObjectList | undefined> {
  const items: unknown[] = [];
  const first = `${path}${path.includes('?') ? '&' : '?'}limit=${pageSize}`;
  let next = first;
  for (let pages = 0; pages < maximumPages; pages++) {
    const document = await getJsonIfServed(documents, next, signal);
    if (document === undefined) return undefined;
    const page = checkedDocument(listPage, path, document);
    for (const item of page.items) items.push(item);
    const { continue: token, resourceVersion } = page.metadata;
    // All pages of a list show the same moment, so each names the same version.
    if (token === '') return { items, resourceVersion };
    next = `${first}&continue=${encodeURIComponent(token)}`;
  }
  throw new ReadError('InvalidDocument', `${withoutQuery(path)} has more than ${maximumPages} pages`);
}

/** The path of those objects of a collection that have a label. */
export function withLabelSelector(path: string, selector: string): string {
  return `${path}?labelSelector=${encodeURIComponent(selector)}`;
}
