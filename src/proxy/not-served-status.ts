import type { RequestInfo } from '../apimachinery/request-info-types.ts';

type NamedRequest = Pick<RequestInfo, 'apiGroup' | 'resource' | 'subresource' | 'name'>;

/**
 * What an API server answers under a path of a group that it has, or of the core group, when the version or the
 * resource is not there (seen of 1.25 and 1.33; k8s.io/apiserver pkg/endpoints/handlers/responsewriters). There is
 * nothing in it of the request, so each form has one length.
 */
export const notServedStatus =
  '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}\n';

/** Bytes of it in protobuf, behind the four of the magic number. */
const notServedProtobufLength = 116;
/** Of a NotFound Status in protobuf, what is the same whatever it names (k8s.io/apimachinery meta/v1 generated.proto). */
const namedProtobufLength = 68;

/** Names whose length in bytes, in JSON too, is that of the text. */
const plainName = /^[A-Za-z0-9.:_-]*$/;

/**
 * Whether the answer to a read, a 404, is that Status, by its head alone: by its length, which is not that of the
 * Status which says that this object does not exist.
 *
 * Pretty-printed JSON and YAML are not looked at: who asks for them is a person, who sees what happens.
 */
export function isNotServedStatus(request: NamedRequest, contentType: string, length: string): boolean {
  // Of others a 404 may be the word of a kubelet.
  if (request.subresource !== '' && request.subresource !== 'status' && request.subresource !== 'scale') {
    return false;
  }
  if (!plainName.test(request.name)) return false;
  if (/^application\/json *(;|$)/i.test(contentType)) {
    return length === String(notServedStatus.length) && notServedStatus.length !== objectJsonLength(request);
  }
  if (/^application\/vnd\.kubernetes\.protobuf *(;|$)/i.test(contentType)) {
    return (
      length === String(notServedProtobufLength) && notServedProtobufLength !== objectProtobufLength(request)
    );
  }
  return false;
}

/** k8s.io/apimachinery pkg/api/errors, NewNotFound. */
function objectMessage({ apiGroup, resource, name }: NamedRequest): string {
  return `${apiGroup === '' ? resource : `${resource}.${apiGroup}`} "${name}" not found`;
}

function objectJsonLength(request: NamedRequest): number {
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
  return JSON.stringify(status).length + 1;
}

/** Good for lengths that one byte tells, which those of the Status with the same length are. */
function objectProtobufLength(request: NamedRequest): number {
  const { apiGroup, resource, name } = request;
  return (
    namedProtobufLength + objectMessage(request).length + name.length + apiGroup.length + resource.length
  );
}
