import * as v from 'valibot';
import { isJsonObject, pathOf } from '../../runtime/validation.ts';

/** A discovery document that cannot be used. Never to be taken for "serves nothing". */
export class DiscoveryDocumentError extends Error {
  override readonly name = 'DiscoveryDocumentError';
}

/**
 * Reads a parsed JSON document of the given kind.
 *
 * @throws {DiscoveryDocumentError} naming what it is instead, or where it is broken
 */
export function parseDocument<const Schema extends v.GenericSchema>(
  kind: string,
  schema: Schema,
  document: unknown,
): v.InferOutput<Schema> {
  if (!isJsonObject(document) || typeof document['kind'] !== 'string') {
    throw new DiscoveryDocumentError(`This is no ${kind}: it is no object that has a kind.`);
  }
  if (document['kind'] !== kind) {
    // The kind is foreign text: cut to the length of a name, and quoted.
    const given = JSON.stringify(document['kind'].slice(0, 60));
    throw new DiscoveryDocumentError(`This is no ${kind} but of kind ${given}.`);
  }
  return parseWith(schema, document, `This ${kind} is broken at`);
}

/**
 * Reads a parsed JSON document of unknown origin.
 *
 * @param refusal how the message begins, before the place of the error
 * @throws {DiscoveryDocumentError} with the first error
 */
export function parseWith<const Schema extends v.GenericSchema>(
  schema: Schema,
  document: unknown,
  refusal: string,
): v.InferOutput<Schema> {
  // One error is enough: a hostile document could consist of nothing else.
  const result = v.safeParse(schema, document, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  throw new DiscoveryDocumentError(`${refusal} ${pathOf('', issue) || 'document'}: ${issue.message}.`);
}

/** A field that Go may leave out or, where it holds nothing, write as null. */
export function optionalField<const Schema extends v.GenericSchema>(schema: Schema) {
  return v.pipe(
    v.nullish(schema),
    v.transform((value) => value ?? undefined),
  );
}

/** A list that must be there; Go writes an empty one as null. */
export function listField<const Schema extends v.GenericSchema>(items: Schema) {
  return v.nullable(v.array(items), () => []);
}

export const nonEmptyString = v.pipe(v.string(), v.nonEmpty('must not be empty'));
