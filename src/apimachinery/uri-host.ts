/**
 * `uri-host [ ":" port ]` (RFC 9110 section 7.2), or nothing, which RFC 9112 section 3.2 allows. Percent escapes, which
 * the grammar would allow in names, are left out: URL parsers decode them, and then it is another host.
 */
const uriHost = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=-]*)(?::\d*)?$/i;

/**
 * Whether a Host header, or an authority, is a host and nothing more. Runtimes that put it in front of the target and
 * parse both as one URL would take `name/path` for the beginning of the path, `user@name` for another host. Used by the
 * edge only: Node leaves the two apart.
 */
export function isUriHost(host: string): boolean {
  return uriHost.test(host);
}
