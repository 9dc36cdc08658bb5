import { isInt64 } from './integer.ts';

// The lexer of k8s.io/apimachinery pkg/labels/selector.go reads the longest symbol or word it can. It marks the end of its
// input by a zero byte and cannot tell it from one in the input: a NUL right after a token is swallowed, one where a token
// would begin ends the selector.
const blank = '[ \\t\\r\\n]*';
const token = (text: string) => `${blank}(?:${text})(?:\\0|(?!\\0))`;
const word = (text: string) => token(`(?:${text})(?![^=!()<>, \\t\\r\\n\\0])`);
const end = `${blank}(?:\\0|$)`;

// k8s.io/apimachinery pkg/api/validate/content: kube.go, dns.go. Lengths bound what is looked at again.
const name = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const dns1123Label = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const key = word(`(?:(?=[-a-z0-9.]{1,253}/)${dns1123Label}(?:\\.${dns1123Label})*/)?${name}`);
/** Empty if nothing follows. */
const value = `(?:${word(name)})?`;
/** `()`, `(,)` and `(a,)` are sets: empty values count. */
const values = `${token('\\(')}${value}(?:${token(',')}${value})*${token('\\)')}`;
const comparison = [
  `${token('==?|!=')}${value}`,
  `${token('[<>]')}${word('(?<integer>\\d{1,63})')}`,
  `${word('in|notin')}${values}`,
].join('|');

const nothing = new RegExp(end, 'y');
const requirement = new RegExp(
  `(?:${token('!')}${key}|${key}(?:${comparison})?)(?:${token('(?<comma>,)')}|${end})`,
  'y',
);

/**
 * True if Kubernetes can parse `selector` (k8s.io/apimachinery pkg/labels/selector.go): requirements separated by
 * commas, each `key`, `!key`, `key OP value` with `=`, `==`, `!=`, `<` or `>`, or `key in (…)`, `key notin (…)`. The
 * empty selector is valid.
 */
export function isLabelSelector(selector: string): boolean {
  nothing.lastIndex = 0;
  if (nothing.test(selector)) return true;
  requirement.lastIndex = 0;
  for (;;) {
    const groups = requirement.exec(selector)?.groups;
    if (groups === undefined) return false;
    const { integer, comma } = groups;
    if (integer !== undefined && !isInt64(integer)) return false;
    if (comma === undefined) return true;
  }
}
