import { type Logger, silentLogger } from '../observe/logger.ts';
import { namedAnswer } from './audit-id.ts';
import { forward } from './forward.ts';
import type { InboundRequest } from './inbound.ts';
import { internalError } from './internal-error.ts';
import type { Admission, Router } from './router.ts';
import type { Transport } from './transport.ts';
import { withoutSnapshot } from './without-snapshot.ts';

export interface DirectLaneOptions {
  readonly router: Router;
  readonly transport: Transport;
  /** Default: logs nothing. */
  readonly logger?: Logger;
}

/**
 * The way of requests for resources past the fetch handler: the same router, asked in the same order, without a
 * `Request`, a `Context` and a chain of handlers for each of them (docs/decisions/0010 has what is known of its worth).
 */
export interface DirectLane {
  /** Whether a request for this target may take it; everything else is the fetch handler's. Pure. */
  takes(target: string): boolean;
  /** What the fetch handler would answer. Never rejects. */
  handle(inbound: InboundRequest): Promise<Response>;
}

/**
 * The path of a resource, spelled the plainest way: `/api/<version>/…` or `/apis/<group>/<version>/…`, whole
 * segments, nothing escaped. None of the router's own paths, health checks, discovery or OpenAPI documents looks
 * like it, and neither do an issuer's documents: no segment begins with a dot.
 */
const plainResourcePath =
  /^\/(?:api|apis\/[\w-][\w.-]*)\/[\w-][\w.-]*(?:\/[\w~@$!*'(),;=&+:-][\w.~@$!*'(),;=&+:-]*)+(?:\?|$)/;

export function createDirectLane({
  router,
  transport,
  logger = silentLogger,
}: DirectLaneOptions): DirectLane {
  const proceed = (admission: Admission): Promise<Response> => {
    if (admission.kind === 'refused') return Promise.resolve(admission.response);
    const { decision } = admission.request;
    // No document has such a path: what may stand in for an answer is what a missing snapshot makes of a 404.
    const standIn =
      decision.decision === 'local' && decision.reason === 'NoSnapshot' ? withoutSnapshot : undefined;
    return forward(admission.request, router, transport, standIn);
  };
  const answer = (inbound: InboundRequest): Promise<Response> => {
    try {
      const admitted = router.admit(inbound);
      return admitted instanceof Promise ? admitted.then(proceed) : proceed(admitted);
    } catch (error) {
      return Promise.reject(error);
    }
  };
  const finish = (inbound: InboundRequest, response: Response): Response => {
    if (inbound.isPassedOn !== true) namedAnswer(response, inbound);
    inbound.observed?.answered(response.status);
    // An answer of the router's own to HEAD (RFC 9110 section 9.3.2); Hono does this for the fetch handler.
    return inbound.method === 'HEAD' ? new Response(null, response) : response;
  };
  return {
    takes: (target) => plainResourcePath.test(target),
    // One promise for all of it, where three functions that await each other would make six: every request pays.
    handle: (inbound) =>
      answer(inbound).then(
        (response) => finish(inbound, response),
        (error: unknown) => finish(inbound, internalError(error, logger, inbound)),
      ),
  };
}
