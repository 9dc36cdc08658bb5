/** A request as RFC 9112 has it, and no other reading. */
export interface StrictRequest {
  readonly method: string;
  readonly target: string;
  readonly body: string;
  /** Names that its `Connection` lines nominate, in lower case. */
  readonly nominated: ReadonlySet<string>;
  /** True if the body has come to its end; only the last request of a stream may lack that. */
  readonly complete: boolean;
}

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
/** Several blanks separate as one does, as section 3 allows and Node's parser has it: the router writes one. */
const requestLine = new RegExp(`^(${token}) +([!-~\\x80-\\xff]+) +HTTP/1\\.[01]$`);
const fieldLine = new RegExp(`^(${token}):[\\t ]*((?:[\\t -~\\x80-\\xff]*[!-~\\x80-\\xff])?)[\\t ]*$`);

/** Characters of a host and a port (RFC 9110 section 7.2, RFC 3986 section 3.2.2). */
const host = /^(?:\[[\w:.%]*\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

export interface Readings {
  readonly requests: StrictRequest[];
  /** True: a whole head follows them that must be refused. */
  readonly isRefused: boolean;
}

interface Framing {
  readonly nominated: ReadonlySet<string>;
  readonly length: number | 'chunked';
}

/** As `readingsOf`, the requests alone. */
export const requestsIn = (bytes: string): StrictRequest[] => readingsOf(bytes).requests;

/**
 * The requests that stand in a stream of bytes, up to the first one about which two parsers could disagree. An
 * oracle for the router's own reading: what it takes for a request must be one of these, in order, and it answers nothing
 * else but with a refusal.
 * @param bytes a byte string
 */
export function readingsOf(bytes: string): Readings {
  const requests: StrictRequest[] = [];
  let rest = bytes;
  for (;;) {
    // RFC 9112 section 2.2: empty lines before a request line may be skipped; LF alone may end one, and Node skips CR, too.
    rest = rest.replace(/^[\r\n]+/, '');
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd === -1) return { requests, isRefused: false };
    const [first = '', ...lines] = rest.slice(0, headEnd).split('\r\n');
    const [, method, target] = requestLine.exec(first) ?? [];
    const framing = framingOf(lines, first.endsWith('HTTP/1.1'));
    if (method === undefined || target === undefined || framing === undefined)
      return { requests, isRefused: true };
    const { nominated } = framing;
    rest = rest.slice(headEnd + 4);
    const taken = framing.length === 'chunked' ? chunkedBody(rest) : bodyOf(rest, framing.length);
    // A head is passed on before its body is there, and before its faults show.
    if (taken === undefined) {
      const begun = { method, target, nominated, body: '', complete: false };
      return { requests: [...requests, begun], isRefused: false };
    }
    requests.push({ method, target, nominated, body: taken.body, complete: true });
    rest = rest.slice(taken.length);
  }
}

/** `undefined` for a head that must be refused. */
function framingOf(lines: readonly string[], isHttp11: boolean): Framing | undefined {
  const values = new Map<string, string[]>();
  for (const line of lines) {
    const [, name, value] = fieldLine.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    const key = name.toLowerCase();
    values.set(key, [...(values.get(key) ?? []), value]);
  }
  // RFC 9112 section 3.2: HTTP/1.1 has exactly one.
  const hosts = values.get('host') ?? [];
  if (hosts.length > 1 || (isHttp11 && hosts.length === 0) || !host.test(hosts[0] ?? '')) return undefined;
  const options = (values.get('connection') ?? []).flatMap((value) => value.split(','));
  const nominated = new Set(options.map((option) => option.trim().toLowerCase()));
  const lengths = values.get('content-length') ?? [];
  const codings = values.get('transfer-encoding') ?? [];
  if (lengths.length + codings.length > 1) return undefined;
  const [coding] = codings;
  if (coding !== undefined) {
    return isHttp11 && coding.toLowerCase() === 'chunked' ? { nominated, length: 'chunked' } : undefined;
  }
  const [length = '0'] = lengths;
  return /^\d{1,15}$/.test(length) ? { nominated, length: Number(length) } : undefined;
}

interface Taken {
  readonly body: string;
  /** Length of the framed body. */
  readonly length: number;
}

function bodyOf(text: string, length: number): Taken | undefined {
  return text.length < length ? undefined : { body: text.slice(0, length), length };
}

const sizeLine = /^([0-9A-Fa-f]{1,12})(?:[\t ]*;[\t -~\x80-\xff]*)?$/;

function chunkedBody(text: string): Taken | undefined {
  let body = '';
  let at = 0;
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at);
    const size = sizeLine.exec(lineEnd === -1 ? '' : text.slice(at, lineEnd))?.[1];
    if (size === undefined) return undefined;
    const length = Number.parseInt(size, 16);
    at = lineEnd + 2;
    if (length === 0) break;
    if (text.length < at + length + 2 || text.slice(at + length, at + length + 2) !== '\r\n')
      return undefined;
    body += text.slice(at, at + length);
    at += length + 2;
  }
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const line = text.slice(at, lineEnd);
    at = lineEnd + 2;
    if (line === '') return { body, length: at };
    if (!fieldLine.test(line)) return undefined;
  }
}
