import { html } from 'hono/html';
import { groupVersionString } from '../../apimachinery/group-version.ts';
import type { HistoryView, PartlyServed } from '../../own-paths/history/history-view.ts';
import { count, nounFor } from '../wording/display-names.ts';
import { age, badge, type Markup, resourceMarkup, stackingTable, timeOfDay } from '../wording/markup.ts';

/** Clients named at once; the others can be unfolded. */
const namedAtOnce = 3;

/**
 * The users of resources that not all servers serve. Resources that the upgrade removes stand first. Empty while nobody
 * has used any and servers do not differ.
 */
export function useSection(history: HistoryView | undefined, now: number, isAnyDifferent: boolean): Markup {
  if (history === undefined) return html``;
  const { partlyServed, otherPartlyServed, since } = history;
  if (partlyServed.length === 0 && !isAnyDifferent) return html``;
  const sorted = partlyServed.toSorted(
    (left, right) => Number(right.vanishes === true) - Number(left.vanishes === true),
  );
  const vanishing = partlyServed.filter(({ vanishes }) => vanishes === true).length;
  return html`<section id="clients" class="card" aria-labelledby="clients-heading">
<h2 id="clients-heading">Who uses what differs</h2>
${
  sorted.length === 0
    ? html`<p class="muted">Nobody has, through this router and since ${timeOfDay(Date.parse(since))}.</p>`
    : html`<p>${
        vanishing === 0
          ? 'Nothing that was used in the last hour is removed by the upgrade.'
          : `${count(vanishing, 'resource')} in use ${vanishing === 1 ? 'is' : 'are'} removed by the upgrade: tell these clients to use another version.`
      } <span class="muted">Clients of this router in the last hour.</span></p>
${stackingTable(
  'clients',
  'Resources that not all servers serve, and which user agents and users asked for them',
  [{ name: 'Resource' }, { name: 'Requests', isNumber: true }, { name: 'User agents' }, { name: 'Users' }],
  sorted.map((use) => useRow(use, now)),
)}${otherPartlyServed === 0 ? '' : html`<p class="muted">And ${count(otherPartlyServed, 'request')} for further resources.</p>`}`
}
</section>`;
}

function useRow(use: PartlyServed, now: number): Markup {
  const { group, version, resource, subresource, vanishes, requests, lastSeen } = use;
  const key = `${group}/${version}/${resource}/${subresource}`;
  return html`<tr role="row" data-key="${key}">
<th scope="row" role="rowheader">${resourceMarkup(resource, subresource, groupVersionString(group, version))}
${vanishes === true ? html`<span class="detail">${badge('warning', 'Removed by the upgrade')}</span>` : ''}</th>
<td role="cell" class="number">${requests}<span class="when-narrow"> ${nounFor(requests, 'request')}</span><span class="detail">last ${age(Date.parse(lastSeen), now)} ago</span></td>
<td role="cell">${clients(use.userAgents, use.otherUserAgents, 'no user agent', `${key} agents`)}</td>
<td role="cell">${clients(use.users, use.otherUsers, 'not authenticated by the router', `${key} users`)}</td>
</tr>`;
}

function clients(listed: PartlyServed['users'], others: number, nameless: string, key: string): Markup {
  const items = listed.map(
    ({ name, requests }) =>
      html`<li>${name === '' ? html`<span class="muted">${nameless}</span>` : html`<span class="name">${name}</span>`} <span class="version">${requests}</span></li>`,
  );
  const rest = items.slice(namedAtOnce);
  return html`<ul class="users">${items.slice(0, namedAtOnce)}</ul>${
    rest.length === 0
      ? ''
      : html`<details data-key="${key}"><summary>${rest.length} more</summary><ul class="users">${rest}</ul></details>`
  }${others === 0 ? '' : html`<span class="detail">others ${others}</span>`}`;
}
