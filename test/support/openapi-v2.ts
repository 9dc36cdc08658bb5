import { writeField } from '../../demo/example-api-server/protobuf/wire.ts';
import type { OpenApiV2Form } from '../../src/discovery/openapi-v2/merged-openapi-v2.ts';

/** Names of what an OpenAPI v2 document holds. */
export interface OpenApiV2Content {
  readonly version?: string;
  readonly paths: readonly string[];
  /** Name to description. */
  readonly definitions: Readonly<Record<string, string>>;
}

export function openApiV2Json({ version = 'v1.26.0', paths, definitions }: OpenApiV2Content): object {
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version },
    paths: Object.fromEntries(paths.map((path) => [path, { get: { operationId: `read ${path}` } }])),
    definitions: Object.fromEntries(
      Object.entries(definitions).map(([name, description]) => [name, { description }]),
    ),
    securityDefinitions: { BearerToken: { type: 'apiKey' } },
  };
}

/** Field numbers: google/gnostic-models openapiv2/OpenAPIv2.proto. */
export function openApiV2Protobuf({ version = 'v1.26.0', paths, definitions }: OpenApiV2Content): Uint8Array {
  const named = (field: number, name: string, value: Uint8Array): Uint8Array =>
    writeField(field, Buffer.concat([writeField(1, name), writeField(2, value)]));
  const schemas = Object.entries(definitions).map(([name, text]) => named(1, name, writeField(4, text)));
  return Buffer.concat([
    writeField(1, '2.0'),
    writeField(2, Buffer.concat([writeField(1, 'Kubernetes'), writeField(2, version)])),
    writeField(8, Buffer.concat(paths.map((path) => named(2, path, new Uint8Array())))),
    writeField(9, Buffer.concat(schemas)),
  ]);
}

export function openApiV2Bytes(form: OpenApiV2Form, content: OpenApiV2Content): Uint8Array {
  return form === 'json'
    ? new TextEncoder().encode(JSON.stringify(openApiV2Json(content)))
    : openApiV2Protobuf(content);
}
