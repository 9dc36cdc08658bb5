import { html } from 'hono/html';
import type { HistoryView } from '../../own-paths/history/history-view.ts';
import type { Markup } from '../wording/markup.ts';
import type { VersionColours } from '../wording/version-colours.ts';

/** Units of the drawing: a minute is one wide. */
const height = 40;

/**
 * Requests of each minute of the last hour, by version, one above the other, and a line where something happened to the
 * cluster. Decoration: tables and the timeline say the same in words. Attributes alone, since the page allows no style.
 */
export function trafficChart(
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

/** One row's requests, minute by minute. */
export function sparkline(perMinute: readonly number[], colour: string): Markup {
  const most = Math.max(1, ...perMinute);
  const bars = perMinute.map((requests, minute) =>
    requests === 0 ? '' : `M${minute} 10V${short(10 - (requests / most) * 10)}h.9V10z`,
  );
  return html`<svg class="sparkline" viewBox="0 0 ${perMinute.length} 10" preserveAspectRatio="none" aria-hidden="true" focusable="false"><path class="${colour}" d="${bars.join('')}"/></svg>`;
}

function short(number: number): number {
  return Math.round(number * 10) / 10;
}
