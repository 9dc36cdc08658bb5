import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { barChart, type Panel } from '../bench/report/bar-chart.ts';

const guide = resolve(import.meta.dirname, '..', '..', 'docs', 'guides', 'preferred-version.md');

/** Columns of the guide's table, with the words for a bar. */
const ways = [
  'through any of four routers',
  'through the gateway',
  'through a TCP load balancer',
  'straight to the servers',
] as const;

const withoutRouter: ReadonlySet<string> = new Set(ways.slice(2));

/** The measured table of the guide as a picture: what was lost in an upgrade, by the way it took. */
export function lostFieldsPicture(): string {
  const text = readFileSync(guide, 'utf8');
  return barChart('What is lost while servers of two versions run, through routers and without', [
    panel(text, 'of these, lost it', 'objects stored with the field', 'Fields lost', 'of 100 objects'),
    panel(
      text,
      'reads that did not show it',
      'objects stored with the field',
      'Fields hidden',
      'reads of 100 objects',
    ),
    panel(
      text,
      'of these, evaded it',
      'ConfigMaps created while two of three servers know a MutatingAdmissionPolicy',
      'Policies evaded',
      'of 100 writes',
    ),
  ]);
}

/** Shares of one row in another. Ways that the table has no figures of are left out. */
function panel(text: string, row: string, ofRow: string, title: string, unit: string): Panel {
  const part = figuresOf(text, row);
  const whole = figuresOf(text, ofRow);
  const bars = ways.flatMap((label, column) => {
    const figure = part[column];
    const all = whole[column];
    if (figure === undefined || all === undefined) return [];
    const share = Math.round((1_000 * figure) / all) / 10;
    return {
      label,
      spread: { minimum: share, median: share, maximum: share },
      emphasized: !withoutRouter.has(label),
    };
  });
  return { title, unit, bars };
}

function figuresOf(text: string, row: string): readonly (number | undefined)[] {
  const line = text.split('\n').find((each) => each.startsWith(`| ${row} |`));
  if (line === undefined) throw new TypeError(`${guide} has no row "${row}".`);
  return line
    .split('|')
    .slice(2, -1)
    .map((cell) => {
      const [figure] = /\d[\d,]*/.exec(cell) ?? [];
      return figure === undefined ? undefined : Number(figure.replaceAll(',', ''));
    });
}
