import { ApiError, badRequest } from '../api-error.ts';
import {
  equalJson,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  textAt,
  without,
} from '../kubernetes-object.ts';

/**
 * Applies a JSON patch (RFC 6902).
 * @throws {ApiError} BadRequest for what is no patch; Invalid for one that cannot be applied.
 */
export function applyJsonPatch(document: JsonValue, patch: JsonValue): JsonValue {
  if (!isJsonArray(patch)) throw badRequest('a JSON patch is an array of operations');
  return patch.reduce(applyOperation, document);
}

function applyOperation(document: JsonValue, operation: JsonValue): JsonValue {
  if (!isJsonObject(operation)) throw badRequest('an operation of a JSON patch is an object');
  const path = pointer(textAt(operation, 'path'));
  const value = operation['value'] ?? null;
  switch (operation['op']) {
    case 'add':
      return add(document, path, value);
    case 'remove':
      return remove(document, path);
    case 'replace':
      return path.length === 0 ? value : add(remove(document, path), path, value);
    case 'move': {
      const from = pointer(textAt(operation, 'from'));
      return add(remove(document, from), path, read(document, from));
    }
    case 'copy':
      return add(document, path, read(document, pointer(textAt(operation, 'from'))));
    case 'test':
      if (!equalJson(read(document, path), value)) throw cannotApply(`testing path ${path.join('/')} failed`);
      return document;
    default:
      throw badRequest(`unknown operation ${JSON.stringify(operation['op'])} in a JSON patch`);
  }
}

/** RFC 6901: `~1` is a slash, `~0` a tilde. */
function pointer(text: string): string[] {
  if (text === '') return [];
  if (!text.startsWith('/')) throw badRequest(`${JSON.stringify(text)} is no JSON pointer`);
  return text
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function read(document: JsonValue, path: readonly string[]): JsonValue {
  let current = document;
  for (const token of path) {
    const found = isJsonArray(current)
      ? current[existingIndex(current.length, token)]
      : isJsonObject(current) && Object.hasOwn(current, token)
        ? current[token]
        : undefined;
    if (found === undefined) throw missing(path);
    current = found;
  }
  return current;
}

function add(document: JsonValue, path: readonly string[], value: JsonValue): JsonValue {
  return change(
    document,
    path,
    (container, token) => {
      if (isJsonObject(container)) return { ...container, [token]: value };
      const index = token === '-' ? container.length : indexOf(token);
      if (index > container.length) throw missing(path);
      return container.toSpliced(index, 0, value);
    },
    value,
  );
}

function remove(document: JsonValue, path: readonly string[]): JsonValue {
  return change(
    document,
    path,
    (container, token) => {
      if (!isJsonObject(container)) return container.toSpliced(existingIndex(container.length, token), 1);
      if (!Object.hasOwn(container, token)) throw missing(path);
      return without(container, token);
    },
    null,
  );
}

/** Rebuilds the document along `path`, with its last container changed; an empty path is the whole of it. */
function change(
  document: JsonValue,
  path: readonly string[],
  apply: (container: JsonObject | readonly JsonValue[], token: string) => JsonValue,
  whole: JsonValue,
): JsonValue {
  const [token, ...rest] = path;
  if (token === undefined) return whole;
  if (!isJsonObject(document) && !isJsonArray(document)) throw missing(path);
  if (rest.length === 0) return apply(document, token);
  const changed = change(read(document, [token]), rest, apply, whole);
  return isJsonObject(document) ? { ...document, [token]: changed } : document.with(indexOf(token), changed);
}

function indexOf(token: string): number {
  if (!/^(0|[1-9]\d*)$/.test(token)) throw cannotApply(`${JSON.stringify(token)} is no index of an array`);
  return Number(token);
}

function existingIndex(length: number, token: string): number {
  const index = indexOf(token);
  if (index >= length) throw cannotApply(`there is no item ${index}`);
  return index;
}

function missing(path: readonly string[]): ApiError {
  return cannotApply(`doc is missing path: /${path.join('/')}: missing value`);
}

function cannotApply(message: string): ApiError {
  return new ApiError(
    'Invalid',
    `the server rejected our request due to an error in our request: ${message}`,
  );
}
