import { headerLines, type RawHeaders } from '../../apimachinery/raw-headers.ts';

const accessTokenHeader = 'cf-access-jwt-assertion';

/**
 * Credentials for Cloudflare Access. They are for the platform and this Worker alone: to a server further on, which may
 * be an extension server of somebody else, they would open every application of the team.
 */
const accessHeaders: ReadonlySet<string> = new Set([
  accessTokenHeader,
  'cf-access-client-id',
  'cf-access-client-secret',
  'cf-access-token',
]);

const accessCookie = /^\s*CF_(?:Authorization|AppSession)\s*=/i;
/** Several Cookie lines are read as one, joined by `, ` (Fetch section 2.2); a cookie begins with its name. */
const betweenCookies = /;|,(?=\s*[^\s,;="]+\s*=)/;

export function withoutAccessCredentials(headers: RawHeaders): {
  readonly kept: RawHeaders;
  /** What Access says of the caller. Not verified. */
  readonly accessToken: string | undefined;
} {
  const kept: string[] = [];
  let accessToken: string | undefined;
  for (const [name, value] of headerLines(headers)) {
    const lowerCaseName = name.toLowerCase();
    if (lowerCaseName === accessTokenHeader) accessToken = value;
    if (accessHeaders.has(lowerCaseName)) continue;
    const rest = lowerCaseName === 'cookie' ? withoutAccessCookie(value) : value;
    if (rest !== undefined) kept.push(name, rest);
  }
  return { kept, accessToken };
}

/** One line for those that are left, as HTTP/2 joins cookies (RFC 9113 section 8.2.3). */
function withoutAccessCookie(value: string): string | undefined {
  const cookies = value.split(betweenCookies);
  const others = cookies.filter((cookie) => !accessCookie.test(cookie));
  if (others.length === cookies.length) return value;
  return others.length === 0 ? undefined : others.map((cookie) => cookie.trim()).join('; ');
}
