/**
 * Header lines for the page. The origin is shared with the API servers and, through `…/proxy/`, with whatever runs in
 * the cluster's pods, so nothing is allowed by origin that can be allowed by content: style and script count by their
 * hash (Content Security Policy Level 3, section 2.3.1), and `'self'` alone would let a pod bring a script of its own.
 *
 * @param style, script exactly as they stand between their tags
 */
export async function pageHeaders(style: string, script: string): Promise<Readonly<Record<string, string>>> {
  const [styleHash, scriptHash] = await Promise.all([sourceHash(style), sourceHash(script)]);
  return {
    ...fragmentHeaders,
    'content-security-policy': [
      "default-src 'none'",
      `style-src '${styleHash}'`,
      `script-src '${scriptHash}'`,
      "connect-src 'self'",
      'img-src data:',
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
  };
}

/** For parts of the page, which are never documents of their own. */
export const fragmentHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

async function sourceHash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return `sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}`;
}
