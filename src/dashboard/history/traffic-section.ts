import { html } from 'hono/html';
import type { HistoryView, Traffic } from '../../own-paths/history/history-view.ts';
import { reasonTexts } from '../wording/decision-text.ts';
import { compareNames, displayName, type Hostnames, type VersionColours } from '../wording/display-names.ts';
import { count, type Markup, nounFor, stackingTable, timeOfDay, versionMarkup } from '../wording/markup.ts';

/** Rerouted resources that are named. */
const namedResources = 10;
/** More servers than this are folded. */
const listedServers = 12;

/** The last hour: requests and latency by version and by server, and what was rerouted and why. */
export function trafficSection(
  history: HistoryView | undefined,
  colourOf: VersionColours,
  hostnames: Hostnames,
  now: number,
): Markup {
  return html`<section id="traffic" class="card" aria-labelledby="traffic-heading">
<h2 id="traffic-heading">The last hour</h2>
${history === undefined ? html`<p class="muted">This runtime keeps no history.</p>` : body(history, colourOf, hostnames, now)}
</section>`;
}

function body(history: HistoryView, colourOf: VersionColours, hostnames: Hostnames, now: number): Markup {
  const { total, since, versions, servers } = history;
  if (total.requests === 0) {
    return html`<p class="muted">No request since ${timeOfDay(Date.parse(since))}, as this router saw it.</p>`;
  }
  const byName = servers
    .map((server) => ({
      ...server,
      name: server.id === null ? 'this router' : displayName(server.id, hostnames),
    }))
    .sort((left, right) => compareNames(left.name, right.name));
  const serverRows = byName.map(({ id, name, version, ...traffic }) =>
    row(
      html`<span class="name">${name}</span>${id === null ? '' : html` <span class="detail">${versionMarkup(version)}</span>`}`,
      `${id ?? ''} ${version ?? ''}`,
      traffic,
      colourOf(version),
    ),
  );
  const serverTable = table('Requests by server', 'Server', serverRows);
  return html`<p>${count(total.requests, 'request')} since ${timeOfDay(Date.parse(since))} by this router, ${total.perSecond} per second in the last whole minute. Refused (429): ${total.refused}. Failed (5xx): ${total.failed}.</p>
${trafficChart(history, colourOf, now)}
<p class="axis muted" aria-hidden="true"><span>an hour ago</span><span>requests a second by version, up to ${perSecondAt(Math.max(...total.perMinute))}; lines: events</span><span>now</span></p>
${table(
  'Requests by version',
  'Version',
  versions.map(({ version, ...traffic }) =>
    row(
      html`<span class="swatch ${colourOf(version)}" aria-hidden="true"></span> ${version === null ? 'no server, or version not known' : versionMarkup(version)}`,
      version ?? '',
      traffic,
      colourOf(version),
    ),
  ),
)}
${
  servers.length > listedServers
    ? html`<details data-key="traffic-servers"><summary>${count(servers.length, 'server')}</summary>${serverTable}</details>`
    : serverTable
}
${rerouted(history)}`;
}

function table(caption: string, first: string, rows: readonly Markup[]): Markup {
  const numbers = ['Requests', 'Per second', 'Latency, median', 'Latency, 99 %', '429', '5xx'];
  return stackingTable(
    'traffic-table',
    `${caption}: number, per second, latency until the response begins, refused and failed`,
    [{ name: first, sorts: true }, ...numbers.map((name) => ({ name, isNumber: true, sorts: true }))],
    rows,
  );
}

function row(name: Markup, key: string, traffic: Traffic, colour: string): Markup {
  const { requests, perSecond, milliseconds, refused, failed, perMinute, p99PerMinute } = traffic;
  const cell = (value: Markup | string | number, label: string, drawing: Markup | '' = '') =>
    html`<td role="cell" class="number">${value}<span class="when-narrow"> ${label}</span>${drawing}</td>`;
  return html`<tr role="row" data-key="${key}">
<th scope="row" role="rowheader">${name}${sparkline(shares(perMinute), colour)}</th>
${cell(requests, nounFor(requests, 'request'))}${cell(perSecond, 'per second')}${cell(latency(milliseconds.p50), 'median latency')}${cell(latency(milliseconds.p99), 'latency, 99 %', sparkline(p99PerMinute.map(shareOfLatency), colour))}${cell(refused, 'refused (429)')}${cell(failed, 'failed (5xx)')}
</tr>`;
}

/** Bounds, since that is all that is kept. */
function latency(milliseconds: number | null): string {
  if (milliseconds === null) return '–';
  return milliseconds >= 1000 ? `≤ ${Math.round(milliseconds / 100) / 10} s` : `≤ ${milliseconds} ms`;
}

function rerouted({ rerouted: { requests, reasons, resources, others } }: HistoryView): Markup {
  if (requests === 0) return html`<p class="muted">Every request went to the local server.</p>`;
  const named = resources.slice(0, namedResources);
  const more = resources.slice(namedResources).reduce((sum, each) => sum + each.requests, others);
  return html`<h3>Not to the local server: ${count(requests, 'request')}</h3>
<ul class="reasons">${reasons.map(
    ({ reason, requests: number }) =>
      html`<li><b>${number}</b> ${reason} <span class="detail">${reasonTexts[reason]}</span></li>`,
  )}</ul>
${
  named.length === 0
    ? ''
    : html`<ul class="names">${named.map(
        ({ resource, requests: number }) =>
          html`<li><span class="name">${resource.replace(/^\//, '')}</span> <span class="version">${number}</span></li>`,
      )}${more === 0 ? '' : html`<li class="muted">others ${more}</li>`}</ul>`
}`;
}

/** Units of the drawing: a minute is one wide. */
const height = 40;

/**
 * Requests of each minute of the last hour, by version, one above the other, and a line where something happened to the
 * cluster. Decoration: tables and the timeline say the same in words. Attributes alone, since the page allows no style.
 */
function trafficChart(
  { versions, total, timeline }: HistoryView,
  colourOf: VersionColours,
  now: number,
): Markup {
  const most = Math.max(1, ...total.perMinute);
  const minutes = total.perMinute.length;
  const below = new Array<number>(minutes).fill(0);
  const areas = versions.map(({ version, perMinute }) => {
    const bars = perMinute.map((requests, minute) => {
      if (requests === 0) return '';
      const from = height - ((below[minute] ?? 0) / most) * height;
      below[minute] = (below[minute] ?? 0) + requests;
      const to = height - ((below[minute] ?? 0) / most) * height;
      return `M${minute} ${short(from)}V${short(to)}h.9V${short(from)}z`;
    });
    return html`<path class="${colourOf(version)}" d="${bars.join('')}"/>`;
  });
  const last = Math.floor(now / 60_000);
  const marks = new Set(
    timeline
      .filter(({ event }) => event !== 'ServerHealthy' && event !== 'ServerUnhealthy')
      .map(({ at }) => minutes - 1 - last + Math.floor(Date.parse(at) / 60_000))
      .filter((minute) => minute >= 0),
  );
  return html`<svg class="traffic" viewBox="0 0 ${minutes} ${height}" preserveAspectRatio="none" aria-hidden="true" focusable="false">${areas}${[
    ...marks,
  ].map(
    (minute) => html`<line class="mark" x1="${minute + 0.5}" x2="${minute + 0.5}" y1="0" y2="${height}"/>`,
  )}</svg>`;
}

/** One row's minutes, each a share of the height. */
function sparkline(minutes: readonly number[], colour: string): Markup {
  const bars = minutes.map((share, minute) =>
    share === 0 ? '' : `M${minute} 10V${short(10 - share * 10)}h.9V10z`,
  );
  return html`<svg class="sparkline" viewBox="0 0 ${minutes.length} 10" preserveAspectRatio="none" aria-hidden="true" focusable="false"><path class="${colour}" d="${bars.join('')}"/></svg>`;
}

/** Of the row's own greatest. */
function shares(perMinute: readonly number[]): readonly number[] {
  const most = Math.max(1, ...perMinute);
  return perMinute.map((requests) => requests / most);
}

/** The same for every row, so that they can be compared: each power of two is a step, up to 32 s. */
function shareOfLatency(milliseconds: number | null): number {
  return milliseconds === null ? 0 : (Math.log2(milliseconds) + 1) / 16;
}

function perSecondAt(perMinute: number): number {
  return Math.round((perMinute / 60) * 100) / 100;
}

function short(number: number): number {
  return Math.round(number * 10) / 10;
}
