import { html } from 'hono/html';
import type { HistoryView } from '../../own-paths/history/history-view.ts';
import { displayName, type Hostnames, shortVersion } from '../wording/display-names.ts';
import { age, type Markup, timeOfDay } from '../wording/markup.ts';

type Happened = HistoryView['timeline'][number];

/** Shown at once; the others can be unfolded. */
const shownAtOnce = 8;

/** Events of the cluster, as this router noticed them. */
export function timelineSection(history: HistoryView | undefined, hostnames: Hostnames, now: number): Markup {
  if (history === undefined) return html``;
  const events = history.timeline.map((event) => listed(event, hostnames, now));
  const rest = events.slice(shownAtOnce);
  return html`<section id="timeline" class="card" aria-labelledby="timeline-heading">
<h2 id="timeline-heading">Timeline</h2>
${events.length === 0 ? html`<p class="muted">Nothing yet, since this router started.</p>` : html`<ol class="timeline">${events.slice(0, shownAtOnce)}</ol>`}
${rest.length === 0 ? '' : html`<details data-key="earlier-events"><summary>${rest.length} earlier</summary><ol class="timeline">${rest}</ol></details>`}
</section>`;
}

function listed(event: Happened, hostnames: Hostnames, now: number): Markup {
  const at = Date.parse(event.at);
  const server =
    event.server === undefined
      ? ''
      : html`<span class="name">${displayName(event.server, hostnames)}</span> `;
  return html`<li class="${troubling.has(event.event) ? 'troubling' : ''}" data-key="${event.at} ${event.event} ${event.server ?? ''}"><span class="muted nowrap">${timeOfDay(at)}, ${age(at, now)} ago</span> <span>${server}${textOf(event)}</span></li>`;
}

const troubling: ReadonlySet<Happened['event']> = new Set(['ServerUnhealthy', 'ServerDeparted']);

function textOf({ event, from, to }: Happened): string {
  const [was, is] = [from, to].map((version) =>
    version === undefined ? 'not known' : shortVersion(version),
  );
  switch (event) {
    case 'FirstSnapshot':
      return 'This router has its first snapshot since it started';
    case 'ServerJoined':
      return `joined, version ${is}`;
    case 'ServerLeft':
      return `left, version ${was}`;
    case 'ServerDeparted':
      return 'departed, and may come back: what only it serves is 503';
    case 'ServerReturned':
      return 'is back';
    case 'VersionChanged':
      return `changed from ${was} to ${is}`;
    case 'PreferredVersionChanged':
      if (to === undefined) return `Servers no longer differ in version: none is preferred (it was ${was})`;
      return from === undefined
        ? `Version ${is} is preferred where servers differ`
        : `Version ${is} is preferred where servers differ, in place of ${was}`;
    case 'ServerUnhealthy':
      return to === 'restarting' ? 'restarts' : `is ${to}`;
    case 'ServerHealthy':
      return 'is ready again';
  }
}
