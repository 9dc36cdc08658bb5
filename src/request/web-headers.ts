import { headerLines, type RawHeaders } from '../apimachinery/raw-headers.ts';
import { defaultIdentityHeaderNames, identityHeaderMatcher } from './headers.ts';

const isIdentityHeader = identityHeaderMatcher(defaultIdentityHeaderNames);

/**
 * Web `Headers` with exactly `lines`. Reading `Headers` joins lines of one name by commas, and a joined
 * `Impersonate-Group: a, b` is another group; copying them keeps lines apart on workerd. So what is left as it came is copied,
 * and only what differs is written anew, line by line.
 * @param original the headers that `lines` were read from; `undefined` where there are none
 */
export function webHeaders(lines: RawHeaders, original: Headers | undefined): Headers {
  const headers = new Headers(original);
  const wanted = new Map<string, string[]>();
  for (const [name, value] of headerLines(lines)) {
    const lowerCaseName = name.toLowerCase();
    const values = wanted.get(lowerCaseName);
    if (values === undefined) wanted.set(lowerCaseName, [value]);
    else values.push(value);
  }
  for (const name of new Set(original?.keys())) {
    const values = wanted.get(name);
    // Set-Cookie alone is told apart when it is read (Fetch section 2.2.2): it is written anew.
    // An identity is always written by us: a client's two lines `a` and `b` read the same as our one line `a, b`.
    const isAsItCame = values?.length === 1 && values[0] === original?.get(name) && !isIdentityHeader(name);
    if (isAsItCame) wanted.delete(name);
    else headers.delete(name);
  }
  for (const [name, values] of wanted) {
    for (const value of values) headers.append(name, fieldValue(value));
  }
  return headers;
}

/**
 * True if this runtime's `Headers` hold text, written as UTF-8: workerd's do. By the standard they hold byte strings
 * and throw at what is none (Fetch section 2.2), and a byte string written as text would be encoded twice: a user
 * with an umlaut in the name would arrive as somebody else. Found out with the first such value: workerd warns of it in its log.
 */
function holdText(): boolean {
  try {
    new Headers([['x', '\u0100']]);
    return true;
  } catch {
    return false;
  }
}

let headersHoldText: boolean | undefined;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const plain = /^[\0-\x7f]*$/;
const byteString = /^[\0-\xff]*$/;

function fieldValue(value: string): string {
  if (plain.test(value) || !byteString.test(value)) return value;
  headersHoldText ??= holdText();
  if (!headersHoldText) return value;
  try {
    return decoder.decode(Uint8Array.from(value, (character) => character.charCodeAt(0)));
  } catch {
    return value;
  }
}
