const mask = '[masked]';

const secretName =
  /^(?:(?:proxy-)?authorization|(?:set-)?cookie|passw(?:or)?d|secret|assertion|credentials?|signature|(?:x-)?api-?key|.*[_-]?token|client_?secret|private_?key|d|sec-websocket-protocol|mixed-version-proxy-identity|cf-access-jwt-assertion|x-amz-.*)$/i;

const secretPatterns: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, mask],
  // A header line within a message, with any scheme.
  [/\b((?:proxy-)?authorization|(?:set-)?cookie)["']?\s*[:=]\s*[^\r\n]+/gi, `$1: ${mask}`],
  [/\b(Bearer|Basic|Negotiate)\s+[\w.~+/=-]+/gi, `$1 ${mask}`],
  // Compact JWS or JWE: the first part is the base64url of `{"`.
  [/\beyJ[\w-]+(\.[\w-]*){2,4}/g, mask],
  // kube-apiserver takes a bearer token as a subprotocol of a WebSocket.
  [/\bbase64url\.bearer\.authorization\.k8s\.io\.[\w-]+/gi, mask],
  // Bootstrap tokens of kubeadm: six characters, a dot, sixteen; not a part of the name of a host or an API group.
  [/(?<![\w./-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.-])/g, mask],
  [
    /([?&;](?:[\w-]*token|client_secret|password|api_?key|code|sig|(?:x-amz-)?(?:signature|credential))=)[^&;\s"'#]+/gi,
    `$1${mask}`,
  ],
];

/** Matches whenever a pattern above may match: most text has no match, and is not tested pattern by pattern. */
const mayHoldSecret =
  /-----BEGIN|bearer|basic|negotiate|authorization|cookie|eyJ|[?&;][\w-]+=|\b[a-z0-9]{6}\.[a-z0-9]{16}\b/i;

export function maskText(text: string): string {
  if (!mayHoldSecret.test(text)) return text;
  let masked = text;
  for (const [pattern, replacement] of secretPatterns) masked = masked.replace(pattern, replacement);
  return masked;
}

const deepest = 8;

export function maskFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return maskRecord(fields, 0);
}

function maskRecord(record: Readonly<Record<string, unknown>>, depth: number): Record<string, unknown> {
  const masked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(record)) {
    masked[name] = secretName.test(name) && value !== undefined ? mask : maskValue(value, depth + 1);
  }
  return masked;
}

function maskValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return maskText(value);
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? String(value) : value;
  if (depth > deepest) return '[too deep]';
  if (value instanceof Error) return maskText(describeError(value));
  if (Array.isArray(value)) return maskList(value, depth);
  if (value instanceof Map) return maskRecord(Object.fromEntries(value), depth);
  if (value instanceof Set) return maskList([...value], depth);
  if (value instanceof Date) return value.toISOString();
  return maskRecord(value as Record<string, unknown>, depth);
}

/** A list may be header lines (name, value, name, value): the value after a secret name is masked, too. */
function maskList(list: readonly unknown[], depth: number): unknown[] {
  return list.map((entry, index) => {
    const before = list[index - 1];
    const secret = index % 2 === 1 && typeof before === 'string' && secretName.test(before);
    return secret ? mask : maskValue(entry, depth + 1);
  });
}

function describeError(error: Error): string {
  const { cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : '';
  const text = `${error.name}: ${error.message}${code}`;
  return cause instanceof Error ? `${text}: caused by ${describeError(cause)}` : text;
}
