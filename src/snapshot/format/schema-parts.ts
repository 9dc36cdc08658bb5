import * as v from 'valibot';
import { parseHostPort, parseHttpsOrigin } from '../addresses/host-port.ts';
import { isDns1035Label, isDns1123Label, isDns1123Subdomain, isVisibleAscii } from '../addresses/names.ts';
import { quoted } from './issues.ts';
import { isJsonObject } from './json-text.ts';
import { snapshotLimits } from './limits.ts';

// The vocabulary of the snapshot's schema. Every message is a predicate (`must be …`), which follows the path.

/** `must be <expected>, not <actual>`; `is required` for a missing value. */
export function expected(what: string): (issue: { readonly input: unknown }) => string {
  return ({ input }) => (input === undefined ? 'is required' : `must be ${what}, not ${describe(input)}`);
}

function describe(input: unknown): string {
  if (typeof input === 'string') return quoted(input);
  if (typeof input === 'number' || typeof input === 'boolean') return String(input);
  if (input === null) return 'null';
  if (Array.isArray(input)) return 'an array';
  return typeof input === 'object' ? 'an object' : `a ${typeof input}`;
}

/** An object with these members and no others. */
export function strict<Entries extends v.ObjectEntries>(entries: Entries) {
  const message = (issue: v.StrictObjectIssue): string => {
    const item = issue.path?.[0];
    if (item === undefined) return expected('an object')(issue);
    // Of several unknown members valibot reports the first: the message names the others.
    if (issue.expected !== 'never' || !isJsonObject(item.input)) return 'is required';
    const others = Object.keys(item.input).filter((key) => key !== item.key && !Object.hasOwn(entries, key));
    const named = others.slice(0, 10).map(quoted).join(', ');
    return `is not a field of this object${others.length === 0 ? '' : `; nor is any of ${named}`}`;
  };
  // valibot takes an array for an object.
  return v.pipe(v.unknown(), v.check(isJsonObject, expected('an object')), v.strictObject(entries, message));
}

/** At most `maximum` items; a longer array is refused before its items are checked. */
export function listOf<Item extends v.GenericSchema>(item: Item, maximum: number) {
  return v.pipe(
    v.array(v.unknown(), expected('an array')),
    v.maxLength(maximum, `must have at most ${maximum} items`),
    v.array(item),
  );
}

function textThat(holds: (value: string) => boolean, what: string) {
  return v.pipe(v.string(expected(what)), v.check(holds, expected(what)));
}

/** Text that is safe in a log line or a header. */
export const shortText = textThat(
  (value) => value.length > 0 && value.length <= snapshotLimits.text && isVisibleAscii(value),
  `1 to ${snapshotLimits.text} printable ASCII characters without spaces`,
);

/** As `shortText`, or empty: in discovery many fields are given and empty. */
export const shortTextOrEmpty = textThat(
  (value) => value.length <= snapshotLimits.text && isVisibleAscii(value),
  `at most ${snapshotLimits.text} printable ASCII characters without spaces`,
);

export const dns1123Label = textThat(isDns1123Label, 'a DNS label (RFC 1123)');
export const dns1123Subdomain = textThat(isDns1123Subdomain, 'a DNS subdomain (RFC 1123), in lower case');

/** The empty name is the legacy group, core. */
export const groupName = textThat(
  (value) => value === '' || isDns1123Subdomain(value),
  'an API group: a DNS subdomain in lower case, or empty for the legacy group',
);

/** Usually `v1` or `v2beta1`, but upstream takes any RFC 1035 label. */
export const versionName = textThat(
  isDns1035Label,
  'an API version such as v1 or v2beta1 (an RFC 1035 label)',
);

export const hostPort = v.pipe(
  v.string(expected('host:port')),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const parsed = parseHostPort(dataset.value);
    if (!parsed.ok) addIssue({ message: parsed.message });
  }),
);

export const httpsOrigin = v.pipe(
  v.string(expected('an https origin')),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const parsed = parseHttpsOrigin(dataset.value);
    if (!parsed.ok) addIssue({ message: parsed.message });
  }),
);

export const boolean = v.boolean(expected('true or false'));

/** A whole number between `minimum` and `maximum`, both included. */
export function wholeNumber(minimum: number, maximum: number) {
  const what = `a whole number between ${minimum} and ${maximum}`;
  return v.pipe(
    v.number(expected(what)),
    v.check((value) => Number.isSafeInteger(value) && value >= minimum && value <= maximum, expected(what)),
  );
}
