export type LabelTokenKind =
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

export interface LabelToken {
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
export function labelSelectorTokens(selector: string): readonly LabelToken[] {
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
