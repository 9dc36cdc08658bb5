import * as v from 'valibot';
import { ReadError, type ServerDocument, type ServerDocuments } from './server-documents.ts';

/** The media type without its parameters, in lower case (RFC 9110 section 8.3.1). */
function mediaTypeEssence(contentType: string): string {
  const semicolon = contentType.indexOf(';');
  return (semicolon === -1 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
}

const jsonType = 'application/json';
const status404 = v.object({ kind: v.literal('Status'), code: v.literal(404) });

/**
 * Gets a document that must be there.
 *
 * @returns the parsed JSON, its shape unchecked
 * @throws {ReadError} on anything but a 200 with whole JSON
 */
export async function getJson(
  documents: ServerDocuments,
  path: string,
  accept: string,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  return parseJson(path, await documents.get(path, accept, signal));
}

/**
 * Gets a document that a server may lack.
 *
 * @param givenAs media types under which it is taken for JSON; default `application/json` alone
 * @returns the parsed JSON, or `undefined` when the API server itself says that it has no such path
 * @throws {ReadError} on anything but that and a 200 with whole JSON
 */
export async function getJsonIfServed(
  documents: ServerDocuments,
  path: string,
  accept: string,
  signal: AbortSignal | undefined,
  givenAs: readonly string[] = [jsonType],
): Promise<unknown> {
  const document = await documents.get(path, accept, signal);
  return isNotServed(document) ? undefined : parseJson(path, document, givenAs);
}

/**
 * Whether an API server says that it does not serve a path. It does so with a Status, or as plain text where
 * its mux has nothing under the path; a 404 in any other form is some proxy's, and says nothing of the server.
 */
function isNotServed(document: ServerDocument): boolean {
  if (document.status !== 404) return false;
  const type = mediaTypeEssence(document.contentType);
  if (type === 'text/plain') return document.body.trim() === '404 page not found';
  if (type !== 'application/json') return false;
  try {
    return v.is(status404, JSON.parse(document.body));
  } catch {
    return false;
  }
}

function parseJson(path: string, document: ServerDocument, givenAs: readonly string[] = [jsonType]): unknown {
  if (document.status !== 200) {
    throw new ReadError('UnexpectedStatus', `${path} was answered with ${document.status} instead of 200`);
  }
  const type = mediaTypeEssence(document.contentType);
  if (!givenAs.includes(type)) {
    throw new ReadError(
      'UnexpectedContentType',
      `${path} was answered with ${type === '' ? 'no content type' : type} instead of application/json`,
    );
  }
  try {
    return JSON.parse(document.body);
  } catch (cause) {
    throw new ReadError('InvalidDocument', `${path} is not whole JSON`, { cause });
  }
}

/**
 * Checks a document's shape.
 *
 * @throws {ReadError} `InvalidDocument`, with the first fault and where it stands
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
    `${path} is not what was asked for: ${v.getDotPath(issue) ?? 'document'}: ${issue.message}`,
  );
}
