import { negotiateMediaType } from '../../apimachinery/accept.ts';
import { type ExposedFamily, helpOf, type Sample } from './metric-family.ts';

export type ExpositionFormat = 'text' | 'openmetrics';

const contentTypes: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/**
 * The format that a scraper prefers by its Accept header. If it accepts neither, it gets the older one, which is more
 * useful to an operator than a 406.
 */
export function negotiateFormat(accept: string | undefined): ExpositionFormat {
  const chosen = negotiateMediaType(accept, [
    { mediaType: 'text/plain', format: 'text' as const },
    { mediaType: 'application/openmetrics-text', format: 'openmetrics' as const },
  ]);
  return chosen?.offer.format ?? 'text';
}

export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

/** All metrics, in the order of `families`. */
export function expose(families: Iterable<ExposedFamily>, format: ExpositionFormat): Exposition {
  const lines: string[] = [];
  for (const family of families) appendFamily(lines, family, format);
  if (format === 'openmetrics') lines.push('# EOF');
  return { contentType: contentTypes[format], text: `${lines.join('\n')}\n` };
}

function appendFamily(lines: string[], family: ExposedFamily, format: ExpositionFormat): void {
  const { definition } = family;
  const isCounter = definition.type === 'counter';
  // OpenMetrics 1.0: the name of a counter's family has no `_total`, that of its sample has.
  const bare = format === 'openmetrics' && isCounter;
  const familyName = bare ? definition.name.replace(/_total$/, '') : definition.name;
  lines.push(`# HELP ${familyName} ${escapeHelp(helpOf(definition), format)}`);
  lines.push(`# TYPE ${familyName} ${definition.type}`);
  for (const sample of family.samples()) lines.push(sampleLine(definition.name, sample, format));
}

function sampleLine(
  name: string,
  { suffix, labels, upperBound, value }: Sample,
  format: ExpositionFormat,
): string {
  const bound = upperBound === undefined ? '' : `le="${boundText(upperBound, format)}"`;
  const all = labels === '' || bound === '' ? labels + bound : `${labels},${bound}`;
  return `${name}${suffix}${all === '' ? '' : `{${all}}`} ${numberText(value)}`;
}

/** OpenMetrics requires canonical numbers as bounds: `1.0`. To Prometheus both are the same series. */
function boundText(bound: number, format: ExpositionFormat): string {
  return format === 'openmetrics' && Number.isInteger(bound) ? `${bound}.0` : numberText(bound);
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}

function escapeHelp(help: string, format: ExpositionFormat): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped;
}
