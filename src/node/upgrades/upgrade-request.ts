import { allHeaders, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { faultOfHead } from '../exchange/http1-request-head.ts';

/** The protocols of Kubernetes: exec, attach and port-forward, in their newer and their older form. */
const allowedTokens: ReadonlySet<string> = new Set(['websocket', 'spdy/3.1']);

/** The protocol of an upgrade request as the client wrote it, or why the request is refused. */
export type UpgradeJudgement = { readonly token: string } | { readonly refusal: string };

/**
 * Allows one protocol that Kubernetes uses, and no body. Everything else is refused, not forwarded as an ordinary
 * request: kube-apiserver only looks at `Connection`, and would switch to anything that a backend agrees to
 * (kubernetes#72112). With a body, two parsers may disagree where the new protocol begins (GHSA-ggv3-7p47-pfv8). `h2c` is
 * refused, too: RFC 9113 section 3.1 dropped it, and clients negotiate HTTP/2 by ALPN.
 */
export function judgeUpgrade(httpVersion: string, headers: RawHeaders): UpgradeJudgement {
  // RFC 9110 section 7.8: an HTTP/1.0 client cannot upgrade.
  if (httpVersion !== '1.1') return { refusal: 'an upgrade needs HTTP/1.1' };
  const fault = faultOfHead(httpVersion, headers);
  if (fault !== undefined) return { refusal: fault };
  const tokens = allHeaders(headers, 'upgrade');
  const token = tokens[0]?.trim() ?? '';
  if (tokens.length !== 1 || !allowedTokens.has(token.toLowerCase())) {
    return { refusal: 'an upgrade must name one protocol, websocket or SPDY/3.1' };
  }
  const lengths = allHeaders(headers, 'content-length');
  const hasBody =
    allHeaders(headers, 'transfer-encoding').length > 0 || lengths.some((length) => length.trim() !== '0');
  if (hasBody) return { refusal: 'an upgrade request cannot have a body' };
  return { token };
}
