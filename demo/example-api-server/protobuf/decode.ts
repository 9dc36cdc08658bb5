import { badRequest } from '../api-error.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  numberAt,
  textAt,
} from '../kubernetes-object.ts';
import { type FieldType, type MessageDescription, messages } from './messages.ts';
import { readFields, type WireValue } from './wire.ts';

/** Stands before every protobuf body of Kubernetes (k8s.io/apimachinery pkg/runtime/serializer/protobuf). */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

const typeMeta: MessageDescription = { 1: ['apiVersion', 'text'], 2: ['kind', 'text'] };

/**
 * Turns a protobuf body into the object it would be in JSON; `undefined` for a kind whose fields are not known
 * here.
 * @throws {ApiError} BadRequest
 */
export function decodeProtobufObject(body: Uint8Array): JsonObject | undefined {
  if (!magic.equals(body.subarray(0, 4)))
    throw badRequest('provided data does not appear to be a protobuf message');
  try {
    let type: JsonObject = {};
    let raw = new Uint8Array();
    for (const field of readFields(body.subarray(4))) {
      if (field.kind !== 'bytes') continue;
      if (field.field === 1) type = decodeMessage(field.value, typeMeta);
      if (field.field === 2) raw = Uint8Array.from(field.value);
    }
    const description = messages[`${textAt(type, 'apiVersion')}/${textAt(type, 'kind')}`];
    return description === undefined ? undefined : { ...type, ...decodeMessage(raw, description) };
  } catch (error) {
    if (error instanceof RangeError) throw badRequest(error.message);
    throw error;
  }
}

function decodeMessage(bytes: Uint8Array, description: MessageDescription): JsonObject {
  const object: Record<string, JsonValue> = {};
  for (const field of readFields(bytes)) {
    const [name, type] = description[field.field] ?? [];
    if (name === undefined || type === undefined) continue;
    const value = decodeField(field, type, object[name]);
    // An absent optional text arrives as an empty one; JSON leaves it out.
    if (name === '') Object.assign(object, map(value));
    else if (value !== undefined && value !== '') object[name] = value;
  }
  return object;
}

function decodeField(
  field: WireValue,
  type: FieldType,
  before: JsonValue | undefined,
): JsonValue | undefined {
  if (field.kind === 'varint') {
    if (type === 'integer') return Number(field.value);
    return type === 'boolean' ? field.value !== 0n : undefined;
  }
  if (typeof type === 'object') {
    const message = decodeMessage(field.value, type.message);
    return type.list === true ? [...list(before), message] : message;
  }
  switch (type) {
    case 'text':
      return text(field.value);
    case 'quantity':
      return quantity(field.value);
    case 'micro time':
      return microTime(field.value);
    case 'integer or text':
      return integerOrText(field.value);
    case 'text list':
      return [...list(before), text(field.value)];
    case 'text map':
      return { ...map(before), ...mapEntry(field.value, text) };
    case 'bytes map':
      // JSON carries bytes in base64.
      return { ...map(before), ...mapEntry(field.value, (bytes) => Buffer.from(bytes).toString('base64')) };
    case 'quantity map':
      return { ...map(before), ...mapEntry(field.value, quantity) };
    default:
      return undefined;
  }
}

function quantity(bytes: Uint8Array): string {
  return textAt(decodeMessage(bytes, { 1: ['text', 'text'] }), 'text');
}

/** Six digits behind the second, as metav1.MicroTime has in JSON. */
function microTime(bytes: Uint8Array): string {
  const time = decodeMessage(bytes, { 1: ['seconds', 'integer'], 2: ['nanoseconds', 'integer'] });
  const second = new Date((numberAt(time, 'seconds') ?? 0) * 1000).toISOString().slice(0, 19);
  const microseconds = Math.floor((numberAt(time, 'nanoseconds') ?? 0) / 1000);
  return `${second}.${String(microseconds).padStart(6, '0')}Z`;
}

/** Field 1 says which of the two it is: 0 the integer, 1 the text. */
function integerOrText(bytes: Uint8Array): JsonValue {
  const either = decodeMessage(bytes, {
    1: ['isText', 'boolean'],
    2: ['integer', 'integer'],
    3: ['text', 'text'],
  });
  return either['isText'] === true ? textAt(either, 'text') : (numberAt(either, 'integer') ?? 0);
}

/** A map is a list of messages: 1 the key, 2 the value. */
function mapEntry(bytes: Uint8Array, read: (value: Uint8Array) => string): JsonObject {
  let key = '';
  let value = '';
  for (const field of readFields(bytes)) {
    if (field.kind !== 'bytes') continue;
    if (field.field === 1) key = text(field.value);
    if (field.field === 2) value = read(field.value);
  }
  return { [key]: value };
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonArray(value) ? value : [];
}

function map(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
