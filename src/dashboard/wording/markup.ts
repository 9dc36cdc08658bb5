import { html } from 'hono/html';
import { durationText } from '../../runtime/duration-text.ts';
import { shortVersion } from './display-names.ts';

/**
 * A piece of the page. Made by `html` alone, which escapes everything that is put into it unless it is such a piece
 * itself; attribute values always stand in double quotes. Node runs TypeScript as it is but no JSX syntax, hence
 * templates.
 */
export type Markup = ReturnType<typeof html>;

export type BadgeKind = 'good' | 'warning' | 'bad' | 'neutral';

/** Each kind has a shape of its own: colour says nothing that the shape and the words do not say. */
const badgeShapes: Readonly<Record<BadgeKind, string>> = {
  good: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm3.6 5.3-4.2 4.6a.75.75 0 0 1-1.1 0L4.4 9l1.1-1 1.3 1.4 3.7-4.1Z',
  warning:
    'M7.1 1.6a1 1 0 0 1 1.8 0l6 11.9a1 1 0 0 1-.9 1.5H2a1 1 0 0 1-.9-1.5Zm.1 4.2v4h1.6v-4Zm0 5.2v1.7h1.6V11Z',
  bad: 'M5 1h6l4 4v6l-4 4H5l-4-4V5Zm.9 3.8L4.8 5.9 6.9 8l-2.1 2.1 1.1 1.1L8 9.1l2.1 2.1 1.1-1.1L9.1 8l2.1-2.1-1.1-1.1L8 6.9Z',
  neutral: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 1.6a5.4 5.4 0 1 1 0 10.8A5.4 5.4 0 0 1 8 2.6Z',
};

export function badge(kind: BadgeKind, text: string): Markup {
  return html`<span class="badge ${kind}">${icon(badgeShapes[kind])}${text}</span>`;
}

/** @param shape data of an SVG path in a square of 16 */
export function icon(shape: string): Markup {
  return html`<svg viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d="${shape}"/></svg>`;
}

/** How long ago it was; the page's script counts on. @param at, now milliseconds since the epoch */
export function age(at: number, now: number): Markup {
  return html`<time datetime="${new Date(at).toISOString()}" data-age>${durationText(now - at)}</time>`;
}

/** Time of day in UTC; the page's script makes it the reader's own. @param at milliseconds since the epoch */
export function timeOfDay(at: number): Markup {
  const text = new Date(at).toISOString();
  return html`<time datetime="${text}" data-time-of-day>${text.slice(11, 19)} UTC</time>`;
}

/** A resource, or a subresource of one, and where it is. @param place its version, with the group where none stands by */
export function resourceMarkup(resource: string, subresource: string, place: string): Markup {
  const name = subresource === '' ? resource : `${resource}/${subresource}`;
  return html`<span class="name">${name}</span> <span class="version">${place}</span>`;
}

/** A column of a table. */
interface Column {
  readonly name: string;
  /** True if the cells of the column are numbers, which stand on the right. */
  readonly isNumber?: boolean;
}

/** A table whose rows become blocks where no column is wide enough (narrow.css). Roles keep it a table there. */
export function stackingTable(
  kind: string,
  caption: string,
  columns: readonly Column[],
  rows: readonly Markup[],
): Markup {
  return html`<table class="${kind} stacking" role="table">
<caption class="visually-hidden">${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(
    ({ name, isNumber = false }) =>
      html`<th scope="col" role="columnheader"${isNumber ? html` class="number"` : ''}>${name}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">${rows}</tbody>
</table>`;
}

/** Content that scrolls within the page, by keyboard too. */
export function scrolling(label: string, content: Markup): Markup {
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0">
${content}
</div>`;
}

/** A server's version, which may be longer than any that a server reports. */
export function versionMarkup(version: string | null | undefined): Markup {
  const text = shortVersion(version ?? 'not known');
  return html`<span class="${text.length > 20 ? 'long' : 'nowrap'}">${text}</span>`;
}
