import { type RawHeaders, rawHeadersOf } from '../../apimachinery/raw-headers.ts';
import { isUriHost } from '../../apimachinery/request-target.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import { announcesBody, type InboundRequest } from '../../request/inbound.ts';
import type { Router } from '../../request/router.ts';
import type { DenoServeInfo } from './deno-runtime.ts';

/** What a request is taken for, or why it cannot be taken for anything: an error of the client, for a 400. */
type DenoInbound =
  | { readonly ok: true; readonly inbound: InboundRequest }
  | { readonly ok: false; readonly issue: string };

const scheme = 'https://';

/** Fetch forbids these methods (Fetch section 2.2.1), so nothing could be forwarded. */
const forbiddenMethods: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

/**
 * The request as `Deno.serve` hands it over. Its `url` is the scheme, the authority and the target as they came,
 * joined and not parsed, so the target is in it byte for byte; what has been lost is refused where it matters.
 */
export function denoInbound(request: Request, info: DenoServeInfo): DenoInbound {
  const { method } = request;
  if (forbiddenMethods.has(method)) return refused(`the method ${method} cannot be forwarded`);
  const headers = rawHeadersOf(request.headers);
  const target = requestTarget(request.url, request.headers.get('host'));
  if (target === undefined) {
    return refused("its target is no path, or its Host is no host: send 'GET /path' and 'Host: name:port'");
  }
  const joined = joinedLine(headers);
  if (joined !== undefined) {
    return refused(
      `the header ${joined} holds a comma: on this router one value with a comma cannot be told from several lines; send it through a router on Node`,
    );
  }
  const inbound: InboundRequest = {
    method,
    target,
    headers,
    connection: { remoteAddress: info.remoteAddr.hostname },
    // Over HTTP/1.1, which has a Host line, Deno gives a DELETE without a body an empty one.
    body: () => (request.headers.has('host') && !announcesBody(inbound) ? null : request.body),
    signal: request.signal,
    onFinished(listener) {
      info.completed.then(listener, listener);
    },
  };
  return { ok: true, inbound };
}

/**
 * The target out of `scheme://authority` + target. Over HTTP/1.1 Deno takes the Host header as it came for the
 * authority: `Host: a/x` would put `/x` in front of the path, so an authority that is not the whole Host is refused.
 * That also refuses the absolute-form with another authority (RFC 9112 section 3.2.2), as on Node.
 */
export function requestTarget(url: string, host: string | null): string | undefined {
  if (!url.startsWith(scheme)) return undefined;
  const afterScheme = url.slice(scheme.length);
  const length = afterScheme.search(/[/?#]/);
  if (length === -1 || afterScheme[length] !== '/') return undefined;
  const authority = afterScheme.slice(0, length);
  if (!isUriHost(authority)) return undefined;
  // Over HTTP/2 there is no Host: the authority is `:authority`. An empty Host is allowed by RFC 9112 section 3.2.
  if (host !== null && host !== '' && host !== authority) return undefined;
  return afterScheme.slice(length);
}

/**
 * Deno joins repeated lines with commas before anyone sees them. Two lines `Impersonate-Group: a` and `b` would go on
 * as the one group `a, b`: another identity. Lines that name users of their own accord are removed anyway.
 */
function joinedLine(headers: RawHeaders): string | undefined {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = (headers[index] as string).toLowerCase();
    if (name.startsWith('impersonate-') && headers[index + 1]?.includes(',')) return name;
  }
  return undefined;
}

function refused(issue: string): DenoInbound {
  return { ok: false, issue };
}

/**
 * The same router, which also refuses targets that `fetch` would send in another form: what is decided on and signed
 * in assertions is what is forwarded, byte for byte. Asked after the router itself, whose refusals say more.
 */
export function refuseRewrittenTargets(router: Router): Router {
  return {
    ...router,
    accept(inbound) {
      const accepted = router.accept(inbound);
      return accepted instanceof Response || !isRewritten(inbound) ? accepted : refusal();
    },
  };
}

function isRewritten({ target }: InboundRequest): boolean {
  const url = `https://localhost${target}`;
  return URL.parse(url)?.href !== url;
}

function refusal(): Response {
  return statusResponse(
    'BadRequest',
    'request target refused: it holds characters that URLs do not, such as quotes or braces: percent-encode them',
  );
}
