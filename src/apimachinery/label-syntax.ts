// k8s.io/apimachinery pkg/api/validate/content: kube.go, dns.go.
const qualifiedPart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const dns1123Subdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const maximumPartLength = 63;
const maximumSubdomainLength = 253;

/** A label key: a name of at most 63 characters, before it perhaps a DNS subdomain and a slash. */
export function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash === -1) return isQualifiedPart(key);
  const prefix = key.slice(0, slash);
  // Lengths first: they bound what the expressions have to look at.
  return (
    prefix.length <= maximumSubdomainLength &&
    dns1123Subdomain.test(prefix) &&
    isQualifiedPart(key.slice(slash + 1))
  );
}

/** A label value: empty, or formed like the name in a label key. */
export function isLabelValue(value: string): boolean {
  return value === '' || isQualifiedPart(value);
}

function isQualifiedPart(text: string): boolean {
  return text.length <= maximumPartLength && qualifiedPart.test(text);
}
