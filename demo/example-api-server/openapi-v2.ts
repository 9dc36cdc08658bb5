import { type Answer, objectAnswer } from './answer.ts';
import { isJsonArray, type JsonObject, textAt } from './kubernetes-object.ts';
import { parseAccept } from './negotiation.ts';
import { propertiesOf, schemasOf } from './openapi-schemas.ts';
import { writeField } from './protobuf/wire.ts';
import type { ServerContext } from './resource-request.ts';

const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/**
 * Answers `/openapi/v2`. kubectl up to 1.27 asks for it as protobuf before it applies or explains anything and
 * stops if it cannot be read, though it then works with OpenAPI v3: definitions are there, paths are not.
 */
export function openApiV2Answer(server: ServerContext, accept: string | undefined): Answer {
  const definitions = Object.assign(
    {},
    ...server.served
      .groupVersions()
      .map((groupVersion) => schemasOf(groupVersion, '#/definitions/', server.addedFields)),
  ) as Record<string, JsonObject>;
  const info = { title: 'Kubernetes', version: server.version.gitVersion };
  const wantsProtobuf = parseAccept(accept).some(({ type }) => type.includes('proto-openapi.spec.v2'));
  if (!wantsProtobuf) return objectAnswer({ swagger: '2.0', info, paths: {}, definitions });
  return {
    kind: 'whole',
    code: 200,
    headers: { 'content-type': protobufType },
    body: encodeDocument(info, definitions),
  };
}

// Field numbers: google/gnostic-models openapiv2/OpenAPIv2.proto.

function encodeDocument(
  info: { readonly title: string; readonly version: string },
  definitions: Readonly<Record<string, JsonObject>>,
): Uint8Array {
  const named = Object.entries(definitions).map(([name, schema]) => encodeNamedSchema(name, schema));
  return Buffer.concat([
    writeField(1, '2.0'),
    writeField(2, Buffer.concat([writeField(1, info.title), writeField(2, info.version)])),
    writeField(8, new Uint8Array()),
    writeField(9, Buffer.concat(named.map((bytes) => writeField(1, bytes)))),
  ]);
}

function encodeNamedSchema(name: string, schema: JsonObject): Uint8Array {
  return Buffer.concat([writeField(1, name), writeField(2, encodeSchema(schema))]);
}

function encodeSchema(schema: JsonObject): Uint8Array {
  const fields: Uint8Array[] = [];
  const text = (field: number, name: string): void => {
    const value = textAt(schema, name);
    if (value !== '') fields.push(writeField(field, value));
  };
  text(1, '$ref');
  text(2, 'format');
  text(4, 'description');
  const { additionalProperties, items } = schema as { additionalProperties?: JsonObject; items?: JsonObject };
  if (additionalProperties !== undefined) {
    fields.push(writeField(21, writeField(1, encodeSchema(additionalProperties))));
  }
  const type = textAt(schema, 'type');
  if (type !== '') fields.push(writeField(22, writeField(1, type)));
  if (items !== undefined) fields.push(writeField(23, writeField(1, encodeSchema(items))));
  const properties = Object.entries(propertiesOf(schema)).map(([name, inner]) =>
    encodeNamedSchema(name, inner),
  );
  if (properties.length > 0) {
    fields.push(writeField(25, Buffer.concat(properties.map((bytes) => writeField(1, bytes)))));
  }
  const kinds = schema['x-kubernetes-group-version-kind'];
  if (isJsonArray(kinds)) fields.push(writeField(31, encodeExtension(JSON.stringify(kinds))));
  return Buffer.concat(fields);
}

/** A NamedAny whose value is YAML, of which JSON is a part. */
function encodeExtension(yaml: string): Uint8Array {
  const value = writeField(2, writeField(2, yaml));
  return Buffer.concat([writeField(1, 'x-kubernetes-group-version-kind'), value]);
}
