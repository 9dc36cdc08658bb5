import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { schemaDigests } from './schema-digests.ts';

type Json = { [name: string]: unknown };

function recorded(version: '1.31' | '1.36', name: 'apis_autoscaling_v2' | 'apis_apps_v1'): Json {
  const file = `../../../test/fixtures/openapi-v3/${version}/openapi_v3_${name}.json`;
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
}

/** A document whose kind `Thing` of example.com/v1 has this schema. */
function documentOf(thing: Json, definitions: Json = {}): Json {
  const gvk = [{ group: 'example.com', version: 'v1', kind: 'Thing' }];
  return {
    openapi: '3.0.0',
    components: {
      schemas: { 'v1.Thing': { ...thing, 'x-kubernetes-group-version-kind': gvk }, ...definitions },
    },
  };
}

async function digestOf(thing: Json, definitions?: Json): Promise<string> {
  const digest = (await schemaDigests(documentOf(thing, definitions), 'example.com', 'v1')).get('Thing');
  assert.match(digest ?? '', /^[A-Za-z0-9+/]{11}=$/);
  return digest ?? '';
}

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const withField = (field: Json): Json => ({ type: 'object', properties: { field } });

/** Members of every object, and of lists that are sets, the other way round. */
function reversed(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => reversed(item));
    return ['required', 'enum', 'allOf', 'oneOf', 'anyOf', 'x-kubernetes-list-map-keys'].includes(key)
      ? items.reverse()
      : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, reversed(member, name)] as const);
  return Object.fromEntries(members.reverse());
}

/** Every description another one, and one more where there was none. */
function redescribed(value: unknown, isSchema = false): unknown {
  if (Array.isArray(value)) return value.map((item) => redescribed(item, isSchema));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).flatMap(([name, member]) =>
    name === 'description' && typeof member === 'string'
      ? []
      : [[name, redescribed(member, ['items', 'additionalProperties', 'allOf'].includes(name))] as const],
  );
  return {
    ...Object.fromEntries(members),
    ...(isSchema ? { description: 'another', title: 'a title' } : {}),
  };
}

test('a HorizontalPodAutoscaler is another one in 1.36 than in 1.31, which knows no tolerance', async () => {
  const older = recorded('1.31', 'apis_autoscaling_v2');
  const newer = recorded('1.36', 'apis_autoscaling_v2');
  const digests = await Promise.all([older, newer].map((each) => schemaDigests(each, 'autoscaling', 'v2')));
  assert.notEqual(digests[0]?.get('HorizontalPodAutoscaler'), digests[1]?.get('HorizontalPodAutoscaler'));

  const schemas = (document: Json): { [name: string]: Json } =>
    Object(Object(document['components'])['schemas']);
  const rules = 'io.k8s.api.autoscaling.v2.HPAScalingRules';
  delete Object(schemas(newer)[rules]?.['properties'])['tolerance'];
  // The newer one says that spec is required; the older one lets its rules say so.
  delete schemas(newer)['io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler']?.['required'];
  const without = await schemaDigests(newer, 'autoscaling', 'v2');
  assert.equal(without.get('HorizontalPodAutoscaler'), digests[0]?.get('HorizontalPodAutoscaler'));
});

test('a kind that did not change from 1.31 to 1.36 has one digest, whatever the generators write around it', async () => {
  const [older, newer] = await Promise.all(
    (['1.31', '1.36'] as const).map((each) => schemaDigests(recorded(each, 'apis_apps_v1'), 'apps', 'v1')),
  );
  assert.notEqual(older?.get('ControllerRevision'), undefined);
  assert.equal(older?.get('ControllerRevision'), newer?.get('ControllerRevision'));
  for (const kind of ['DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet']) {
    assert.notEqual(older?.get(kind), newer?.get(kind), kind);
  }
});

test('descriptions, titles and the order of members make no other digest', async () => {
  for (const [name, group, version] of [
    ['apis_autoscaling_v2', 'autoscaling', 'v2'],
    ['apis_apps_v1', 'apps', 'v1'],
  ] as const) {
    const document = recorded('1.36', name);
    const digests = await schemaDigests(document, group, version);
    assert.deepEqual(
      new Map([...(await schemaDigests(reversed(document), group, version))].sort()),
      new Map([...digests].sort()),
    );
    assert.deepEqual(await schemaDigests(redescribed(document), group, version), digests);
  }
});

test('every structural difference makes another digest', async () => {
  const list = { type: 'array', items: { type: 'string' } };
  const schemas: readonly Json[] = [
    { type: 'object' },
    withField({ type: 'string' }),
    { type: 'object', properties: { other: { type: 'string' } } },
    withField({ type: 'integer' }),
    withField({ type: 'integer', format: 'int32' }),
    withField({ type: 'integer', minimum: 1 }),
    withField({ type: 'integer', minimum: 2 }),
    withField({ type: 'integer', maximum: 1 }),
    withField({ type: 'integer', default: 1 }),
    withField({ type: 'string', default: '1' }),
    withField({ type: 'string', pattern: '^a$' }),
    withField({ type: 'string', nullable: true }),
    withField({ type: 'string', enum: ['a'] }),
    withField({ type: 'string', enum: ['a', 'b'] }),
    { ...withField({ type: 'string' }), required: ['field'] },
    withField(list),
    withField({ ...list, 'x-kubernetes-list-type': 'set' }),
    withField({ ...list, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a'] }),
    withField({ ...list, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a', 'b'] }),
    withField({ ...list, 'x-kubernetes-patch-strategy': 'merge' }),
    withField({ ...list, 'x-kubernetes-patch-strategy': 'merge,retainKeys' }),
    withField({ ...list, 'x-kubernetes-patch-merge-key': 'name' }),
    withField({ type: 'array', items: { type: 'string', enum: ['a'] } }),
    withField({ type: 'object', additionalProperties: { type: 'string' } }),
    withField({ type: 'object', additionalProperties: true }),
    withField({ type: 'object', additionalProperties: false }),
    withField({ type: 'object', 'x-kubernetes-map-type': 'atomic' }),
    withField({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }),
    withField({ type: 'object', 'x-kubernetes-embedded-resource': true }),
    withField({ 'x-kubernetes-int-or-string': true }),
    withField({ oneOf: [{ type: 'string' }, { type: 'integer' }] }),
    withField({ anyOf: [{ type: 'string' }, { type: 'integer' }] }),
    withField({ allOf: [{ type: 'string' }, { minLength: 1 }] }),
    withField({ not: { type: 'string' } }),
    withField({ type: 'string', 'x-kubernetes-validations': [{ rule: "self != ''", message: 'empty' }] }),
    withField({ type: 'string', 'x-kubernetes-validations': [{ rule: "self == ''", message: 'empty' }] }),
    // Beyond a reference, and two of them.
    { ...withField(reference('a')) },
    { ...withField(reference('b')) },
    { ...withField(reference('c')) },
  ];
  const definitions = {
    a: withField({ type: 'number' }),
    b: withField({ type: 'number', format: 'double' }),
    c: withField(reference('b')),
  };
  const digests = await Promise.all(schemas.map((schema) => digestOf(schema, definitions)));
  const equals = digests.flatMap((digest, index) =>
    digests.indexOf(digest) === index ? [] : [schemas[index]],
  );
  assert.deepEqual(equals, []);
});

test('what says nothing makes no other digest', async () => {
  const definitions = {
    a: withField({ type: 'string' }),
    b: withField({ type: 'string', description: 'b' }),
  };
  const list = { type: 'array', items: { type: 'string' } };
  const pairs: readonly (readonly [Json, Json])[] = [
    [reference('a'), { allOf: [reference('a')], default: {}, description: 'a' }],
    [reference('a'), { ...reference('a'), default: {} }],
    // The name of a definition is nobody's business.
    [reference('a'), reference('b')],
    [{ type: 'string' }, { type: 'string', default: '' }],
    [{ type: 'integer' }, { type: 'integer', default: 0 }],
    [list, { ...list, items: { type: 'string', default: '' } }],
    [list, { ...list, 'x-kubernetes-list-type': 'atomic' }],
    [
      { type: 'object' },
      { type: 'object', 'x-kubernetes-map-type': 'granular', properties: {}, required: [] },
    ],
    [{ type: 'object' }, { type: 'object', 'x-kubernetes-unions': [{ discriminator: 'type' }] }],
    [
      { type: 'string' },
      { type: 'string', example: 'x', title: 'x', externalDocs: { url: 'x' }, nullable: false },
    ],
    [
      { type: 'string', 'x-kubernetes-validations': [{ rule: 'true', message: 'one' }] },
      {
        type: 'string',
        'x-kubernetes-validations': [{ rule: 'true', message: 'other', reason: 'FieldValueInvalid' }],
      },
    ],
  ];
  for (const [one, other] of pairs) {
    const digests = [
      await digestOf(withField(one), definitions),
      await digestOf(withField(other), definitions),
    ];
    assert.equal(digests[0], digests[1], JSON.stringify(other));
  }
});

test('what is listed as group, version and kind counts for nobody who refers to it', async () => {
  const shared = (versions: readonly string[]) => ({
    options: {
      ...withField({ type: 'string' }),
      'x-kubernetes-group-version-kind': versions.map((version) => ({
        group: 'other',
        version,
        kind: 'Options',
      })),
    },
  });
  const thing = withField(reference('options'));
  assert.equal(await digestOf(thing, shared(['v1'])), await digestOf(thing, shared(['v1', 'v2'])));
});

const type = fc.constantFrom('string', 'integer', 'boolean');
/** Definitions that refer to each other in any way, circles and all: of each its fields. */
const graph = fc.array(fc.record({ own: type, to: fc.array(fc.nat(5), { maxLength: 3 }) }), {
  minLength: 1,
  maxLength: 6,
});

function definitionsOf(
  given: readonly { own: string; to: readonly number[] }[],
  name: (index: number) => string,
): Json {
  const definitions = given.map(({ own, to }, index) => {
    const references = to.map(
      (target, field) => [`to${field}`, reference(name(target % given.length))] as const,
    );
    const properties = { own: { type: own }, ...Object.fromEntries(references) };
    return [name(index), { type: 'object', properties }] as const;
  });
  return Object.fromEntries(definitions);
}

test('property: definitions may be called otherwise and refer in circles', async () => {
  await fc.assert(
    fc.asyncProperty(graph, async (given) => {
      const one = definitionsOf(given, (index) => `a${index}`);
      const other = reversed(definitionsOf(given, (index) => `z${9 - index}`));
      assert.equal(
        await digestOf(withField(reference('a0')), one),
        await digestOf(withField(reference('z9')), Object(other)),
      );
    }),
  );
});

test('property: a field of another type shows in every definition that leads to it', async () => {
  await fc.assert(
    fc.asyncProperty(graph, fc.nat(5), async (given, chosen) => {
      const changed = chosen % given.length;
      const other = given.map((each, index) => (index === changed ? { ...each, own: 'number' } : each));
      const reached = new Set<number>();
      const reach = (index: number): void => {
        if (reached.has(index)) return;
        reached.add(index);
        for (const target of given[index]?.to ?? []) reach(target % given.length);
      };
      reach(0);
      const name = (index: number) => `d${index}`;
      const before = await digestOf(withField(reference('d0')), definitionsOf(given, name));
      const after = await digestOf(withField(reference('d0')), definitionsOf(other, name));
      assert.equal(before !== after, reached.has(changed));
    }),
  );
});

test('a document that is not what was asked for is none', async () => {
  // Each refers to the next three of a circle: too many ways lead through.
  const circle = Array.from({ length: 20 }, (_, index) => [
    `${index}`,
    { anyOf: [1, 2, 3].map((steps) => reference(`${(index + steps) % 20}`)) },
  ]);
  const faulty: readonly unknown[] = [
    undefined,
    'text',
    [],
    {},
    { openapi: '2.0', components: { schemas: {} } },
    { openapi: '3.0.0', components: {} },
    { openapi: '3.0.0', components: { schemas: [] } },
    // The document of another group version.
    { openapi: '3.0.0', components: { schemas: {} } },
    { kind: 'Status', code: 403 },
    documentOf(withField(reference('missing'))),
    documentOf(withField({ $ref: 'https://elsewhere.example/schema' })),
    documentOf(withField({ properties: [] })),
    documentOf({ properties: { field: 'text' } }),
    documentOf(Array.from({ length: 100 }).reduce<Json>((inner) => ({ items: inner }), {})),
    documentOf(withField(reference('0')), Object.fromEntries(circle)),
  ];
  for (const document of faulty) {
    await assert.rejects(schemaDigests(document, 'example.com', 'v1'), { name: 'DiscoveryDocumentError' });
  }
});

test('a kind that two definitions claim is unknown, the others are not', async () => {
  const twice = {
    ...withField({ type: 'string' }),
    'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'A' }],
  };
  const once = {
    ...withField({ type: 'string' }),
    'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'B' }],
  };
  const document = { openapi: '3.0.0', components: { schemas: { a: twice, b: twice, c: once } } };
  assert.deepEqual([...(await schemaDigests(document, '', 'v1')).keys()], ['B']);
});

test('a chain of thousands of definitions has its digest', async () => {
  const definitions = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, index) => [
      `${index}`,
      withField(reference(`${Math.min(index + 1, 4_999)}`)),
    ]),
  );
  await digestOf(withField(reference('0')), definitions);
});
