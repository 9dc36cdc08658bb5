import { parse } from 'yaml';
import { badRequest, requestEntityTooLarge, unsupportedMediaType } from './api-error.ts';
import { isJsonObject, type JsonObject, type JsonValue, type KubernetesObject } from './kubernetes-object.ts';
import { decodeProtobufObject } from './protobuf/decode.ts';

/** kube-apiserver's limit for a request body, in bytes. */
const bodyLimit = 3 * 1024 * 1024;

const protobuf = 'application/vnd.kubernetes.protobuf';
const textTypes = ['application/json', 'application/yaml'];

/** Reads a whole request body. @throws {ApiError} RequestEntityTooLarge */
export async function readBody(request: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > bodyLimit) throw requestEntityTooLarge(bodyLimit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The media type alone, in lower case. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/**
 * The object in the body of a create or update. Without a Content-Type it is read as JSON.
 * @throws {ApiError} UnsupportedMediaType, BadRequest
 */
export function decodeObject(body: Uint8Array, contentType: string | undefined): KubernetesObject {
  const type = mediaTypeOf(contentType);
  return asObject(decodeByType(body, type === '' ? 'application/json' : type));
}

function decodeByType(body: Uint8Array, type: string): JsonValue {
  if (type === 'application/json') return decodeJson(body);
  if (type === 'application/yaml') return decodeYaml(body);
  if (type !== protobuf) throw unsupportedMediaType(type, [...textTypes, protobuf]);
  const object = decodeProtobufObject(body);
  // Protobuf is read for the kinds that kubectl sends in it; the others need a message description first.
  if (object === undefined) throw unsupportedMediaType(type, textTypes);
  return object;
}

/** @throws {ApiError} BadRequest */
export function decodeJson(body: Uint8Array): JsonValue {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch (error) {
    throw badRequest(`couldn't get version/kind; json parse error: ${describe(error)}`);
  }
}

/** YAML, of which JSON is a part. @throws {ApiError} BadRequest */
export function decodeYaml(body: Uint8Array): JsonValue {
  try {
    return parse(Buffer.from(body).toString('utf8'));
  } catch (error) {
    throw badRequest(`error converting YAML to JSON: ${describe(error)}`);
  }
}

/** @throws {ApiError} BadRequest for what is no object, or whose metadata is none. */
export function asObject(value: JsonValue): KubernetesObject {
  if (!isJsonObject(value)) throw badRequest('the request body is no object');
  const { metadata = {} } = value;
  if (!isJsonObject(metadata) && metadata !== null) throw badRequest('metadata is no object');
  return { ...value, metadata: isJsonObject(metadata) ? metadata : {} };
}

/** The DeleteOptions in the body of a delete; an empty body has none. @throws {ApiError} BadRequest */
export function decodeDeleteOptions(body: Uint8Array, contentType: string | undefined): JsonObject {
  // Sent as protobuf they say nothing that counts here (grace period and propagation).
  if (body.length === 0 || mediaTypeOf(contentType) === protobuf) return {};
  const options = decodeYaml(body);
  if (!isJsonObject(options)) throw badRequest('DeleteOptions are an object');
  return options;
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
