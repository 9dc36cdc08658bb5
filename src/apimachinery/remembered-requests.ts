import { ownCopy } from '../runtime/own-copy.ts';
import { parseRequestInfo, type RequestInfo } from './request-info.ts';

/** Characters of a target; a longer one is read anew each time, so that clients cannot fill the memory. */
const maximumLength = 256;

interface RememberedRequest {
  readonly method: string;
  readonly target: string;
  readonly requestInfo: RequestInfo;
}

/**
 * Keeps what was read of requests that come again and again, as the same object with the same strings, which later lookups
 * find faster: a request that is not known takes up to a tenth more CPU time in all (lab/bench/README.md). Nothing is kept of a
 * request that came once: what outlives requests is dear to collect.
 *
 * Each request has one slot by its hash. A client that chooses targets with another's slot only keeps that one from being
 * remembered: a request is known by the whole of its method and target.
 * @param slots how many requests are kept at most, a power of two. Default 4096, below 2 MiB when full.
 * @returns as `parseRequestInfo`, with the same responses and errors.
 */
export function rememberingRequests(slots = 4096): typeof parseRequestInfo {
  const remembered = new Array<RememberedRequest | undefined>(slots);
  /** Hash of the last request of each slot that was not known there. */
  const lastUnknown = new Int32Array(slots);
  return (method, target) => {
    const hash = hashOf(method, target);
    const slot = hash & (slots - 1);
    const known = remembered[slot];
    if (known?.target === target && known.method === method) return known.requestInfo;
    const requestInfo = parseRequestInfo(method, target);
    if (lastUnknown[slot] === hash && target.length <= maximumLength) {
      remembered[slot] = { method, target, requestInfo };
    }
    lastUnknown[slot] = hash;
    return target.length <= maximumLength ? requestInfo : withOwnNames(requestInfo);
  };
}

/** Names outlive their request, in metrics and routes: as parts of a long target they would keep all of it in memory. */
function withOwnNames(requestInfo: RequestInfo): RequestInfo {
  const { verb, apiGroup, apiVersion, resource, subresource } = requestInfo;
  return {
    ...requestInfo,
    verb: ownCopy(verb),
    apiGroup: ownCopy(apiGroup),
    apiVersion: ownCopy(apiVersion),
    resource: ownCopy(resource),
    subresource: ownCopy(subresource),
  };
}

/**
 * The lower bits of the hash are the slot. The first character and the length of a method tell the methods of HTTP
 * apart.
 */
function hashOf(method: string, target: string): number {
  let hash = method.charCodeAt(0) * 31 + method.length;
  for (let index = 0; index < target.length; index++) hash = (hash * 31 + target.charCodeAt(index)) | 0;
  return hash;
}
