import * as v from 'valibot';
import { ReadError, type ServerDocument, type ServerDocuments, withoutQuery } from './server-documents.ts';

/** The media type without its parameters, in lower case (RFC 9110 section 8.3.1). */
function mediaTypeOf({ contentType }: ServerDocument): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

const jsonType = 'application/json';
const status404 = v.object({ kind: v.literal('Status'), code: v.literal(404) });

/**
 * Gets a document that every server has.
 *
 * @returns the parsed JSON, its shape unchecked
 * @throws {ReadError} for any response but a 200 with complete JSON
 */
export async function getJson(
  documents: ServerDocuments,
  path: string,
  signal: AbortSignal | undefined,
  accept = jsonType,
): Promise<unknown> {
  return parseJson(path, await documents.get(path, accept, signal));
}

/**
 * Gets a document that a server may not have.
 *
 * @param mediaTypes media types that are read as JSON; default `application/json` only
 * @returns the parsed JSON, or `undefined` if the API server itself says that it has no such path
 * @throws {ReadError} for any other response but a 200 with complete JSON
 */
export async function getJsonIfServed(
  documents: ServerDocuments,
  path: string,
  signal: AbortSignal | undefined,
  mediaTypes: readonly string[] = [jsonType],
): Promise<unknown> {
  const document = await documents.get(path, jsonType, signal);
  return isNotServed(document) ? undefined : parseJson(path, document, mediaTypes);
}

/**
 * Whether an API server says that it does not serve a path: with a Status, or as plain text if its mux has nothing
 * under the path. A 404 in any other form is that of a proxy, and says nothing about the server.
 */
function isNotServed(document: ServerDocument): boolean {
  if (document.status !== 404) return false;
  const type = mediaTypeOf(document);
  if (type === 'text/plain') return document.body.trim() === '404 page not found';
  if (type !== jsonType) return false;
  try {
    return v.is(status404, JSON.parse(document.body));
  } catch {
    return false;
  }
}

function parseJson(
  path: string,
  document: ServerDocument,
  mediaTypes: readonly string[] = [jsonType],
): unknown {
  const subject = withoutQuery(path);
  if (document.status !== 200) {
    throw new ReadError(
      'UnexpectedStatus',
      `${subject} returned ${document.status} instead of 200${missingRight(document)}`,
    );
  }
  const type = mediaTypeOf(document);
  if (!mediaTypes.includes(type)) {
    throw new ReadError(
      'UnexpectedContentType',
      `${subject} returned ${type === '' ? 'no content type' : type} instead of application/json`,
    );
  }
  try {
    return JSON.parse(document.body);
  } catch (cause) {
    throw new ReadError('InvalidDocument', `${subject} is not complete JSON`, { cause });
  }
}

const status403 = v.object({ kind: v.literal('Status'), code: v.literal(403), message: v.string() });
/** Characters of a message; kube-apiserver's has some 150. */
const longestMessage = 300;

/** Who may not do what, in the words of the API server. */
function missingRight({ status, body }: ServerDocument): string {
  if (status !== 403) return '';
  try {
    const parsed = v.safeParse(status403, JSON.parse(body));
    return parsed.success
      ? `: ${parsed.output.message.slice(0, longestMessage).replaceAll(/\s+/g, ' ')}`
      : '';
  } catch {
    return '';
  }
}

/**
 * Checks the shape of a document.
 *
 * @throws {ReadError} `InvalidDocument`, with the first error and its place
 */
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
