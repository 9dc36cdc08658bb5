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
/**
 * workerd reads several Cookie lines as one, joined by `, `, which no application reads as several cookies; a cookie begins with
 * its name, and holds no comma (RFC 6265 section 4.1.1).
 */
const betweenCookies = /;|,(?=\s*[^\s,;="]+\s*=)/;

export function withoutAccessCredentials(headers: RawHeaders): {
  readonly kept: RawHeaders;
  /** Access's word on the caller. Not verified. */
  readonly accessToken: string | undefined;
} {
  const kept: string[] = [];
  let accessToken: string | undefined;
  for (const [name, value] of headerLines(headers)) {
    const lowerCaseName = name.toLowerCase();
    if (lowerCaseName === accessTokenHeader) accessToken = value;
    if (accessHeaders.has(lowerCaseName)) continue;
    const rest = lowerCaseName === 'cookie' ? withoutAccessCookies(value) : value;
    if (rest !== undefined) kept.push(name, rest);
  }
  return { kept, accessToken };
}

/** One line for those that are left, as HTTP/2 joins cookies (RFC 9113 section 8.2.3). */
function withoutAccessCookies(value: string): string | undefined {
  const cookies = value.split(betweenCookies);
  const others = cookies.filter((cookie) => !accessCookie.test(cookie));
  return others.length === 0 ? undefined : others.map((cookie) => cookie.trim()).join('; ');
}
