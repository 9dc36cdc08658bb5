/** Values by lower-case name, one entry a line. */
export type HeaderValues = ReadonlyMap<string, readonly string[]>;

/** Each value is a line of its own: commas inside a value separate nothing. */
export function headersByName(rawHeaders: readonly string[]): Map<string, string[]> {
  const headers = new Map<string, string[]>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    // Header values are bytes; Kubernetes writes and reads UTF-8.
    const value = Buffer.from(rawHeaders[index + 1] ?? '', 'latin1').toString('utf8');
    headers.set(name, [...(headers.get(name) ?? []), value]);
  }
  return headers;
}

/** The values of all headers that begin with `prefix`, by the rest of the name, percent-decoded. */
export function extraOf(headers: HeaderValues, prefix: string): Record<string, readonly string[]> {
  const extra: Record<string, readonly string[]> = {};
  for (const [header, values] of headers) {
    if (!header.startsWith(prefix)) continue;
    const key = decodeExtraKey(header.slice(prefix.length));
    extra[key] = [...(extra[key] ?? []), ...values];
  }
  return extra;
}

function decodeExtraKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    // Kept as it is, like upstream does.
    return key;
  }
}
