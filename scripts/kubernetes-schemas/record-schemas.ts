/**
 * Records the schemas that the manifests in deploy/ are checked against: `node
 * scripts/kubernetes-schemas/record-schemas.ts 1.33 openapi-v2.json`, where the file is what a kube-apiserver of that
 * version answers under /openapi/v2 (`kubectl get --raw /openapi/v2`).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as v from 'valibot';
import { manifestKinds } from './manifest-kinds.ts';
import { definitionsSchema, pruneDefinitions } from './prune-definitions.ts';

const [version, file] = process.argv.slice(2);
if (version === undefined || !/^1\.\d+$/.test(version) || file === undefined) {
  throw new Error('name the version, such as 1.33, and the file with the answer of /openapi/v2');
}
const { definitions } = v.parse(definitionsSchema, JSON.parse(readFileSync(file, 'utf8')));
const recorded = { definitions: pruneDefinitions(definitions, manifestKinds) };
const path = `test/fixtures/kubernetes-schemas/${version}.json`;
writeFileSync(resolve(import.meta.dirname, '../..', path), `${JSON.stringify(recorded)}\n`);
console.log(`wrote ${path}`);
