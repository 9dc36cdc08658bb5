import { Readable } from 'node:stream';
import { type Dispatcher, errors } from 'undici';
import type { HeaderLines } from '../fields/header-lines.ts';

/**
 * A body that may be complete already. Then it is sent in one piece with the head, and sent again if the server refuses
 * the stream. Once taken, it cannot be read from the stream any more.
 */
export interface WholeBody {
  /** @returns `undefined` if the stream must be read instead */
  takeWhole(): Uint8Array | undefined;
}

/** @throws {errors.InvalidArgumentError} for headers of a form that undici does not have */
export function headerLinesOf(headers: Dispatcher.DispatchOptions['headers']): HeaderLines {
  if (headers === undefined || headers === null) return [];
  if (Array.isArray(headers) && headers.every((line) => typeof line === 'string')) return headers;
  const lines: string[] = [];
  const entries = Symbol.iterator in headers ? headers : Object.entries(headers);
  for (const entry of entries) {
    if (typeof entry === 'string') throw new errors.InvalidArgumentError('headers must be pairs');
    const [name, value] = entry;
    if (value === undefined || value === null) continue;
    for (const each of Array.isArray(value) ? value : [value]) lines.push(name, String(each));
  }
  return lines;
}

/** @throws {errors.InvalidArgumentError} for a body of another type */
export function contentOf(body: unknown): Uint8Array | Readable | undefined {
  if (body === undefined || body === null) return undefined;
  if (body instanceof Uint8Array || body instanceof Readable) return body;
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  if (body instanceof ReadableStream) return Readable.fromWeb(body);
  if (isIterable(body)) return Readable.from(body, { objectMode: false });
  throw new errors.InvalidArgumentError('body must be bytes, a string, a stream or an iterable of pieces');
}

function isIterable(body: unknown): body is AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return (
    typeof body === 'object' && body !== null && (Symbol.asyncIterator in body || Symbol.iterator in body)
  );
}

export function takeWhole(body: Uint8Array | Readable | undefined): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  return isWholeBody(body) ? body.takeWhole() : undefined;
}

function isWholeBody(body: object): body is WholeBody {
  return 'takeWhole' in body && typeof body.takeWhole === 'function';
}
