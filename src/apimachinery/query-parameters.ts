import { malformedPercentEscape } from './request-target.ts';

/** Go's limit since 1.24.12 and 1.25.6 (CVE-2025-61726): a query with more pairs yields no parameter at all. */
const maximumParameters = 10_000;

const escapeBeyondAscii = /%[89A-Fa-f]/;
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
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
  const name = unescapeQuery(equals === -1 ? pair : pair.slice(0, equals));
  if (name === undefined || !names.has(name) || values.has(name) || pair.includes(';')) return;
  const value = equals === -1 ? '' : unescapeQuery(pair.slice(equals + 1));
  if (value !== undefined) values.set(name, value);
}

/** Go's `url.QueryUnescape`; `undefined` for a malformed escape. */
function unescapeQuery(text: string): string | undefined {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  if (malformedPercentEscape.test(spaced)) return undefined;
  // decodeURIComponent throws on invalid UTF-8, and a query can hold thousands of such pairs.
  return escapeBeyondAscii.test(spaced) ? unescapeUtf8(spaced) : decodeURIComponent(spaced);
}

function unescapeUtf8(text: string): string {
  const bytes: number[] = [];
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '%') {
      bytes.push(Number.parseInt(text.slice(index + 1, index + 3), 16));
      index += 2;
    } else {
      bytes.push(text.charCodeAt(index));
    }
  }
  return utf8.decode(Uint8Array.from(bytes));
}
