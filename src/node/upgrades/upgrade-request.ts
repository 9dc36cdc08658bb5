import { allHeaders, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { faultOfHead } from '../exchange/http1-request-head.ts';

/** What Kubernetes upgrades to: exec, attach and port-forward, in their newer and their older form. */
const allowedTokens: ReadonlySet<string> = new Set(['websocket', 'spdy/3.1']);

/** The header of an upgrade request, judged: the token as the client wrote it, or why it is refused. */
export type UpgradeJudgement = { readonly token: string } | { readonly refusal: string };

/**
 * Only what Kubernetes itself upgrades to, one token, no body. Everything else is refused rather than passed
 * on as an ordinary request: kube-apiserver looks at `Connection` alone and would switch to anything that a
 * backend agrees to (kubernetes#72112), and an upgrade with a body leaves two parsers in doubt about where the
 * new protocol begins (GHSA-ggv3-7p47-pfv8). That includes `h2c`, which RFC 9113 section 3.1 has dropped and
 * which never was for TLS; clients ask for HTTP/2 by ALPN here.
 */
export function judgeUpgrade(httpVersion: string, headers: RawHeaders): UpgradeJudgement {
  // RFC 9110 section 7.8: an HTTP/1.0 client cannot upgrade.
  if (httpVersion !== '1.1') return { refusal: 'an upgrade takes HTTP/1.1' };
  const fault = faultOfHead(httpVersion, headers);
  if (fault !== undefined) return { refusal: fault };
  const tokens = allHeaders(headers, 'upgrade');
  const token = tokens[0]?.trim() ?? '';
  if (tokens.length !== 1 || !allowedTokens.has(token.toLowerCase())) {
    return { refusal: 'the only protocols to upgrade to are websocket and SPDY/3.1, one at a time' };
  }
  const lengths = allHeaders(headers, 'content-length');
  const hasBody =
    allHeaders(headers, 'transfer-encoding').length > 0 || lengths.some((length) => length.trim() !== '0');
  if (hasBody) return { refusal: 'an upgrade request cannot have a body' };
  return { token };
}
