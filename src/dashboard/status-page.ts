import { textResponse } from '../apimachinery/content-coding.ts';
import type { RequestToExplain } from '../proxy/explain.ts';
import { ownPathsPrefix } from '../request/own-path-target.ts';
import { clientScript, clientStyle } from './client-assets.ts';
import type { Explained } from './explain-section.ts';
import { liveFragment, pageDocument } from './page-document.ts';
import type { PageState } from './page-state.ts';
import type { Markup } from './wording/markup.ts';

export interface StatusPageSources {
  readonly state: () => Promise<PageState>;
  readonly explain: (request: RequestToExplain) => Promise<Explained>;
  /** `Accept-Encoding` of the request. */
  readonly acceptEncoding?: string | undefined;
}

/**
 * The status page, and `live`, the parts of it that change, which its script asks for. For callers that have been let in.
 *
 * @param path of the request, as it was spelled
 * @param query of the request, decoded
 * @returns `undefined` for a path that is not the page's
 */
export async function statusPage(
  path: string,
  query: Readonly<Record<string, string>>,
  { state, explain, acceptEncoding }: StatusPageSources,
): Promise<Response | undefined> {
  // The compressed content holds no credentials. Its names may be read by whoever may read the page (BREACH).
  const respond = async (markup: Markup, headers: Readonly<Record<string, string>>) =>
    textResponse(String(await markup), headers, acceptEncoding);
  const explained = await explainedRequest(query, explain);
  switch (path) {
    case ownPathsPrefix:
      // The page's own links are relative.
      return new Response(null, { status: 308, headers: { location: `${ownPathsPrefix}/` } });
    case `${ownPathsPrefix}/`:
      return respond(
        pageDocument(await state(), explained),
        await documentHeaders(clientStyle, clientScript),
      );
    case `${ownPathsPrefix}/live`:
      return respond(
        liveFragment(await state(), generationOf(query['generation']), explained),
        fragmentHeaders,
      );
    default:
      return undefined;
  }
}

function explainedRequest(
  { method = 'GET', url }: Readonly<Record<string, string>>,
  explain: StatusPageSources['explain'],
) {
  // An empty form is no request.
  return url === undefined || url === '' ? undefined : explain({ method, url });
}

function generationOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/**
 * The origin is shared with the API servers and, through `…/proxy/`, with whatever runs in the cluster's pods, so style and
 * script count by their hash (Content Security Policy Level 3, section 2.3.1): `'self'` would let a pod bring its own script.
 * @param style, script exactly as they stand between their tags
 */
export async function documentHeaders(
  style: string,
  script?: string,
): Promise<Readonly<Record<string, string>>> {
  const [styleHash, scriptHash] = await Promise.all([
    sourceHash(style),
    script === undefined ? undefined : sourceHash(script),
  ]);
  return {
    ...fragmentHeaders,
    'content-security-policy': [
      "default-src 'none'",
      `style-src '${styleHash}'`,
      ...(scriptHash === undefined ? [] : [`script-src '${scriptHash}'`, "connect-src 'self'"]),
      'img-src data:',
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
  };
}

/** For parts of the page, which are never documents of their own. */
const fragmentHeaders = {
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
  return `sha256-${new Uint8Array(digest).toBase64()}`;
}
