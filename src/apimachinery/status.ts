import type { Logger } from '../runtime/logger.ts';

/** `metav1.Status`, the form in which Kubernetes words every failure (k8s.io/apimachinery meta/v1/types.go). */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Record<string, never>;
  readonly status: 'Failure';
  readonly message: string;
  readonly reason: StatusReason;
  readonly details?: StatusDetails;
  readonly code: number;
}

interface StatusDetails {
  /** Seconds after which asking again makes sense; also sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
  readonly causes?: readonly { readonly reason: string; readonly message: string; readonly field?: string }[];
}

const codes = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  Conflict: 409,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  /** HTTP's own (RFC 6585 section 5): Kubernetes has no reason for it. */
  RequestHeaderFieldsTooLarge: 431,
  InternalError: 500,
  /** HTTP's own: kube-apiserver responds with 502 in plain text (k8s.io/apimachinery pkg/util/proxy/upgradeaware.go). */
  BadGateway: 502,
  ServiceUnavailable: 503,
  Timeout: 504,
};

/** Seconds, as kube-apiserver has it (k8s.io/apiserver pkg/server/filters/maxinflight.go, `retryAfter`). */
export const retryAfterSeconds = 1;

export type StatusReason = keyof typeof codes;

interface StatusOptions extends StatusDetails {
  readonly headers?: Readonly<Record<string, string>>;
}

export function statusParts(
  reason: StatusReason,
  message: string,
  { retryAfterSeconds, causes, headers }: StatusOptions = {},
): { readonly code: number; readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const code = codes[reason];
  const details: StatusDetails = {
    ...(causes === undefined ? {} : { causes }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
  const status: Status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(Object.keys(details).length === 0 ? {} : { details }),
    code,
  };
  return {
    code,
    headers: {
      // kube-apiserver sets both on every API response (pkg/server/filters/cachecontrol.go, responsewriters/writers.go).
      'cache-control': 'no-cache, private',
      'content-type': 'application/json',
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
      ...(reason === 'Forbidden' ? { 'x-content-type-options': 'nosniff' } : {}),
      ...headers,
    },
    body: `${JSON.stringify(status)}\n`,
  };
}

export function statusResponse(reason: StatusReason, message: string, options?: StatusOptions): Response {
  const { code, headers, body } = statusParts(reason, message, options);
  return new Response(body, { status: code, headers });
}

/**
 * An internal error of the router: logged for its operator, not shown to the client.
 * @param auditId left out where it came before the request was read
 */
export function internalError(error: unknown, logger: Logger, auditId?: string): Response {
  logger.error({ err: error, 'audit-ID': auditId }, 'A request ended in an internal error');
  return statusResponse('InternalError', 'Internal error occurred: the router could not handle the request');
}
