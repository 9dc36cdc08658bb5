import { badRequest, PathNotFoundError } from './api-error.ts';

/** A request for a resource, taken apart (k8s.io/apiserver pkg/endpoints/request/requestinfo.go). */
export interface ResourceTarget {
  readonly group: string;
  readonly version: string;
  /** Empty for all namespaces, and for resources of cluster scope. */
  readonly namespace: string;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
  /** Segments behind the subresource (`proxy` takes a whole path). */
  readonly rest: readonly string[];
  readonly verb: string;
}

export interface RequestTarget {
  readonly method: string;
  /** Decoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Absent when the path names no resource. */
  readonly resource?: ResourceTarget;
}

const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

export function parseRequestTarget(method: string, target: string): RequestTarget {
  const question = target.indexOf('?');
  const path = decodePath(question === -1 ? target : target.slice(0, question));
  const query = new URLSearchParams(question === -1 ? '' : target.slice(question + 1));
  const segments = path.split('/').slice(1);
  const resource = resourceTarget(method, segments, query);
  return { method, path, query, ...(resource === undefined ? {} : { resource }) };
}

function resourceTarget(
  method: string,
  segments: readonly string[],
  query: URLSearchParams,
): ResourceTarget | undefined {
  const [prefix] = segments;
  const skipped = prefix === 'api' ? 1 : prefix === 'apis' ? 2 : undefined;
  if (skipped === undefined) return undefined;
  const [version, ...path] = segments.slice(skipped);
  if (version === undefined || path.length === 0 || path[0] === '') return undefined;
  const group = skipped === 1 ? '' : (segments[1] ?? '');

  // The old form: the verb stands in the path.
  const watchPath = path[0] === 'watch';
  const parts = locate(watchPath ? path.slice(1) : path);
  if (parts.resource === '') throw new PathNotFoundError();
  return { group, version, ...parts, verb: watchPath ? 'watch' : verbOf(method, parts.name, query) };
}

function locate(path: readonly string[]): Omit<ResourceTarget, 'group' | 'version' | 'verb'> {
  const [first = '', second = '', third = ''] = path;
  // `namespaces/x/status` and `/finalize` are subresources of the namespace, anything else is in it.
  const inNamespace = first === 'namespaces' && third !== '' && third !== 'status' && third !== 'finalize';
  const [resource = '', name = '', subresource = '', ...rest] = inNamespace ? path.slice(2) : path;
  const namespace = inNamespace || first === 'namespaces' ? second : '';
  return { namespace, resource, name, subresource, rest };
}

function verbOf(method: string, name: string, query: URLSearchParams): string {
  const verb = verbs[method] ?? '';
  if (verb === 'get' && name === '') return isTrue(query.get('watch')) ? 'watch' : 'list';
  return verb === 'delete' && name === '' ? 'deletecollection' : verb;
}

/** Kubernetes' reading of a boolean parameter: there, and neither `0` nor `false`. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

/** @throws {ApiError} BadRequest for a percent sign that encodes nothing. */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw badRequest(`invalid URL escape in ${JSON.stringify(path)}`);
  }
}
