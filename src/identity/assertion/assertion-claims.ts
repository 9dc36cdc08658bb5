import * as v from 'valibot';
import type { UserInfo } from '../../request/user-info.ts';
import {
  boolean,
  describeIssues,
  expected,
  IssueList,
  isJsonObject,
  listOf,
  parseJsonText,
  readValue,
  strict,
  textThat,
  wholeNumber,
} from '../../runtime/validation.ts';

/** Pinned as `typ`, so that nothing else that the same key signs passes for an assertion (RFC 8725 section 3.11). */
export const peerAssertionType = 'mixed-version-proxy-identity+jwt';

export const maximumAssertionLifetime = 60;
export const assertionLeeway = 5;

/** The claims of an assertion (RFC 7519 section 4.1, and those that bind it to one request). Times in Unix seconds. */
export interface PeerAssertionClaims {
  readonly iss: string;
  /** API server ID of the one destination that may believe it. */
  readonly aud: string;
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
  readonly jti: string;
  readonly method: string;
  /** The request target, path and query, byte for byte. */
  readonly path: string;
  readonly rerouted: boolean;
  readonly user: UserInfo;
}

export function assertionPayload({ user, ...claims }: PeerAssertionClaims): string {
  // `fromEntries` makes own members of keys such as `__proto__`, which an assignment would not.
  return JSON.stringify({ ...claims, user: { ...user, extra: Object.fromEntries(user.extra) } });
}

/** Far above any real one; the length of the token bounds the sum of all. */
const maximumValues = 20_000;
const maximumDepth = 4;

const text = v.string(expected('text'));
const nonEmptyText = v.pipe(
  text,
  v.check((value) => value !== '', 'must not be empty'),
);
const unixTime = wholeNumber(0, Number.MAX_SAFE_INTEGER);

// valibot's records leave out members with names such as `constructor`, and an identity must arrive whole.
const extra = v.pipe(
  v.custom<Readonly<Record<string, readonly string[]>>>(isExtra, expected('an object of lists of text')),
  v.transform((value) => new Map(Object.entries(value))),
);

// Strict: a claim that is not understood may have been meant as a restriction.
const claims = strict({
  iss: nonEmptyText,
  aud: nonEmptyText,
  iat: unixTime,
  nbf: unixTime,
  exp: unixTime,
  // 128 bits at the least, and short enough to be remembered.
  jti: textThat((value) => /^[\w-]{22,64}$/.test(value), '22 to 64 characters of base64url'),
  method: nonEmptyText,
  path: text,
  rerouted: boolean,
  user: strict({ name: nonEmptyText, uid: text, groups: listOf(text, maximumValues), extra }),
});

type ParseClaimsResult =
  | { readonly ok: true; readonly claims: PeerAssertionClaims }
  /** The reason, in one line. It names claims and quotes little of them. */
  | { readonly ok: false; readonly issue: string };

export function parseAssertionClaims(payload: string): ParseClaimsResult {
  const parsed = parseJsonText(payload, maximumDepth);
  if (!parsed.ok) return { ok: false, issue: parsed.issue.message };
  const issues = new IssueList();
  const read = readValue(claims, parsed.value, '', issues);
  if (read === undefined) return { ok: false, issue: describeIssues(issues.toArray()) };
  return { ok: true, claims: read };
}

function isExtra(value: unknown): boolean {
  return (
    isJsonObject(value) &&
    Object.values(value).every(
      (values) => Array.isArray(values) && values.every((each) => typeof each === 'string'),
    )
  );
}
