import { isInt64 } from './integer.ts';

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

type LabelTokenKind =
  | 'identifier'
  | 'in'
  | 'notin'
  | '='
  | '=='
  | '!='
  | '!'
  | '<'
  | '>'
  | '('
  | ')'
  | ','
  | 'end';

interface LabelToken {
  readonly kind: LabelTokenKind;
  /** As it stood in the selector; empty at the end. */
  readonly text: string;
}

const end: LabelToken = { kind: 'end', text: '' };
// Sticky, so each match reads one token where the last one ended. The longest symbol wins.
const blank = /[ \t\r\n]*/y;
const symbol = /==|!=|[=!()<>,]/y;
const word = /[^=!()<>, \t\r\n\0]+/y;

/**
 * Cuts a label selector into tokens, the last one `end` (k8s.io/apimachinery pkg/labels/selector.go, Lexer).
 *
 * Upstream's lexer marks the end of its input by a zero byte and cannot tell it from one in the input: a NUL
 * right after a token is swallowed, one where a token would begin ends the selector.
 */
function labelSelectorTokens(selector: string): readonly LabelToken[] {
  const tokens: LabelToken[] = [];
  let position = 0;
  const read = (pattern: RegExp): string => {
    pattern.lastIndex = position;
    // `test` moves lastIndex as `exec` does, and builds no match object. A failed one resets it to zero.
    if (!pattern.test(selector)) return '';
    const start = position;
    position = pattern.lastIndex;
    return selector.slice(start, position);
  };
  for (;;) {
    read(blank);
    const operator = read(symbol);
    const text = operator === '' ? read(word) : operator;
    if (text === '') {
      tokens.push(end);
      return tokens;
    }
    tokens.push({ kind: operator === '' ? wordKind(text) : (operator as LabelTokenKind), text });
    if (selector[position] === '\0') position++;
  }
}

function wordKind(text: string): LabelTokenKind {
  return text === 'in' || text === 'notin' ? text : 'identifier';
}

// k8s.io/apimachinery pkg/api/validate/content: kube.go, dns.go.
const qualifiedPart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const dns1123Subdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const maximumPartLength = 63;
const maximumSubdomainLength = 253;

/** A label key: a name of at most 63 characters, before it perhaps a DNS subdomain and a slash. */
function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash === -1) return isQualifiedPart(key);
  const prefix = key.slice(0, slash);
  // Lengths first: they bound what the expressions have to look at.
  return (
    prefix.length <= maximumSubdomainLength &&
    dns1123Subdomain.test(prefix) &&
    isQualifiedPart(key.slice(slash + 1))
  );
}

/** A label value: empty, or formed like the name in a label key. */
function isLabelValue(value: string): boolean {
  return value === '' || isQualifiedPart(value);
}

function isQualifiedPart(text: string): boolean {
  return text.length <= maximumPartLength && qualifiedPart.test(text);
}
