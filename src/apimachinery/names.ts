// Name syntax of Kubernetes objects (k8s.io/apimachinery pkg/util/validation). Lengths are checked first, so
// that no pattern ever runs over long input.

const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const alphabeticLabel = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;

/** RFC 1123 label: 1 to 63 of `a-z`, `0-9` and `-`, not beginning or ending with `-`. */
export function isDns1123Label(text: string): boolean {
  return text.length <= 63 && label.test(text);
}

export function isDns1035Label(text: string): boolean {
  return text.length <= 63 && alphabeticLabel.test(text);
}

/** RFC 1123 subdomain: labels joined by dots, at most 253 characters. As upstream, one label may be longer than 63. */
export function isDns1123Subdomain(text: string): boolean {
  return text.length <= 253 && text.split('.').every((part) => label.test(part));
}

/** One or more path segments, `log` or `vnc/screenshot`, of the characters RFC 3986 leaves unreserved. */
export function isSubresourceName(text: string): boolean {
  if (text.length > 253) return false;
  return text
    .split('/')
    .every((segment) => /^[\w.~-]+$/.test(segment) && segment !== '.' && segment !== '..');
}

/** Printable ASCII without spaces: safe in logs, headers and URLs. */
export function isVisibleAscii(text: string): boolean {
  return /^[\x21-\x7e]*$/.test(text);
}
