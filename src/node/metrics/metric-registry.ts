import { negotiateMediaType, parseAccept } from '../../apimachinery/accept.ts';
import {
  type ExposedFamily,
  HistogramFamily,
  helpOf,
  type MetricDefinition,
  NumberFamily,
  type Sample,
} from './metric-family.ts';
import { processCatalogue } from './process-metrics.ts';
import { destinationCatalogue, requestCatalogue } from './request-catalogue.ts';
import { sliCatalogue, stateCatalogue, syncCatalogue } from './state-catalogue.ts';

export type MetricsPath = '/metrics' | '/metrics/slis';

/** Metrics that belong together, as docs/reference/metrics.md shows them. */
interface CatalogueSection {
  readonly heading: string;
  /** The path under which they are scraped. */
  readonly path: MetricsPath;
  readonly metrics: readonly MetricDefinition[];
}

/**
 * All metrics of the router. They are registered from this list, docs/reference/metrics.md is generated from it, and tests
 * compare a scrape with it.
 */
export const metricCatalogue: readonly CatalogueSection[] = [
  { heading: 'Requests', path: '/metrics', metrics: Object.values(requestCatalogue) },
  { heading: 'Destinations', path: '/metrics', metrics: Object.values(destinationCatalogue) },
  { heading: 'Snapshot, files, connections', path: '/metrics', metrics: Object.values(stateCatalogue) },
  { heading: 'Reading the cluster', path: '/metrics', metrics: Object.values(syncCatalogue) },
  { heading: 'Process', path: '/metrics', metrics: processCatalogue },
  { heading: 'Health checks', path: '/metrics/slis', metrics: Object.values(sliCatalogue) },
];

type FamilyOf<Definition extends MetricDefinition> = Definition['type'] extends 'histogram'
  ? HistogramFamily<Definition['labels']>
  : NumberFamily<Definition['labels']>;

type FamiliesOf<Catalogue extends Readonly<Record<string, MetricDefinition>>> = {
  readonly [Name in keyof Catalogue]: FamilyOf<Catalogue[Name]>;
};

export type MetricRegistry = ReturnType<typeof createMetricRegistry>;

/** One family for each entry of the catalogues, with the series that it begins with. */
export function createMetricRegistry() {
  return {
    requests: familiesOf(requestCatalogue),
    destinations: familiesOf(destinationCatalogue),
    state: familiesOf(stateCatalogue),
    sync: familiesOf(syncCatalogue),
    slis: familiesOf(sliCatalogue),
  };
}

function familiesOf<Catalogue extends Readonly<Record<string, MetricDefinition>>>(
  catalogue: Catalogue,
): FamiliesOf<Catalogue> {
  const families = Object.entries(catalogue).map(([name, definition]) => [
    name,
    definition.type === 'histogram' ? new HistogramFamily(definition) : new NumberFamily(definition),
  ]);
  // Each entry is made as `FamilyOf` says.
  return Object.fromEntries(families) as FamiliesOf<Catalogue>;
}

type ExpositionFormat = 'text' | 'openmetrics';

const contentTypes: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/**
 * The format that a scraper prefers by its Accept header. If it accepts neither, it gets the older one, which is more
 * useful to an operator than a 406.
 */
export function negotiateFormat(accept: string | undefined): ExpositionFormat {
  const chosen = negotiateMediaType(parseAccept(accept), [
    { mediaType: 'text/plain', format: 'text' as const },
    { mediaType: 'application/openmetrics-text', format: 'openmetrics' as const },
  ]);
  return chosen?.offer.format ?? 'text';
}

interface Exposition {
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
