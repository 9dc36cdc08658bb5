import { isInt64 } from './integer.ts';
import { type LabelToken, labelSelectorTokens } from './label-selector-tokens.ts';
import { isLabelKey, isLabelValue } from './label-syntax.ts';

/**
 * Whether Kubernetes can parse `selector` (k8s.io/apimachinery pkg/labels/selector.go): requirements separated
 * by commas, each `key`, `!key`, `key OP value` with `=`, `==`, `!=`, `<` or `>`, or `key in (…)`,
 * `key notin (…)`. The empty selector is one.
 */
export function isLabelSelector(selector: string): boolean {
  const cursor = new TokenCursor(labelSelectorTokens(selector));
  if (cursor.peek().kind === 'end') return true;
  for (;;) {
    if (!readRequirement(cursor)) return false;
    const { kind } = cursor.next();
    if (kind !== ',') return kind === 'end';
  }
}

class TokenCursor {
  readonly #tokens: readonly LabelToken[];
  #position = 0;

  constructor(tokens: readonly LabelToken[]) {
    this.#tokens = tokens;
  }

  peek(): LabelToken {
    // Past the last token stands the last token, `end`.
    return this.#tokens[Math.min(this.#position, this.#tokens.length - 1)] as LabelToken;
  }

  next(): LabelToken {
    const token = this.peek();
    this.#position++;
    return token;
  }
}

function readRequirement(cursor: TokenCursor): boolean {
  const negated = cursor.peek().kind === '!';
  if (negated) cursor.next();
  const key = cursor.next();
  if (!isWord(key) || !isLabelKey(key.text)) return false;
  if (endsRequirement(cursor.peek())) return true;
  // `!key` stands alone.
  if (negated) return false;

  switch (cursor.next().kind) {
    case '=':
    case '==':
    case '!=':
      return isLabelValue(readValue(cursor) ?? invalid);
    case '<':
    case '>': {
      const value = readValue(cursor) ?? invalid;
      return isInt64(value) && isLabelValue(value);
    }
    case 'in':
    case 'notin':
      return readValueSet(cursor);
    default:
      return false;
  }
}

// No label value and no integer.
const invalid = ' ';

/** The one value of an exact match, empty if nothing follows; `undefined` where something else stands. */
function readValue(cursor: TokenCursor): string | undefined {
  if (endsRequirement(cursor.peek())) return '';
  const token = cursor.next();
  return isWord(token) ? token.text : undefined;
}

/** `(a,b)`. Empty values count: `()`, `(,)` and `(a,)` are sets. */
function readValueSet(cursor: TokenCursor): boolean {
  if (cursor.next().kind !== '(') return false;
  let afterValue = false;
  for (;;) {
    const token = cursor.next();
    if (token.kind === ')') return true;
    if (token.kind === ',') {
      afterValue = false;
    } else {
      if (afterValue || !isWord(token) || !isLabelValue(token.text)) return false;
      afterValue = true;
    }
  }
}

function endsRequirement(token: LabelToken): boolean {
  return token.kind === ',' || token.kind === 'end';
}

/** `in` and `notin` are operators only after a key; elsewhere they are words like any other. */
function isWord(token: LabelToken): boolean {
  return token.kind === 'identifier' || token.kind === 'in' || token.kind === 'notin';
}
