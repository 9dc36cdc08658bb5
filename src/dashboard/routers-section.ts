import { html } from 'hono/html';
import { saysReady } from '../own-paths/routers/agreement.ts';
import type { Difference, RouterOfServer, RoutersView } from '../own-paths/routers/routers-view.ts';
import type { StatusView } from '../own-paths/status/status-view.ts';
import { countHealthy } from '../own-paths/status/usable-servers.ts';
import { compareNames, displayName, type Hostnames, withDisplayNames } from './wording/display-names.ts';
import { age, badge, count, type Markup, stackingTable } from './wording/markup.ts';

/**
 * All routers, as they tell of themselves, and whether they decide alike. Hidden where there is no other.
 * @param now milliseconds since the epoch
 */
export function routersSection(view: RoutersView, hostnames: Hostnames, now: number): Markup {
  const { routers, notAsked, differences } = view;
  if (!hasOtherRouters(view)) return html`<section id="routers" hidden></section>`;
  const nameOf = ({ server, serverId }: RouterOfServer): string =>
    serverId === null ? server.replace('https://', '') : displayName(serverId, hostnames);
  const names = new Map(routers.map((router) => [router.server, nameOf(router)]));
  const [own, ...others] = routers;
  const sorted = [...others].sort((left, right) => compareNames(nameOf(left), nameOf(right)));
  return html`<section id="routers" class="card" aria-labelledby="routers-heading">
<h2 id="routers-heading">Routers</h2>
${routers.length === 1 ? '' : html`<p>${agreementBadge(view)}</p>`}
${
  notAsked.length === 0
    ? ''
    : html`<p class="muted">Not asked, since no address of them is known: the routers of ${notAsked
        .map((id) => displayName(id, hostnames))
        .sort(compareNames)
        .join(', ')}.</p>`
}
${differenceList(differences, names, hostnames)}
${
  routers.length === 1
    ? ''
    : stackingTable(
        'routers',
        'Routers: readiness, snapshot, and what they know of the API servers',
        [
          { name: 'Router', sorts: true },
          { name: 'Readiness', sorts: true },
          { name: 'Snapshot', sorts: true },
          { name: 'Healthy servers', sorts: true },
          { name: 'Preferred version', sorts: true },
        ],
        [...(own === undefined ? [] : [own]), ...sorted].map((router) =>
          routerRow(router, nameOf(router), router === own, hostnames, now),
        ),
      )
}
</section>`;
}

/** A gateway stands before no server, and servers behind one mostly have no routers of their own. */
export function hasOtherRouters({ routers, notAsked }: RoutersView): boolean {
  return routers.length > 1 || (notAsked.length > 0 && routers[0]?.serverId !== null);
}

/** Placeholder for the section in updates of the rest of the page: it is asked for less often. */
export const routersUnchanged = html`<section id="routers" data-unchanged></section>`;

function agreementBadge({ agree, differences }: RoutersView): Markup {
  if (agree === true) return badge('good', 'They agree');
  if (agree === null) return badge('neutral', 'Whether they agree is not known');
  return badge('bad', `They differ in ${count(differences.length, 'thing')}`);
}

/** Differences that are told at most: a router that is far behind differs in each resource of each server. */
const shownDifferences = 50;

function differenceList(
  differences: readonly Difference[],
  names: ReadonlyMap<string, string>,
  hostnames: Hostnames,
): Markup {
  if (differences.length === 0) return html``;
  const shown = differences.slice(0, shownDifferences);
  const rest = differences.length - shown.length;
  return html`<ul class="claims">${shown.map((difference) => differenceItem(difference, names, hostnames))}</ul>
${rest === 0 ? '' : html`<p class="muted">And ${rest} more.</p>`}`;
}

function differenceItem(
  { subject, values }: Difference,
  names: ReadonlyMap<string, string>,
  hostnames: Hostnames,
): Markup {
  const said = values.map(
    ({ value, routers }) =>
      html`<b>${value}</b> says ${routers.map((server) => names.get(server) ?? server).join(', ')}`,
  );
  return html`<li>${withDisplayNames(subject, hostnames)}: ${said.map((text, index) => html`${index === 0 ? '' : '; '}${text}`)}</li>`;
}

function routerRow(
  { server, serverId, error, status }: RouterOfServer,
  name: string,
  isOwn: boolean,
  hostnames: Hostnames,
  now: number,
): Markup {
  return html`<tr role="row" data-key="${serverId ?? server}">
<th scope="row" role="rowheader"><span class="name">${name}</span>${isOwn ? html` <span class="tag">this router</span>` : ''}
<span class="detail">${server.replace('https://', '')}</span></th>
${
  status === null
    ? html`<td role="cell">${badge('warning', 'Not known')}<span class="detail">${error}</span></td><td role="cell"></td><td role="cell"></td><td role="cell"></td>`
    : html`<td role="cell">${readiness(status, hostnames)}</td>
<td role="cell">${snapshot(status, now)}</td>
<td role="cell">${healthy(status)}<span class="when-narrow"> healthy</span></td>
<td role="cell">${status.preferredVersion?.minor ?? '–'}<span class="when-narrow"> preferred</span></td>`
}
</tr>`;
}

function readiness({ readiness: told, warnings, ...status }: StatusView, hostnames: Hostnames): Markup {
  const isReady = saysReady({ readiness: told });
  return html`${isReady ? badge('good', 'Ready') : badge('bad', 'Not ready')}
${(told?.failures ?? []).map(({ name, reason }) => html`<span class="detail">${name}: ${withDisplayNames(reason, hostnames)}</span>`)}
${status.enabled ? '' : html`<span class="detail">feature gate off</span>`}
${warnings.length === 0 ? '' : html`<span class="detail">${count(warnings.length, 'warning')}</span>`}`;
}

/** Whose it is, and how old. */
function snapshot({ snapshot: held, embeddedSync }: StatusView, now: number): Markup {
  const failed = (embeddedSync?.servers ?? []).filter(({ failure }) => failure !== null).length;
  const notRead =
    failed === 0 ? '' : html`<span class="detail">${count(failed, 'server')} could not be read</span>`;
  if (held === null) return html`${badge('warning', 'None yet')}${notRead}`;
  const { generation, createdAt, old } = held;
  const read = Date.parse(embeddedSync?.lastReadAt ?? '');
  return html`Generation ${generation}${old ? html` ${badge('warning', 'Old')}` : ''}
<span class="detail">${
    Number.isNaN(read)
      ? html`${embeddedSync === null ? 'pushed' : 'not read yet'}, ${age(Date.parse(createdAt), now)} old`
      : html`read by itself ${age(read, now)} ago`
  }</span>${notRead}`;
}

function healthy({ servers }: StatusView): string {
  return `${countHealthy(servers)} of ${servers.length}`;
}
