import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { openApiV2Json } from '../../../test/support/openapi-v2.ts';
import { DiscoveryDocumentError } from '../forms/parse-document.ts';
import { jsonCodec } from './json-codec.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const rewritten = async (text: string): Promise<unknown> =>
  JSON.parse(new TextDecoder().decode(jsonCodec.write(await jsonCodec.read(bytes(text)))));
const refused = (code: string) => (error: unknown) =>
  error instanceof DiscoveryDocumentError && error.code === code;

const document = openApiV2Json({ paths: ['/api/v1/pods', '/apis/'], definitions: { b: 'B', a: 'A' } });

describe('an OpenAPI v2 document in JSON', () => {
  test('is the same when it is put together again, whatever is in it and however it is indented', async () => {
    const section = fc.dictionary(fc.string(), fc.jsonValue());
    const arbitrary = fc.record(
      {
        swagger: fc.constant('2.0'),
        info: fc.jsonValue(),
        paths: section,
        definitions: section,
        parameters: section,
        tags: fc.jsonValue(),
      },
      { requiredKeys: ['swagger', 'paths'] },
    );
    await fc.assert(
      fc.asyncProperty(arbitrary, fc.constantFrom(0, 2, '\t'), async (value, indent) => {
        // Sections that are empty are left out, but for `paths`; keys such as __proto__ must not count as set.
        const expected = JSON.parse(JSON.stringify(value), (key, inner) =>
          (key === 'definitions' || key === 'parameters') && isEmptyObject(inner) ? undefined : inner,
        );
        const actual = JSON.parse(
          JSON.stringify(await rewritten(JSON.stringify(value, null, indent))),
          (key, inner) =>
            (key === 'definitions' || key === 'parameters') && isEmptyObject(inner) ? undefined : inner,
        );
        assert.deepEqual(actual, expected);
      }),
      { numRuns: 100 },
    );
  });

  test('has its entries in the order of their names', async () => {
    const text = JSON.stringify(await rewritten(JSON.stringify(document)));
    assert.ok(text.indexOf('"a":{') < text.indexOf('"b":{'), text);
  });

  test('is refused when it breaks off, wherever that is', async () => {
    const text = JSON.stringify(document);
    for (let length = 0; length < text.length; length++) {
      await assert.rejects(
        jsonCodec.read(bytes(text.slice(0, length))),
        refused('InvalidDocument'),
        `${length}`,
      );
    }
  });

  test('is refused when anything in it is no JSON, or something follows it', async () => {
    for (const text of [
      '<html><body>502 Bad Gateway</body></html>',
      '[]',
      '"2.0"',
      '{"swagger":"2.0","paths":{"/a":tru}}',
      '{"swagger":"2.0","paths":{"/a":{"get":[1,}}}}',
      '{"swagger":"2.0","paths":{"/a":{]}}}',
      '{"swagger":"2.0","paths":{"/a":{},}}',
      '{"swagger":"2.0","paths":{,"/a":{}}}',
      '{"swagger":"2.0" "paths":{}}',
      '{"swagger":"2.0","paths":null}',
      '{"swagger":"2.0","paths":{}}{}',
      "{'swagger':'2.0'}",
    ]) {
      await assert.rejects(jsonCodec.read(bytes(text)), refused('InvalidDocument'), text);
    }
    const notUtf8 = bytes('{"swagger":"2.0","info":"?"}');
    notUtf8[notUtf8.indexOf(0x3f)] = 0xff;
    await assert.rejects(jsonCodec.read(notUtf8), refused('InvalidDocument'));
  });

  test('is refused when it is another kind of document', async () => {
    for (const text of [
      '{}',
      '{"kind":"Status"}',
      '{"openapi":"3.0.0","paths":{}}',
      '{"swagger":2,"paths":{}}',
    ]) {
      await assert.rejects(jsonCodec.read(bytes(text)), refused('NotTheDocument'), text);
    }
  });

  test('takes no stack for its depth, and no square time for its quotes', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    await jsonCodec.read(bytes(`{"swagger":"2.0","paths":{"/a":${deep}}}`));
    const quoted = JSON.stringify('\\"'.repeat(200_000));
    await jsonCodec.read(bytes(`{"swagger":"2.0","paths":{"/a":${quoted}}}`));
  });
});

function isEmptyObject(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
  );
}
