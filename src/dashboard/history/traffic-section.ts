import { html } from 'hono/html';
import { type HistoryView, rate, type Traffic } from '../../own-paths/history/history-view.ts';
import { count, nounFor, type VersionColours } from '../wording/display-names.ts';
import { reasonText } from '../wording/explanation-text.ts';
import { type Markup, stackingTable, timeOfDay, versionMarkup } from '../wording/markup.ts';

/** Minutes that the chart has at least. */
const fewestMinutes = 5;

export function trafficSection(
  history: HistoryView | undefined,
  colourOf: VersionColours,
  now: number,
): Markup {
  return html`<section id="traffic" class="card" aria-labelledby="traffic-heading">
<h2 id="traffic-heading">The last hour</h2>
${history === undefined ? html`<p class="muted">This runtime keeps no history.</p>` : body(history, colourOf, now)}
</section>`;
}

function body(history: HistoryView, colourOf: VersionColours, now: number): Markup {
  const { total, since, versions, secondsOfMinutes } = history;
  if (total.requests === 0) {
    return html`<p class="muted">No request since ${timeOfDay(Date.parse(since))}, as this router saw it.</p>`;
  }
  const shown = shownMinutes(total.perMinute);
  return html`<p>${count(total.requests, 'request')} since ${timeOfDay(Date.parse(since))} by this router, ${total.perSecond} per second ${secondsOfMinutes.at(-2) === 60 ? 'in the last whole minute' : 'since then'}. Refused (429): ${total.refused}. Failed (5xx): ${total.failed}.</p>
${trafficChart(history, colourOf, now, shown)}
<p class="axis muted" aria-hidden="true"><span>${shown} min ago</span><span>requests a second by version, up to ${Math.max(...ratesOf(total, history))}; lines: events</span><span>now</span></p>
${stackingTable(
  'traffic-table',
  'Requests by version: number, per second, refused and failed',
  [
    { name: 'Version' },
    ...['Requests', 'Per second', '429', '5xx'].map((name) => ({ name, isNumber: true })),
  ],
  versions.map(({ version, ...traffic }) => row(version, traffic, colourOf)),
)}
${rerouted(history)}`;
}

/** From the first minute that has requests on. */
function shownMinutes(perMinute: readonly number[]): number {
  const first = perMinute.findIndex((requests) => requests > 0);
  return Math.min(perMinute.length, Math.max(fewestMinutes, perMinute.length - first));
}

function row(version: string | null, traffic: Traffic, colourOf: VersionColours): Markup {
  const { requests, perSecond, refused, failed } = traffic;
  return html`<tr role="row" data-key="${version ?? ''}">
<th scope="row" role="rowheader"><span class="swatch ${colourOf(version)}" aria-hidden="true"></span> ${version === null ? 'no server, or version not known' : versionMarkup(version)}</th>
${numberCell(requests, nounFor(requests, 'request'))}${numberCell(perSecond, 'per second')}${numberCell(refused, 'refused (429)')}${numberCell(failed, 'failed (5xx)')}
</tr>`;
}

/** @param label stands after it where columns have no heads */
export function numberCell(value: string | number, label: string): Markup {
  return html`<td role="cell" class="number">${value}<span class="when-narrow"> ${label}</span></td>`;
}

function rerouted({ rerouted: { requests, reasons } }: HistoryView): Markup {
  if (requests === 0) return html`<p class="muted">Every request went to the local server.</p>`;
  return html`<h3>Not to the local server: ${count(requests, 'request')}</h3>
<ul class="reasons">${reasons.map(
    ({ reason, requests: number }) => html`<li><b>${number}</b> ${reason}: ${reasonText(reason)}</li>`,
  )}</ul>`;
}

/** Units of the drawing: a minute is one wide. */
const height = 40;

/**
 * Requests of each of the last minutes, by version, one above the other, and a line where something happened to the
 * cluster. Decoration: tables and the timeline say the same in words. Attributes alone, since the page allows no style.
 */
function trafficChart(history: HistoryView, colourOf: VersionColours, now: number, minutes: number): Markup {
  const { versions, total, timeline } = history;
  const most = Math.max(...ratesOf(total, history)) || 1;
  const below = new Array<number>(minutes).fill(0);
  const areas = versions.map((traffic) => {
    const bars = ratesOf(traffic, history)
      .slice(-minutes)
      .map((perSecond, minute) => {
        if (perSecond === 0) return '';
        const from = height - ((below[minute] ?? 0) / most) * height;
        below[minute] = (below[minute] ?? 0) + perSecond;
        const to = height - ((below[minute] ?? 0) / most) * height;
        return `M${minute} ${short(from)}V${short(to)}h.9V${short(from)}z`;
      });
    return html`<path class="${colourOf(traffic.version)}" d="${bars.join('')}"/>`;
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

/** Requests a second of each minute, by the seconds in which the router ran: the running minute has not sixty of them. */
function ratesOf({ perMinute }: Traffic, { secondsOfMinutes }: HistoryView): readonly number[] {
  return perMinute.map((requests, minute) => rate(requests, secondsOfMinutes[minute] ?? 60));
}

function short(number: number): number {
  return Math.round(number * 10) / 10;
}
