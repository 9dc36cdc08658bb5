import * as v from 'valibot';
import { ReadError, type ServerDocuments } from './document-reader.ts';
import { checkedDocument, getJson } from './json-document.ts';

const listPage = v.object({
  // Go writes a nil slice as null.
  items: v.nullish(v.array(v.unknown()), []),
  metadata: v.optional(v.object({ continue: v.optional(v.string(), '') })),
});

/** As many as kubectl asks for at a time (`--chunk-size`), so that no answer grows with the cluster. */
const pageSize = 500;
/** More pages than any cluster has: a server that always names a next page must not hold the round forever. */
const maximumPages = 1000;

/**
 * Lists all objects of one kind, page by page.
 *
 * @param path path of the collection, without a query
 * @throws {ReadError} when any page cannot be read, also when the list outlives its continue token (410)
 */
export async function listObjects(
  documents: ServerDocuments,
  path: string,
  signal: AbortSignal | undefined,
): Promise<unknown[]> {
  const items: unknown[] = [];
  let next = `${path}?limit=${pageSize}`;
  for (let pages = 0; pages < maximumPages; pages++) {
    const page = checkedDocument(listPage, path, await getJson(documents, next, 'application/json', signal));
    for (const item of page.items ?? []) items.push(item);
    const token = page.metadata?.continue ?? '';
    if (token === '') return items;
    next = `${path}?limit=${pageSize}&continue=${encodeURIComponent(token)}`;
  }
  throw new ReadError('InvalidDocument', `${path} has more than ${maximumPages} pages`);
}
