import { raw } from 'hono/html';
import type { Markup } from './markup.ts';

/**
 * The Markdown of the guides as HTML: headings, paragraphs, lists, tables, blocks of code, and within a line `code`, **strong**
 * and links. Everything else stands as it is written. Pure.
 * @param hrefOf where a link leads; `undefined`: its target is named behind its text
 */
export function markdownHtml(text: string, hrefOf: (target: string) => string | undefined): Markup {
  const lines = text.split('\n');
  const parts: string[] = [];
  while (lines.length > 0) parts.push(block(lines, hrefOf));
  return raw(parts.join('\n'));
}

type HrefOf = (target: string) => string | undefined;

/** Takes the lines of the next block from the front. */
function block(lines: string[], hrefOf: HrefOf): string {
  const first = lines.shift() ?? '';
  if (first.trim() === '') return '';
  if (first.startsWith('```')) {
    const code = lines.splice(0, lines.indexOf('```'));
    lines.shift();
    return `<pre tabindex="0">${escaped(code.join('\n'))}</pre>`;
  }
  const [, marks, heading] = /^(#{1,4}) (.*)$/.exec(first) ?? [];
  if (marks !== undefined && heading !== undefined) {
    return `<h${marks.length} id="${slugOf(heading)}">${inline(heading, hrefOf)}</h${marks.length}>`;
  }
  if (first.startsWith('|'))
    return table([first, ...takeWhile(lines, (line) => line.startsWith('|'))], hrefOf);
  const mark = listMark.exec(first);
  if (mark !== null)
    return list([first, ...takeWhile(lines, (line) => /^ /.test(line) || listMark.test(line))], hrefOf);
  const more = takeWhile(
    lines,
    (line) => line.trim() !== '' && !/^(```|#|\|)/.test(line) && !listMark.test(line),
  );
  return `<p>${inline([first, ...more].join(' '), hrefOf)}</p>`;
}

const listMark = /^(-|\d+\.) +/;

/** Items may hold further blocks, which stand further to the right. */
function list(lines: readonly string[], hrefOf: HrefOf): string {
  const items: string[][] = [];
  for (const line of lines) {
    if (listMark.test(line)) items.push([line.replace(listMark, '')]);
    else items.at(-1)?.push(line.replace(/^ {2,4}/, ''));
  }
  const name = /^\d/.test(lines[0] ?? '') ? 'ol' : 'ul';
  const parts = items.map((item) => {
    const [first = '', ...rest] = item;
    const more: string[] = [];
    while (rest.length > 0) more.push(block(rest, hrefOf));
    return `<li>${inline(first, hrefOf)}${more.join('')}</li>`;
  });
  return `<${name}>${parts.join('')}</${name}>`;
}

function table([head = '', _rule, ...rows]: readonly string[], hrefOf: HrefOf): string {
  const row = (line: string, cell: 'th' | 'td'): string => {
    // A bar within code is written \| (GitHub Flavored Markdown, section 4.10).
    const cells = line
      .trim()
      .slice(1, -1)
      .split(/(?<!\\)\|/);
    return `<tr>${cells.map((text) => `<${cell}>${inline(text.trim().replaceAll('\\|', '|'), hrefOf)}</${cell}>`).join('')}</tr>`;
  };
  return `<div class="scroll" tabindex="0"><table><thead>${row(head, 'th')}</thead><tbody>${rows.map((line) => row(line, 'td')).join('')}</tbody></table></div>`;
}

/** Code first: nothing in it is a mark. */
const mark = /`([^`]+)`|\*\*(.+?)\*\*|\[((?:[^\]`]|`[^`]*`)+)\]\(([^)]+)\)/g;

function inline(text: string, hrefOf: HrefOf): string {
  let html = '';
  let at = 0;
  for (const { 0: whole, 1: code, 2: strong, 3: label = '', 4: target = '', index } of text.matchAll(mark)) {
    html += escaped(text.slice(at, index));
    at = index + whole.length;
    if (code !== undefined) html += `<code>${escaped(code)}</code>`;
    else if (strong !== undefined) html += `<strong>${inline(strong, hrefOf)}</strong>`;
    else html += link(inline(label, hrefOf), target, hrefOf(target));
  }
  return html + escaped(text.slice(at));
}

function link(label: string, target: string, href: string | undefined): string {
  return href === undefined
    ? `${label} (<code>${escaped(target)}</code>)`
    : `<a href="${escaped(href)}">${label}</a>`;
}

/** As GitHub makes the name of a heading. */
function slugOf(heading: string): string {
  return escaped(
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

function takeWhile(lines: string[], isPart: (line: string) => boolean): string[] {
  const end = lines.findIndex((line) => !isPart(line));
  return lines.splice(0, end === -1 ? lines.length : end);
}
