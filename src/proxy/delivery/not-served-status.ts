import type { RequestInfo } from '../../apimachinery/request-info-types.ts';

type NamedRequest = Pick<RequestInfo, 'apiGroup' | 'resource' | 'subresource' | 'name'>;

/**
 * The response of an API server under a path of a group that it has, or of the core group, when the version or the
 * resource is not there (seen of 1.25 and 1.33; k8s.io/apiserver pkg/endpoints/handlers/responsewriters). There is
 * nothing in it of the request, so each form has one length.
 */
export const notServedStatus =
  '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}\n';

/** Its bytes in protobuf, after the four of the magic number. */
const notServedProtobufLength = 116;
/** The part of a NotFound Status in protobuf that is the same for every object (k8s.io/apimachinery meta/v1 generated.proto). */
const namedProtobufLength = 68;

/** Subresources that respond with what a kubelet, or an application, has said. */
export const passedOn: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/** Names whose length in bytes, in JSON too, is that of the text. */
const plainName = /^[A-Za-z0-9.:_-]*$/;

/**
 * Whether a 404 is that Status, by its head alone: by its length. `perhaps` where the Status which says that the object
 * does not exist is just as long: in protobuf with one length of name for each resource. That a write's namespace does
 * not exist is never as long.
 *
 * Pretty-printed JSON and YAML are not looked at: who asks for them is a person, who sees what happens.
 */
export function isNotServedStatus(
  request: NamedRequest,
  contentType: string,
  length: string,
): 'yes' | 'perhaps' | 'no' {
  if (passedOn.has(request.subresource) || !plainName.test(request.name)) return 'no';
  const isJson = /^application\/json *(;|$)/i.test(contentType);
  if (!isJson && !/^application\/vnd\.kubernetes\.protobuf *(;|$)/i.test(contentType)) return 'no';
  const expected = isJson ? notServedStatus.length : notServedProtobufLength;
  if (length !== String(expected)) return 'no';
  // No name, no object that may not exist.
  if (request.name === '') return 'yes';
  return expected === (isJson ? objectNotFoundStatus(request).length : objectProtobufLength(request))
    ? 'perhaps'
    : 'yes';
}

/** k8s.io/apimachinery pkg/api/errors, NewNotFound. */
function objectMessage({ apiGroup, resource, name }: NamedRequest): string {
  return `${apiGroup === '' ? resource : `${resource}.${apiGroup}`} "${name}" not found`;
}

export function objectNotFoundStatus(request: NamedRequest): string {
  const { apiGroup, resource, name } = request;
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: objectMessage(request),
    reason: 'NotFound',
    details: { name, ...(apiGroup === '' ? {} : { group: apiGroup }), kind: resource },
    code: 404,
  };
  return `${JSON.stringify(status)}\n`;
}

/** Good for lengths that one byte tells, which those of the Status with the same length are. */
function objectProtobufLength(request: NamedRequest): number {
  const { apiGroup, resource, name } = request;
  return (
    namedProtobufLength + objectMessage(request).length + name.length + apiGroup.length + resource.length
  );
}
