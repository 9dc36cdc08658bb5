import * as v from 'valibot';
import { CodedError } from '../../runtime/errors.ts';
import { parseLargeJson } from '../../runtime/large-json.ts';
import { createTimeSlice, withDeadline } from '../../runtime/time.ts';
import { fromJson } from '../../runtime/validation.ts';

export interface ServerDocument {
  readonly status: number;
  /** The Content-Type header; empty if the response has none. */
  readonly contentType: string;
  readonly body: string;
}

/** The one way to read an API server: live over HTTPS, or from a recorded folder. */
export interface ServerDocuments {
  /**
   * @param path with its query
   * @throws {ReadError} `Unreachable` if there is no complete response (no connection, broken off, too slow, too large)
   */
  get(path: string, accept: string, signal?: AbortSignal): Promise<ServerDocument>;
  /**
   * Has new connections opened from now on: those that are open may lead to the process that was at the address before. Left
   * out where none stay open.
   */
  renewConnections?(): void;
}

export interface WatchResponse {
  readonly status: number;
  /** The body as it arrives: one JSON event per line. Ends when the server ends it, throws when it breaks off. */
  readonly chunks: AsyncIterable<string>;
}

/** An API server, or a load balancer in front of several, to list and watch through. */
export interface WatchConnection extends ServerDocuments {
  /** @param signal ends the watch and frees its connection @throws {ReadError} `Unreachable` if there is no response */
  watch(path: string, signal: AbortSignal): Promise<WatchResponse>;
}

export type ReadErrorCode =
  /** There was no complete response. */
  | 'Unreachable'
  /** A status that says nothing about what is served: 401, 403, 500, a redirect, … */
  | 'UnexpectedStatus'
  /** A response that is not JSON, for example the HTML page of a load balancer. */
  | 'UnexpectedContentType'
  /** JSON that breaks off, or that is another document. */
  | 'InvalidDocument'
  /** Complete documents without a single resource, or a `/readyz` that says so: the server is still starting. */
  | 'NothingServed';

/** A document, and with it a server, that could not be read. It never means that the server serves less. */
export class ReadError extends CodedError<ReadErrorCode> {
  override readonly name = 'ReadError';
}

/** A path as messages name it: the query differs from one attempt to the next. */
export function withoutQuery(path: string): string {
  return path.split('?', 1)[0] ?? '';
}

/** @throws {ReadError} `Unreachable` when the time is over, the reason of `signal`, or what the read throws */
export async function withReadTimeout<Result>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  read: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const timedOut = () => new ReadError('Unreachable', `no complete response within ${milliseconds} ms`);
  return withDeadline(milliseconds, signal, timedOut, read);
}

/** The media type without its parameters, in lower case (RFC 9110 section 8.3.1). */
function mediaTypeOf({ contentType }: ServerDocument): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

export const jsonType = 'application/json';
const statusDocument = fromJson(
  v.object({ kind: v.literal('Status'), code: v.number(), message: v.optional(v.string(), '') }),
);

/** The `metav1.Status` that a response is; an empty one if it is none. */
function statusIn({ body }: ServerDocument): Partial<v.InferOutput<typeof statusDocument>> {
  const parsed = v.safeParse(statusDocument, body);
  return parsed.success ? parsed.output : {};
}

/**
 * Gets a document, its shape unchecked; `undefined` if the API server itself says that it has no such path.
 * @throws {ReadError} as `parseJson`
 */
export async function getJson(
  documents: ServerDocuments,
  path: string,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const document = await documents.get(path, jsonType, signal);
  return isNotServed(document) ? undefined : parseJson(path, document);
}

/**
 * True if an API server says that it does not serve a path: with a Status, or as plain text if its mux has nothing
 * under the path. A 404 in any other form is that of a proxy, and says nothing about the server.
 */
export function isNotServed(document: ServerDocument): boolean {
  if (document.status !== 404) return false;
  const type = mediaTypeOf(document);
  if (type === 'text/plain') return document.body.trim() === '404 page not found';
  return type === jsonType && statusIn(document).code === 404;
}

/** In slices: a list can have megabytes. @throws {ReadError} for any response but a 200 with complete JSON */
export async function parseJson(
  path: string,
  document: ServerDocument,
  mediaTypes: readonly string[] = [jsonType],
  slice = createTimeSlice(),
): Promise<unknown> {
  const subject = withoutQuery(path);
  if (document.status !== 200) {
    throw new ReadError('UnexpectedStatus', unexpectedStatus(subject, document));
  }
  const type = mediaTypeOf(document);
  if (!mediaTypes.includes(type)) {
    throw new ReadError(
      'UnexpectedContentType',
      `${subject} returned ${type === '' ? 'no content type' : type} instead of application/json`,
    );
  }
  const parsed = await parseLargeJson(document.body, maximumDepth, slice);
  if (parsed.ok) return parsed.value;
  throw new ReadError('InvalidDocument', `${subject} is not complete JSON`);
}

export function unexpectedStatus(subject: string, document: ServerDocument): string {
  return `${subject} returned ${document.status} instead of 200${missingRight(document)}`;
}

/** Levels of a document: a custom resource's definition has three for each level of its schema. */
const maximumDepth = 512;

/** Characters of a message; kube-apiserver's has some 150. */
const longestMessage = 300;

/** The right that is missing, and to whom, in the words of the API server. */
function missingRight(document: ServerDocument): string {
  if (document.status !== 403) return '';
  const { message = '' } = statusIn(document);
  return message === '' ? '' : `: ${message.slice(0, longestMessage).replaceAll(/\s+/g, ' ')}`;
}

/** @throws {ReadError} `InvalidDocument`, with the first error and its place */
export function checkedDocument<const Schema extends v.GenericSchema>(
  schema: Schema,
  path: string,
  value: unknown,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  throw new ReadError(
    'InvalidDocument',
    `${withoutQuery(path)} is not the expected document: ${v.getDotPath(issue) ?? 'document'}: ${issue.message}`,
  );
}

const listPage = v.object({
  // Go writes a nil slice as null.
  items: v.nullish(v.array(v.unknown()), []),
  metadata: v.optional(
    v.object({ continue: v.optional(v.string(), ''), resourceVersion: v.optional(v.string(), '') }),
    {},
  ),
});

/** The default of kubectl's `--chunk-size`, so that no page grows with the cluster. */
const pageSize = 500;
/** More pages than any cluster has: a server that always names a next page must not delay the round for ever. */
const maximumPages = 1000;

interface ObjectList {
  readonly items: readonly unknown[];
  /** Where a watch starts; empty if the server names none. */
  readonly resourceVersion: string;
}

/**
 * Lists all objects of one kind; `undefined` if the server does not serve it.
 *
 * That is no error, and says nothing about the objects: whoever asks keeps those that are known. Another
 * server may serve the kind, and a server before 1.23 says the same of every kind while it starts; later ones respond with
 * 503 then (k8s.io/apiserver pkg/util/notfoundhandler). client-go keeps its objects too, after any failed list
 * (tools/cache/reflector.go).
 *
 * @param notOlderThan a resource version: the server lists from its watch cache, whole, once that has it; `0`: as it is.
 *   Default: the newest, in pages, which a server before 1.34 reads from etcd
 * @throws {ReadError} if any page cannot be read, also if the continue token has expired
 */
export async function listObjects(
  documents: ServerDocuments,
  path: string,
  signal: AbortSignal | undefined,
  notOlderThan?: string,
): Promise<ObjectList | undefined> {
  const items: unknown[] = [];
  const collection = `${path}${path.includes('?') ? '&' : '?'}`;
  const paged = `${collection}limit=${pageSize}`;
  let next = notOlderThan === undefined ? paged : `${collection}resourceVersion=${notOlderThan}`;
  for (let pages = 0; pages < maximumPages; pages++) {
    const document = await getJson(documents, next, signal);
    if (document === undefined) return undefined;
    const page = checkedDocument(listPage, path, document);
    for (const item of page.items) items.push(item);
    const { continue: token, resourceVersion } = page.metadata;
    // All pages of a list show the same moment, so each names the same version.
    if (token === '') return { items, resourceVersion };
    next = `${paged}&continue=${encodeURIComponent(token)}`;
  }
  throw new ReadError('InvalidDocument', `${withoutQuery(path)} has more than ${maximumPages} pages`);
}
