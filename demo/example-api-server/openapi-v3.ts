import { createHash } from 'node:crypto';
import { type Answer, emptyAnswer, objectAnswer } from './answer.ts';
import { PathNotFoundError } from './api-error.ts';
import type { JsonObject } from './kubernetes-object.ts';
import { groupVersionKind, schemaName, schemasOf } from './openapi-schemas.ts';
import type { ServerContext } from './resource-request.ts';
import type { ServedGroupVersion, ServedResource } from './served-resources.ts';

const root = '/openapi/v3';

/** Type that Go's http.DetectContentType makes of JSON. */
const guessedTextType = 'text/plain; charset=utf-8';

/**
 * Answers `/openapi/v3`, the index, and the document of each group version: as much of them as kubectl needs
 * to apply, create and explain. Whatever `hash` the client brings, it gets the document there is now.
 * @throws {PathNotFoundError} for a group version that this server does not serve
 */
export function openApiV3Answer(
  server: ServerContext,
  path: string,
  ifNoneMatch: string | undefined,
): Answer {
  if (path === root || path === `${root}/`) {
    // As real API servers of every version: JSON, and the type left to Go's guess at the content.
    return { ...objectAnswer(index(server)), headers: { 'content-type': guessedTextType } };
  }
  const [prefix, ...rest] = path.slice(root.length + 1).split('/');
  const [group, version] = prefix === 'api' ? ['', rest[0]] : rest;
  const groupVersion = server.served.groupVersion(group ?? '', version ?? '');
  if (groupVersion === undefined) throw new PathNotFoundError();
  const { document, hash } = documentOf(server, groupVersion);
  const headers = {
    'content-type': guessedTextType,
    etag: `"${hash}"`,
    vary: 'Accept',
    'cache-control': 'public, immutable',
  };
  return ifNoneMatch === headers.etag ? emptyAnswer(304, headers) : { ...objectAnswer(document), headers };
}

function index(server: ServerContext): JsonObject {
  const paths = server.served.groupVersions().map((groupVersion) => {
    const path = pathOf(groupVersion).slice(1);
    const serverRelativeURL = `${root}/${path}?hash=${documentOf(server, groupVersion).hash}`;
    return [path, { serverRelativeURL }];
  });
  return { paths: Object.fromEntries(paths) };
}

interface HashedDocument {
  readonly document: JsonObject;
  /** SHA-512, upper-case hexadecimal. */
  readonly hash: string;
}

/** A group version belongs to one server, and never changes. */
const documents = new WeakMap<ServedGroupVersion, HashedDocument>();

function documentOf(server: ServerContext, groupVersion: ServedGroupVersion): HashedDocument {
  const known = documents.get(groupVersion);
  if (known !== undefined) return known;
  const document = makeDocument(server, groupVersion);
  const hash = createHash('sha512').update(JSON.stringify(document)).digest('hex').toUpperCase();
  const made = { document, hash };
  documents.set(groupVersion, made);
  return made;
}

function makeDocument({ version, addedFields }: ServerContext, groupVersion: ServedGroupVersion): JsonObject {
  const paths = groupVersion.resources.flatMap((served) => pathsOf(groupVersion, served));
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: version.gitVersion },
    paths: Object.fromEntries(paths),
    components: { schemas: schemasOf(groupVersion, '#/components/schemas/', addedFields) },
  };
}

function pathOf({ group, version }: ServedGroupVersion): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

const parameter = (name: string, type: string): JsonObject => ({
  name,
  in: 'query',
  schema: { type, uniqueItems: true },
});
/** kubectl looks these up to learn whether the server validates fields and knows dry run. */
const writeParameters = [
  parameter('dryRun', 'string'),
  parameter('fieldManager', 'string'),
  parameter('fieldValidation', 'string'),
];

interface Operation {
  readonly method: string;
  readonly verb: string;
  readonly action: string;
  readonly parameters: readonly JsonObject[];
}

const collectionOperations: readonly Operation[] = [
  { method: 'get', verb: 'list', action: 'list', parameters: [] },
  { method: 'post', verb: 'create', action: 'post', parameters: writeParameters },
];
const objectOperations: readonly Operation[] = [
  { method: 'get', verb: 'get', action: 'get', parameters: [] },
  { method: 'put', verb: 'update', action: 'put', parameters: writeParameters },
  {
    method: 'patch',
    verb: 'patch',
    action: 'patch',
    parameters: [...writeParameters, parameter('force', 'boolean')],
  },
  { method: 'delete', verb: 'delete', action: 'delete', parameters: [parameter('dryRun', 'string')] },
];

function pathsOf(groupVersion: ServedGroupVersion, served: ServedResource): [string, JsonObject][] {
  const namespace = served.scope === 'Namespaced' ? '/namespaces/{namespace}' : '';
  const collection = `${pathOf(groupVersion)}${namespace}/${served.resource}`;
  return [
    [collection, operationsOf(served, collectionOperations)],
    [`${collection}/{name}`, operationsOf(served, objectOperations)],
  ];
}

function operationsOf(served: ServedResource, operations: readonly Operation[]): JsonObject {
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${schemaName(served)}` } } };
  const offered = operations
    .filter(({ verb }) => served.verbs.includes(verb))
    .map(({ method, action, parameters }) => [
      method,
      {
        parameters,
        responses: { 200: { description: 'OK', content } },
        'x-kubernetes-action': action,
        'x-kubernetes-group-version-kind': groupVersionKind(served),
      },
    ]);
  return Object.fromEntries(offered);
}
