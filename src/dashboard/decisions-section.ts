import { html } from 'hono/html';
import type { RecentDecision } from '../own-paths/status/recent-decisions.ts';
import type { RouterStatus } from '../own-paths/status/status-schema.ts';
import type { PageState } from './page-state.ts';
import { destinationText, reasonTexts } from './wording/decision-text.ts';
import { displayName, type Hostnames } from './wording/display-names.ts';
import { badge, type Markup, scrolling, stackingTable, timeOfDay } from './wording/markup.ts';

interface DecisionsState extends Pick<PageState, 'recentDecisions'> {
  readonly status: Pick<RouterStatus, 'serverId'>;
}

/** The last decisions, as they were made: a sample. */
export function decisionsSection({ recentDecisions, status }: DecisionsState, hostnames: Hostnames): Markup {
  return html`<section id="decisions" class="card" aria-labelledby="decisions-heading">
<h2 id="decisions-heading">Live decisions</h2>
${body(recentDecisions, status.serverId, hostnames)}
</section>`;
}

function body(
  decisions: readonly RecentDecision[] | undefined,
  localServerId: string | null,
  hostnames: Hostnames,
): Markup {
  if (decisions === undefined) return html`<p class="muted">This runtime keeps no record of decisions.</p>`;
  if (decisions.length === 0) {
    return html`<p class="muted">None yet: requests show up here as they pass.</p>`;
  }
  return html`<p class="muted">A sample of the last requests, the newest first. Queries are never kept.</p>
${scrolling(
  'Table of decisions',
  stackingTable(
    'decisions',
    'The last decisions, the newest first',
    [{ name: 'Time' }, { name: 'Request' }, { name: 'Sent to' }, { name: 'Response' }],
    decisions.map((decision) => decisionRow(decision, localServerId, hostnames)),
  ),
)}`;
}

function decisionRow(decision: RecentDecision, localServerId: string | null, hostnames: Hostnames): Markup {
  const { at, method, path, decision: kind, reason, destination, attempts } = decision;
  const server = destination === undefined ? undefined : displayName(destination, hostnames);
  const ids = destination === undefined ? [] : [destination];
  return html`<tr role="row" class="${kind}">
<td role="cell" class="muted nowrap">${timeOfDay(at)}</td>
<th scope="row" role="rowheader"><b class="method">${method}</b> <span class="name path">${path}</span></th>
<td role="cell"><span class="decision">${destinationText(kind, reason, { ids, localServerId })}</span>${server === undefined || kind === 'local' ? '' : html` <span class="name">${server}</span>`}
<span class="detail">${reason}: ${reasonTexts[reason]}${attempts > 1 ? ' Other servers were asked before.' : ''}</span></td>
<td role="cell">${responseText(decision)}</td>
</tr>`;
}

function responseText({ status, failure }: RecentDecision): Markup {
  const why = failure === undefined ? '' : html`<span class="detail">${failure}</span>`;
  if (status === undefined)
    return html`<span class="muted">${failure === undefined ? 'under way' : 'none'}</span>${why}`;
  const text = String(status);
  if (status >= 500) return html`${badge('bad', text)}${why}`;
  if (status >= 400) return html`${badge('warning', text)}${why}`;
  return html`${badge('good', text)}${why}`;
}
