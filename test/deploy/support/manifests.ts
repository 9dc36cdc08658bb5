import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as v from 'valibot';
import { parseAllDocuments } from 'yaml';

const root = resolve(import.meta.dirname, '../../..');
const objectSchema = v.looseObject({
  apiVersion: v.string(),
  kind: v.string(),
  metadata: v.looseObject({ name: v.string(), namespace: v.optional(v.string()) }),
});

export type KubernetesObject = v.InferOutput<typeof objectSchema>;

/** @throws Error at a document that is no YAML, or no object of Kubernetes */
export function objectsIn(text: string): readonly KubernetesObject[] {
  return parseAllDocuments(text)
    .map((document) => {
      if (document.errors[0] !== undefined) throw document.errors[0];
      return document.toJS();
    })
    .filter((object) => object !== null)
    .map((object) => v.parse(objectSchema, object));
}

/** @param path from the root of the repository */
export function objectsOf(path: string): readonly KubernetesObject[] {
  return objectsIn(readFileSync(join(root, path), 'utf8'));
}
