import { CodedError } from '../runtime/coded-error.ts';

/**
 * What a request asks for, as Kubernetes reads it from method and URL
 * (k8s.io/apiserver pkg/endpoints/request/requestinfo.go). A field that does not apply is the empty string.
 */
export interface RequestInfo {
  readonly isResourceRequest: boolean;
  /** The decoded path, Go's `URL.Path`. */
  readonly path: string;
  /** `get`, `list`, `watch`, `create`, …; for a request that names no resource, the method in lower case. */
  readonly verb: string;
  /** `api` or `apis`. */
  readonly apiPrefix: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Resource, name, subresource and all that follows. */
  readonly parts: readonly string[];
  /** The query parameter, unparsed and possibly malformed; only for list, watch and deletecollection. */
  readonly fieldSelector: string;
  /** The query parameter, unparsed and possibly malformed; only for list, watch and deletecollection. */
  readonly labelSelector: string;
}

export type RequestInfoErrorCode =
  /** The request target is malformed, or two parsers could read it differently. The response is 400. */
  | 'AmbiguousRequestTarget'
  /** A path verb (`watch`, `proxy`) with nothing after it. Kubernetes responds with 500. */
  | 'UnableToDetermineResource';

export class RequestInfoError extends CodedError<RequestInfoErrorCode> {
  override readonly name = 'RequestInfoError';
}
