import { RequestInfoError } from './request-info-error.ts';

/** A request target that every parser reads alike. */
interface RequestTarget {
  readonly rawPath: string;
  /** The text after the first `?`, undecoded: empty after a bare `?`, `undefined` when there is none. */
  readonly rawQuery: string | undefined;
  /** The path, percent-decoded once: Go's `URL.Path`. A `%2F` in it has become a `/`, as it does there. */
  readonly path: string;
}

const emptyTarget: RequestTarget = Object.freeze({ rawPath: '', rawQuery: undefined, path: '' });

// A fragment is no part of a target (RFC 9110 section 7.1): Go keeps it in the path, WHATWG parsers cut it off.
const forbiddenAnywhere = /[^!-~]|#/;
const dotSegment = /\/\.{1,2}(?:\/|$)/;
const controlCharacter = /\p{Cc}/u;
/** Characters. Its path and its query are parsed before anything else is known of the request. */
const maximumTarget = 64 * 1024;

/**
 * The one place where the form of a request target is judged. Nothing may route, authorize or forward on a target that has
 * not passed here, and what passed is forwarded byte for byte.
 *
 * Accepted is the origin-form (RFC 9112 section 3.2.1) in visible ASCII whose path means the same to Go's `net/url`, to
 * WHATWG URL parsers and to proxies that resolve dot segments. `%2F`, `;`, `//` and a trailing slash mean what they mean to
 * Go. The query is opaque. The empty string is accepted, as upstream's factory accepts it, and is no resource.
 *
 * Join a target to an origin as text, never by `new URL(target, origin)`: there `//host/path` names a host.
 *
 * @throws {RequestInfoError} `AmbiguousRequestTarget`; the message quotes nothing of the target.
 */
export function acceptRequestTarget(target: string): RequestTarget {
  if (target === '') return emptyTarget;
  // Absolute-form (RFC 9112 section 3.2.2) is read by what takes HTTP/1.1 from the client; in HTTP/2 a path has none (RFC 9113
  // section 8.3.1).
  if (!target.startsWith('/')) {
    throw ambiguous("it does not begin with '/': send path and query only, no scheme, authority or '*'");
  }
  if (target.length > maximumTarget) throw ambiguous(`it is longer than ${maximumTarget} bytes`);
  if (forbiddenAnywhere.test(target)) throw forbiddenCharacter(target);

  const questionMark = target.indexOf('?');
  const rawPath = questionMark === -1 ? target : target.slice(0, questionMark);
  const rawQuery = questionMark === -1 ? undefined : target.slice(questionMark + 1);

  const path = rawPath.includes('%') ? decodePath(rawPath) : rawPath;
  // WHATWG URL parsers turn a backslash into a slash, Go does not.
  if (path.includes('\\')) {
    throw ambiguous("its path holds a backslash, plain or as %5C: separate segments with '/'");
  }
  // Judged after decoding: `%2e%2e` and `..%2F` are dot segments to WHATWG and to servers that decode first
  // (GHSA-2q7r-29rg-6m5h). The plain search comes first: nearly no path has a segment that begins with a dot.
  if (path.includes('/.') && dotSegment.test(path)) {
    throw ambiguous("its path holds a segment '.' or '..', plain or encoded: send the path already resolved");
  }
  return { rawPath, rawQuery, path };
}

function decodePath(rawPath: string): string {
  let path: string;
  try {
    // Decodes once, as Go does: `%252e` becomes the literal `%2e`. Refuses overlong forms and surrogates.
    path = decodeURIComponent(rawPath);
  } catch (cause) {
    const issue = malformedPercentEscape.test(rawPath)
      ? "its path holds a '%' without two hexadecimal digits behind it: write a literal percent sign as %25"
      : 'the percent escapes of its path are no UTF-8: percent-encode the UTF-8 form of each character';
    throw ambiguous(issue, cause);
  }
  if (controlCharacter.test(path)) {
    throw ambiguous('its path holds an encoded control character: remove it');
  }
  return path;
}

function forbiddenCharacter(target: string): RequestInfoError {
  const offset = target.search(forbiddenAnywhere);
  if (target[offset] === '#') {
    return ambiguous(`it holds a '#' at offset ${offset}: write a literal one as %23`);
  }
  const codePoint = (target.codePointAt(offset) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return ambiguous(
    `it holds U+${codePoint} at offset ${offset}, outside visible ASCII: percent-encode it as UTF-8, or remove it`,
  );
}

function ambiguous(issue: string, cause?: unknown): RequestInfoError {
  return new RequestInfoError('AmbiguousRequestTarget', `request target refused: ${issue}`, { cause });
}

/** A `%` that two hexadecimal digits do not follow (RFC 3986 section 2.1). */
export const malformedPercentEscape = /%(?![0-9A-Fa-f]{2})/;

/**
 * `uri-host [ ":" port ]` (RFC 9110 section 7.2), or nothing, which RFC 9112 section 3.2 allows. Percent escapes, which
 * the grammar would allow in names, are left out: URL parsers decode them, and then it is another host.
 */
const uriHost = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=-]*)(?::\d*)?$/i;

/**
 * True if a Host header, or an authority, is a host and nothing more. Runtimes that put the host in front of the target
 * and parse both as one URL would take `name/path` for the beginning of the path, `user@name` for another host. Used
 * where the two come as one: at the edge, and in a target in absolute-form.
 */
export function isUriHost(host: string): boolean {
  return uriHost.test(host);
}
