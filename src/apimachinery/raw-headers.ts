/**
 * Header lines as they stood on the wire: name, value, name, value, …, in order, one entry a line.
 *
 * Web `Headers` join repeated names with a comma, which merges group names that hold commas and turns
 * one X-Remote-Group line per group into one line. Names keep the case they came in. Values are byte
 * strings: each character is one byte (isomorphic encoding, Fetch section 2.2), so UTF-8 survives as it is.
 */
export type RawHeaders = readonly string[];

/** Walks the lines of `headers` as pairs. Each costs an object: what every request passes goes by index instead. */
export function* headerLines(headers: RawHeaders): Generator<readonly [name: string, value: string]> {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    yield [headers[index] as string, headers[index + 1] as string];
  }
}

export function firstHeader(headers: RawHeaders, name: string): string | undefined {
  const wanted = name.toLowerCase();
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (isNamed(headers[index] as string, wanted)) return headers[index + 1];
  }
  return undefined;
}

export function allHeaders(headers: RawHeaders, name: string): readonly string[] {
  const wanted = name.toLowerCase();
  let values: string[] | undefined;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (!isNamed(headers[index] as string, wanted)) continue;
    values ??= [];
    values.push(headers[index + 1] as string);
  }
  return values ?? noValues;
}

const noValues: readonly string[] = Object.freeze([]);

function isNamed(line: string, lowerCaseName: string): boolean {
  return line.length === lowerCaseName.length && line.toLowerCase() === lowerCaseName;
}

/** The lines of web `Headers`. Repeated names arrive joined, except where the runtime keeps them apart. */
export function rawHeadersOf(headers: Headers): RawHeaders {
  const lines: string[] = [];
  headers.forEach((value, name) => {
    lines.push(name, value);
  });
  return lines;
}

const plain = /^[\0-\x7f]*$/;

export function toByteString(text: string): string {
  if (plain.test(text)) return text;
  let bytes = '';
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return bytes;
}
