import * as v from 'valibot';
import { ReadError } from './server-documents.ts';

const objectWithName = v.object({
  metadata: v.object({ name: v.string(), namespace: v.nullish(v.string(), '') }),
});
const objectWithVersion = v.object({
  metadata: v.object({ resourceVersion: v.pipe(v.string(), v.nonEmpty()) }),
});

/** `<namespace>/<name>`. @throws {ReadError} `InvalidDocument` for what has no name */
export function objectKey(object: unknown): string {
  const parsed = v.safeParse(objectWithName, object);
  if (!parsed.success) throw new ReadError('InvalidDocument', 'an object has no name');
  const { name, namespace } = parsed.output.metadata;
  return `${namespace ?? ''}/${name}`;
}

/** @returns `undefined` where there is none */
export function resourceVersionOf(object: unknown): string | undefined {
  const parsed = v.safeParse(objectWithVersion, object);
  return parsed.success ? parsed.output.metadata.resourceVersion : undefined;
}
