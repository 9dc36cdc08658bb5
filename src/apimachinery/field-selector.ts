import { toByteString } from './raw-headers.ts';

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
