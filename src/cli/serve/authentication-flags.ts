import type { PemFile, RequestHeaderConfig } from '../../node/configuration/serve-config.ts';
import { type IdentityHeaderNames, token } from '../../request/headers.ts';
import type { ServeFlagName, ServeFlagValues } from '../flags/serve-flags.ts';

/** Reads which headers hold the caller's identity. */
export function readIdentityHeaderNames(flags: ServeFlagValues): IdentityHeaderNames {
  return {
    username: readHeaderNames(flags, 'requestheader-username-headers', 'X-Remote-User'),
    uid: readHeaderNames(flags, 'requestheader-uid-headers', 'X-Remote-Uid'),
    group: readHeaderNames(flags, 'requestheader-group-headers', 'X-Remote-Group'),
    extraPrefix: readHeaderNames(
      flags,
      'requestheader-extra-headers-prefix',
      'X-Remote-Extra-',
      'header prefix',
    ),
  };
}

/** @param standard what API servers write */
function readHeaderNames(
  flags: ServeFlagValues,
  flag: ServeFlagName,
  standard: string,
  what = 'header',
): readonly string[] {
  const entries = flags.list(flag);
  for (const entry of entries) {
    if (entry.trim() !== '' && !token.test(entry)) {
      flags.issue(flag, `--${flag}: "${entry}" is no header name`);
    }
  }
  if (entries.length > 0 && !entries.some((entry) => entry.toLowerCase() === standard.toLowerCase())) {
    const message = `--${flag} is set without specifying the standard ${standard} ${what} - API aggregation will not work`;
    // As upstream: a warning, for the UID an error (k8s.io/apiserver pkg/server/options/authentication.go).
    if (flag === 'requestheader-uid-headers') flags.issue(flag, message);
    else flags.warn(flag, message);
  }
  return entries;
}

/** Reads whose X-Remote headers are believed; `undefined` when there are none. */
export function readRequestHeaderFlags(
  flags: ServeFlagValues,
  clientCa: PemFile | undefined,
): RequestHeaderConfig | undefined {
  const allowedNames = readAllowedNames(flags);
  return clientCa === undefined || allowedNames === undefined ? undefined : { clientCa, allowedNames };
}

function readAllowedNames(flags: ServeFlagValues): RequestHeaderConfig['allowedNames'] | undefined {
  const flag = 'requestheader-allowed-names';
  if (!flags.isGiven('requestheader-client-ca-file')) return undefined;
  if (!flags.isGiven(flag)) {
    // Upstream takes a forgotten flag for "any"; here "any" has to be written.
    return flags.issue(
      flag,
      `--${flag} is required with --requestheader-client-ca-file: name the front proxies, or set it to blank to allow any Common Name`,
    );
  }
  const names = flags.list(flag, { mayBeBlank: true });
  if (names.length > 0) return names;
  flags.warn(
    flag,
    `--${flag} is blank: every holder of a certificate of --requestheader-client-ca-file may speak for any user`,
  );
  return 'any';
}
