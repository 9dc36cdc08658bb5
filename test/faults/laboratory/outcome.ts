import type { Damage } from './fault.ts';
import type { AnswerEnd } from './record.ts';

export type Method = 'GET' | 'POST' | 'watch';

/** What a client gets in the end. */
export interface Outcome {
  readonly status: number | undefined;
  readonly end: AnswerEnd;
  /** Which server's answer it is; the router's own for none. */
  readonly from: 'faulty' | 'healthy' | 'router';
  /** What the router's answer says of the request. */
  readonly message?: RegExp;
}

const notCarriedOut =
  /could not be reached, or did not process the request; the request was not carried out.*"retryAfterSeconds":1/;
const silent = /did not respond within the allotted timeout.*"retryAfterSeconds":1/;
const notInTime = /Timeout: request did not complete within the allotted timeout/;
const maybeCarriedOut = /did not respond; the request may have been carried out/;

const invalid = /gave a response that is not valid HTTP.*; the request may have been carried out/;

/** How a request meets a fault. */
export interface Meeting {
  readonly damage: Damage;
  readonly method: Method;
  readonly hasAlternative: boolean;
}

/** What has to come of a request that meets a fault. Pure. */
export function expectedOutcome({ damage, method, hasAlternative }: Meeting): Outcome {
  const isRead = method !== 'POST';
  switch (damage) {
    case 'not-arrived':
      return hasAlternative ? fromHealthy(method) : unavailable(notCarriedOut);
    case 'unanswered':
      return hasAlternative && isRead ? fromHealthy(method) : unavailable(maybeCarriedOut);
    case 'invalid':
      if (hasAlternative && isRead) return fromHealthy(method);
      return { status: 502, end: 'whole', from: 'router', message: invalid };
    case 'refused':
      return hasAlternative ? fromHealthy(method) : unavailable(notCarriedOut);
    case 'not-served':
      return hasAlternative ? fromHealthy(method) : { status: 404, end: 'whole', from: 'faulty' };
    case 'silent':
      if (method === 'watch') return { status: undefined, end: 'open', from: 'faulty' };
      if (!isRead) return { status: 504, end: 'whole', from: 'router', message: notInTime };
      return hasAlternative ? fromHealthy(method) : unavailable(silent);
    case 'stuck':
      return { status: 200, end: method === 'watch' ? 'open' : 'broken', from: 'faulty' };
    case 'broken-off':
      return { status: 200, end: 'broken', from: 'faulty' };
    case 'none':
      return { status: 200, end: 'whole', from: 'faulty' };
  }
}

function fromHealthy(method: Method): Outcome {
  return { status: 200, end: method === 'watch' ? 'open' : 'whole', from: 'healthy' };
}

function unavailable(message: RegExp): Outcome {
  return { status: 503, end: 'whole', from: 'router', message };
}
