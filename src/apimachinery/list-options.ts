import { isInt64 } from './integer.ts';
import { isLabelSelector } from './label-selector.ts';
import { toByteString } from './raw-headers.ts';
import { malformedPercentEscape } from './request-target.ts';

interface ListOptions {
  readonly watch: boolean;
  /** The value of an exact match on `metadata.name` in the field selector; empty when there is none. */
  readonly name: string;
}

/**
 * Characters of a selector. A longer one is the API server's to parse: nothing is read from it here, as if it said
 * nothing of a name.
 */
const maximumSelector = 8 * 1024;

/** Go's `strings.EqualFold` with "false": simple case folding, under which U+017F (long s) equals s. */
const foldsToFalse = /^false$/iu;

/**
 * Reads list options from the first value of each query parameter
 * (k8s.io/apimachinery pkg/apis/meta/v1 ListOptions, its generated conversion from url.Values). When any of
 * them cannot be converted all are dropped, and `watch` is read by a rule of its own.
 *
 * Only parameters whose conversion can fail are looked at: the other ones are booleans, for which every value
 * counts, and strings.
 */
export function readListOptions(parameters: ReadonlyMap<string, string>): ListOptions {
  const watch = parameters.get('watch');
  const fields = convertibleFieldSelector(parameters);
  if (fields === undefined) {
    return { watch: watch !== undefined && watch !== '0' && watch.toLowerCase() !== 'false', name: '' };
  }
  const exact = fields.find(({ field, operator }) => field === 'metadata.name' && operator === '=');
  const name = exact?.value ?? '';
  // No name of an object (k8s.io/apimachinery pkg/api/validate/content/path.go).
  const isImpossible = name === '.' || name === '..' || /[/%]/.test(name);
  return {
    watch: watch !== undefined && watch !== '0' && !foldsToFalse.test(watch),
    name: isImpossible ? '' : name,
  };
}

function convertibleFieldSelector(
  parameters: ReadonlyMap<string, string>,
): ReturnType<typeof parseFieldSelector> {
  const limit = parameters.get('limit');
  if (limit !== undefined && !isInt64(limit)) return undefined;
  const timeoutSeconds = parameters.get('timeoutSeconds');
  if (timeoutSeconds !== undefined && !isInt64(timeoutSeconds)) return undefined;
  const labelSelector = parameters.get('labelSelector');
  if (isParsed(labelSelector) && !isLabelSelector(labelSelector)) return undefined;
  const fieldSelector = parameters.get('fieldSelector');
  return isParsed(fieldSelector) ? parseFieldSelector(fieldSelector) : [];
}

function isParsed(selector: string | undefined): selector is string {
  return selector !== undefined && selector.length <= maximumSelector;
}

interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** A term up to the next plain comma. A backslash takes what follows it along. */
const terms = /(?:\\.?|[^\\,])+/gs;
/** The leftmost operator ends the field, the longest one counts. A value escapes backslash, comma and equals sign. */
const termPattern = /^((?:(?!!?=).)*)(!=|==?)((?:[^\\,=]|\\[\\,=])*)$/s;

/**
 * Parses a field selector (k8s.io/apimachinery pkg/fields/selector.go): terms `field=value`, `field==value`
 * or `field!=value`, separated by commas. White space counts.
 *
 * @returns the terms in upstream's order, that of their UTF-8 bytes before unescaping; `undefined` for a malformed selector.
 */
export function parseFieldSelector(selector: string): readonly FieldRequirement[] | undefined {
  const requirements: FieldRequirement[] = [];
  for (const term of (selector.match(terms) ?? []).sort(compareUtf8)) {
    const match = termPattern.exec(term);
    if (match === null) return undefined;
    const [, field = '', operator, escaped = ''] = match;
    const value = escaped.replace(/\\(.)/gs, '$1');
    // A term of which nothing but the operator is left requires nothing, as upstream transforms it away.
    if (field !== '' || value !== '') {
      requirements.push({ field, operator: operator === '!=' ? '!=' : '=', value });
    }
  }
  return requirements;
}

function compareUtf8(left: string, right: string): number {
  const [one, other] = [toByteString(left), toByteString(right)];
  return one < other ? -1 : Number(one > other);
}

/** Go's limit since 1.24.12 and 1.25.6 (CVE-2025-61726): a query with more pairs yields no parameter at all. */
const maximumParameters = 10_000;

const noParameters: ReadonlyMap<string, string> = new Map();

/**
 * The first value of each parameter in `names`, read from a raw query as Go's `url.ParseQuery` reads it when
 * its error is ignored (net/url `URL.Query`): pairs are split at `&` only, a pair that holds a plain `;` or a
 * malformed escape is dropped, `+` is a space, a pair without `=` has the empty value.
 *
 * Go's values are bytes; here those that are no UTF-8 read as U+FFFD.
 */
export function firstQueryValues(rawQuery: string, names: ReadonlySet<string>): ReadonlyMap<string, string> {
  if (rawQuery.length >= maximumParameters && rawQuery.split('&').length > maximumParameters) {
    return noParameters;
  }
  const values = new Map<string, string>();
  let start = 0;
  while (start < rawQuery.length) {
    const ampersand = rawQuery.indexOf('&', start);
    const end = ampersand === -1 ? rawQuery.length : ampersand;
    readPair(rawQuery.slice(start, end), names, values);
    start = end + 1;
  }
  return values;
}

function readPair(pair: string, names: ReadonlySet<string>, values: Map<string, string>): void {
  const equals = pair.indexOf('=');
  const escaped = equals === -1 ? pair : pair.slice(0, equals);
  // The names that are read are ASCII. A query can hold thousands of other names, and text that is not UTF-8 takes long
  // to decode.
  if (/%[89A-F]/i.test(escaped)) return;
  const name = unescapeQuery(escaped);
  if (name === undefined || !names.has(name) || values.has(name) || pair.includes(';')) return;
  const value = equals === -1 ? '' : unescapeQuery(pair.slice(equals + 1));
  if (value !== undefined) values.set(name, value);
}

/** Go's `url.QueryUnescape`; `undefined` for a malformed escape. */
function unescapeQuery(text: string): string | undefined {
  if (!/[+%]/.test(text)) return text;
  if (malformedPercentEscape.test(text)) return undefined;
  return new URLSearchParams(`=${text}`).get('') ?? undefined;
}
