export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

// `!=` and `==` before `=`: the longest operator at the leftmost place wins.
const firstOperator = /!=|==|=/;

/**
 * Parses a field selector (k8s.io/apimachinery pkg/fields/selector.go): terms `field=value`, `field==value`
 * or `field!=value`, separated by commas. A backslash in a value escapes a backslash, a comma or an equals sign.
 * White space counts.
 *
 * @returns the terms in upstream's order, that of their bytes before unescaping; `undefined` for a malformed
 *   selector.
 */
export function parseFieldSelector(selector: string): readonly FieldRequirement[] | undefined {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(selector).sort(compareUtf8)) {
    if (term === '') continue;
    const requirement = parseTerm(term);
    if (requirement === undefined) return undefined;
    // A term of which nothing but the operator is left requires nothing, as upstream transforms it away.
    if (requirement.field !== '' || requirement.value !== '') requirements.push(requirement);
  }
  return requirements;
}

/** The value that the first term of the form `field=…` or `field==…` asks of `field`, if there is one. */
export function requiredFieldValue(
  requirements: readonly FieldRequirement[],
  field: string,
): string | undefined {
  return requirements.find((requirement) => requirement.field === field && requirement.operator === '=')
    ?.value;
}

/** Splits at unescaped commas; escapes stay as they are. */
function splitTerms(selector: string): string[] {
  if (!selector.includes('\\')) return selector.split(',');
  const terms: string[] = [];
  let start = 0;
  for (let index = 0; index < selector.length; index++) {
    if (selector[index] === '\\') {
      index++;
    } else if (selector[index] === ',') {
      terms.push(selector.slice(start, index));
      start = index + 1;
    }
  }
  terms.push(selector.slice(start));
  return terms;
}

function parseTerm(term: string): FieldRequirement | undefined {
  const match = firstOperator.exec(term);
  if (match === null) return undefined;
  const value = unescapeValue(term.slice(match.index + match[0].length));
  if (value === undefined) return undefined;
  return { field: term.slice(0, match.index), operator: match[0] === '!=' ? '!=' : '=', value };
}

function unescapeValue(text: string): string | undefined {
  if (!/[\\,=]/.test(text)) return text;
  let value = '';
  for (let index = 0; index < text.length; index++) {
    let character = text.charAt(index);
    if (character === ',' || character === '=') return undefined;
    if (character === '\\') {
      index++;
      character = text.charAt(index);
      if (character !== '\\' && character !== ',' && character !== '=') return undefined;
    }
    value += character;
  }
  return value;
}

/** The order of the UTF-8 bytes, which is Go's; UTF-16's own order puts surrogates before U+E000. */
function compareUtf8(left: string, right: string): number {
  const shared = Math.min(left.length, right.length);
  for (let index = 0; index < shared; index++) {
    const difference = byteRank(left.charCodeAt(index)) - byteRank(right.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Surrogates stand for code points beyond U+FFFF, so they rank above every other code unit. */
function byteRank(codeUnit: number): number {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff ? codeUnit + 0x10000 : codeUnit;
}
