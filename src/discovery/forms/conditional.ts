/**
 * Whether `If-None-Match` names the document, so that 304 is the response: a list of entity tags, weak or not,
 * or a star (RFC 9110 section 13.1.2). Compared weakly, as the header asks for.
 *
 * @param etag the document's own strong entity tag, quotes included
 */
export function matchesIfNoneMatch(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  for (const [, tag] of ifNoneMatch.matchAll(/(?:W\/)?("[^"]*")/g)) if (tag === etag) return true;
  return false;
}

/** Whether the client takes gzip: named with a quality above 0, or by a star (RFC 9110 section 12.5.3). */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  let byStar = false;
  for (const element of (acceptEncoding ?? '').split(',')) {
    const [coding = '', ...parameters] = element.split(';').map((part) => part.trim().toLowerCase());
    const refused = parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter));
    if (coding === 'gzip') return !refused;
    if (coding === '*') byStar = !refused;
  }
  return byStar;
}
