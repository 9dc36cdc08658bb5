import { CodedError } from '../runtime/errors.ts';

export type RequestInfoErrorCode =
  /** The request target is malformed, or two parsers could read it differently. The response is 400. */
  | 'AmbiguousRequestTarget'
  /** A path verb (`watch`, `proxy`) with nothing after it. Kubernetes responds with 500. */
  | 'UnableToDetermineResource';

export class RequestInfoError extends CodedError<RequestInfoErrorCode> {
  override readonly name = 'RequestInfoError';
}
