import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import {
  manifestKinds,
  manifestPaths,
  newerManifestPaths,
} from '../../scripts/kubernetes-schemas/manifest-kinds.ts';
import {
  type Definitions,
  definitionName,
  definitionOf,
  definitionsSchema,
  type JsonSchema,
} from '../../scripts/kubernetes-schemas/prune-definitions.ts';
import { type KubernetesObject, objectsIn, objectsOf } from './support/manifests.ts';

/**
 * Faults of an object by the schema of its kind, a line for each fault with its path: fields that do not exist, fields
 * that are missing, values of another type. Empty when there are none.
 */
function schemaFaults(object: KubernetesObject, definitions: Definitions): readonly string[] {
  const [version = '', group = ''] = object.apiVersion.split('/').reverse();
  const definition = definitionOf(definitions, { group, version, kind: object.kind });
  const name = `${object.kind} ${object.metadata.name}`;
  if (definition === undefined) return [`${name}: there is no ${object.kind} in ${object.apiVersion}`];
  return faultsOf(object, definition, '', definitions).map((fault) => `${name}: ${fault}`);
}

function faultsOf(value: unknown, schema: JsonSchema, path: string, definitions: Definitions): string[] {
  const { $ref, type, format, items, additionalProperties } = schema;
  if ($ref !== undefined) {
    const name = definitionName($ref);
    const referred = definitions[name];
    if (referred === undefined) return [`${path}: there is no definition ${name}`];
    // Written as a number or as text; the definition says text.
    const isQuantity = name.endsWith('.api.resource.Quantity');
    return isQuantity && typeof value === 'number' ? [] : faultsOf(value, referred, path, definitions);
  }
  if (!isOfType(value, type, format)) return [`${path} is not of type ${format ?? type}`];
  if (Array.isArray(value)) {
    return items === undefined
      ? []
      : value.flatMap((item, index) =>
          isDirective(item) ? [] : faultsOf(item, items, `${path}[${index}]`, definitions),
        );
  }
  if (!isRecord(value)) return [];
  if (additionalProperties !== undefined) {
    return Object.entries(value).flatMap(([key, field]) =>
      faultsOf(field, additionalProperties, `${path}.${key}`, definitions),
    );
  }
  return objectFaults(value, schema, path, definitions);
}

function objectFaults(
  value: Readonly<Record<string, unknown>>,
  { properties, required = [] }: JsonSchema,
  path: string,
  definitions: Definitions,
): string[] {
  // A type without fields takes any.
  if (properties === undefined) return [];
  const missing = required.filter((name) => !(name in value)).map((name) => `${path}.${name} is missing`);
  const faults = Object.entries(value).flatMap(([name, field]) => {
    const property = properties[name];
    return property === undefined
      ? [`${path}.${name} does not exist`]
      : faultsOf(field, property, `${path}.${name}`, definitions);
  });
  return [...missing, ...faults];
}

function isOfType(value: unknown, type: string | undefined, format: string | undefined): boolean {
  if (format === 'int-or-string') return typeof value === 'string' || Number.isInteger(value);
  switch (type) {
    case 'string':
    case 'boolean':
    case 'number':
      return typeof value === type;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    default:
      return isRecord(value);
  }
}

/** An item of a list in a strategic merge patch that says what becomes of the list; no object has it. */
function isDirective(item: unknown): boolean {
  return isRecord(item) && Object.keys(item).join() === '$patch';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const kinds = new Set(manifestKinds.map(({ kind }) => kind));

/** YAML in the documentation that is an object of Kubernetes. */
const documented = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name))
  .flatMap((path) =>
    [...read(path).matchAll(/^```yaml\n(.*?)^```$/gms)]
      .map(([, text = '']) => text)
      .filter((text) => kinds.has(/^kind: (\w+)$/m.exec(text)?.[1] ?? ''))
      .map((text) => ({ path, text })),
  );

for (const version of ['1.25', '1.33']) {
  const { definitions } = v.parse(
    definitionsSchema,
    JSON.parse(read(`test/fixtures/kubernetes-schemas/${version}.json`)),
  );

  describe(`manifests, by the schemas of Kubernetes ${version}`, () => {
    for (const path of manifestPaths) {
      test(`${path} has no field that does not exist, and none of another type`, () => {
        const objects = objectsOf(path);
        assert.ok(objects.length > 0);
        assert.deepEqual(
          objects.flatMap((object) => schemaFaults(object, definitions)),
          [],
        );
      });
    }

    test('and so have those in the documentation', () => {
      // None today: pages link to deploy/.
      for (const { path, text } of documented) {
        const faults = objectsIn(text).flatMap((object) => schemaFaults(object, definitions));
        assert.deepEqual(faults, [], path);
      }
    });

    test('a slip of the pen would be noticed, however deep', () => {
      const faultsWith = (wanted: string, slip: string): readonly string[] => {
        const text = read('deploy/sync/deployment.yaml');
        assert.ok(text.includes(wanted), wanted);
        return objectsIn(text.replace(wanted, slip)).flatMap((object) => schemaFaults(object, definitions));
      };
      const container = 'Deployment mixed-version-proxy-sync: .spec.template.spec.containers[0]';
      assert.deepEqual(faultsWith('readinessProbe:', 'readinesProbe:'), [
        `${container}.readinesProbe does not exist`,
      ]);
      assert.deepEqual(faultsWith('path: /readyz, port: health', 'path: /readyz, prot: health'), [
        `${container}.readinessProbe.httpGet.port is missing`,
        `${container}.readinessProbe.httpGet.prot does not exist`,
      ]);
      assert.deepEqual(faultsWith('replicas: 1', 'replicas: "1"'), [
        'Deployment mixed-version-proxy-sync: .spec.replicas is not of type int32',
      ]);
      assert.deepEqual(faultsWith('apiVersion: apps/v1', 'apiVersion: apps/v1beta1'), [
        'Deployment mixed-version-proxy-sync: there is no Deployment in apps/v1beta1',
      ]);
      assert.deepEqual(faultsWith('drop: [ALL]', 'drop: ALL'), [
        `${container}.securityContext.capabilities.drop is not of type array`,
      ]);
    });
  });
}

test('every manifest in deploy/ is among those that are checked', () => {
  const withKinds = readdirSync(join(root, 'deploy'), { recursive: true, encoding: 'utf8' })
    // Templates of the chart are no YAML yet: deploy/kubernetes is what they make.
    .filter((name) => name.endsWith('.yaml') && !name.includes('/templates/'))
    .map((name) => join('deploy', name))
    .filter((path) => /^kind: (?!RouterConfiguration$)/m.test(read(path)));
  assert.deepEqual(withKinds.sort(), [...manifestPaths, ...newerManifestPaths].sort());
});
