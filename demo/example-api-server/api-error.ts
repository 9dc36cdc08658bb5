import type { JsonObject } from './kubernetes-object.ts';

/** `reason` of a Status (k8s.io/apimachinery meta/v1/types.go), as far as this server gives it. Empty: unknown. */
export type FailureReason =
  | ''
  | 'AlreadyExists'
  | 'BadRequest'
  | 'Conflict'
  | 'Expired'
  | 'Forbidden'
  | 'Invalid'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'NotFound'
  | 'RequestEntityTooLarge'
  | 'Unauthorized'
  | 'UnsupportedMediaType';

const codes: Readonly<Record<FailureReason, number>> = {
  '': 500,
  AlreadyExists: 409,
  BadRequest: 400,
  Conflict: 409,
  Expired: 410,
  Forbidden: 403,
  Invalid: 422,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  NotFound: 404,
  RequestEntityTooLarge: 413,
  Unauthorized: 401,
  UnsupportedMediaType: 415,
};

/** A failure that is answered as a Status. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly reason: FailureReason;
  readonly code: number;
  readonly details: JsonObject | undefined;
  constructor(reason: FailureReason, message: string, details?: JsonObject) {
    super(message);
    this.reason = reason;
    this.code = codes[reason];
    this.details = details;
  }

  get status(): JsonObject {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** A path that nothing is served at: plain text, not a Status. */
export class PathNotFoundError extends Error {
  override readonly name = 'PathNotFoundError';
}

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** `pods`, `deployments.apps`: how messages name a resource. */
export function qualified({ group, resource }: GroupResource): string {
  return group === '' ? resource : `${resource}.${group}`;
}

// The wording follows k8s.io/apimachinery pkg/api/errors/errors.go: clients and people match on it.

export function notFound(of: GroupResource, name: string): ApiError {
  return new ApiError('NotFound', `${qualified(of)} "${name}" not found`, detailsOf(of, name));
}

export function alreadyExists(of: GroupResource, name: string): ApiError {
  return new ApiError('AlreadyExists', `${qualified(of)} "${name}" already exists`, detailsOf(of, name));
}

export function conflict(of: GroupResource, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(of)} "${name}": ${why}`;
  return new ApiError('Conflict', message, detailsOf(of, name));
}

export const modifiedMeanwhile =
  'the object has been modified; please apply your changes to the latest version and try again';

export interface Cause {
  readonly reason:
    | 'FieldValueRequired'
    | 'FieldValueInvalid'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden';
  readonly field: string;
  readonly message: string;
}

export function invalid(group: string, kind: string, name: string, causes: readonly Cause[]): ApiError {
  const list = causes.map(({ field, message }) => `${field}: ${message}`);
  const why = list.length === 1 ? list.join() : `[${list.join(', ')}]`;
  const qualifiedKind = group === '' ? kind : `${kind}.${group}`;
  return new ApiError('Invalid', `${qualifiedKind} "${name}" is invalid: ${why}`, {
    name,
    ...(group === '' ? {} : { group }),
    kind,
    causes: causes.map(({ reason, message, field }) => ({ reason, message, field })),
  });
}

export const badRequest = (message: string): ApiError => new ApiError('BadRequest', message);

export const methodNotAllowed = (): ApiError =>
  new ApiError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

export const unauthorized = (): ApiError => new ApiError('Unauthorized', 'Unauthorized');

export const expired = (message: string): ApiError => new ApiError('Expired', message);

export function unsupportedMediaType(given: string, accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format (${given}) - accepted media types include: ${accepted.join(', ')}`;
  return new ApiError('UnsupportedMediaType', message);
}

export function notAcceptable(accepted: readonly string[]): ApiError {
  return new ApiError('NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`);
}

export function requestEntityTooLarge(limit: number): ApiError {
  return new ApiError('RequestEntityTooLarge', `Request entity too large: limit is ${limit}`);
}

function detailsOf({ group, resource }: GroupResource, name: string): JsonObject {
  return { name, ...(group === '' ? {} : { group }), kind: resource };
}
