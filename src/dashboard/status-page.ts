import type { Explanation, RequestToExplain } from '../proxy/explain.ts';
import { ownPathsPrefix } from '../request/own-path-target.ts';
import { clientScript, clientStyle } from './client-assets.ts';
import { clusterView } from './cluster-view.ts';
import { explanationFragment } from './explain-section.ts';
import type { Markup } from './markup.ts';
import { liveFragment, pageDocument } from './page-document.ts';
import { fragmentHeaders, pageHeaders } from './page-headers.ts';
import type { PageState } from './page-state.ts';

export interface StatusPageSources {
  /** What the page is to show now. */
  readonly state: () => PageState;
  /** Where a request would go. */
  readonly explain: (request: RequestToExplain) => Explanation;
}

/**
 * The status page: `/.mixed-version-proxy/`, and the two parts of it that its script asks for, `live` and
 * `explanation`. Only reads, whatever it is asked. For callers that have been let in.
 *
 * @param path of the request, as it was spelled
 * @param query of the request, decoded
 * @returns `undefined` for a path that is not the page's
 */
export async function statusPage(
  path: string,
  query: Readonly<Record<string, string>>,
  { state, explain }: StatusPageSources,
): Promise<Response | undefined> {
  const explained = explainedRequest(query, explain);
  switch (path) {
    case ownPathsPrefix:
      // The page's own links are relative.
      return new Response(null, { status: 308, headers: { location: `${ownPathsPrefix}/` } });
    case `${ownPathsPrefix}/`:
      return respond(pageDocument(state(), explained), await pageHeaders(clientStyle, clientScript));
    case `${ownPathsPrefix}/live`:
      return respond(liveFragment(state(), generationOf(query['generation'])), fragmentHeaders);
    case `${ownPathsPrefix}/explanation`:
      return respond(explanationFragment(explained, clusterView(state().table).hostnames), fragmentHeaders);
    default:
      return undefined;
  }
}

function explainedRequest(
  { method = 'GET', url }: Readonly<Record<string, string>>,
  explain: StatusPageSources['explain'],
) {
  // An empty form is no request.
  if (url === undefined || url === '') return undefined;
  const request = { method, url };
  return { request, explanation: explain(request) };
}

function generationOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

async function respond(markup: Markup, headers: Readonly<Record<string, string>>): Promise<Response> {
  return new Response(String(await markup), { headers: { ...headers } });
}
