import { type CredentialFiles, credentialFileWarnings } from '../status/credential-files.ts';
import type { SettingsState } from '../status/setting-change.ts';
import type { HealthCheck } from './health.ts';

/**
 * Never fails: a router that goes on with the files it has is better than none. Only says where there is something to
 * see to, since everyone may ask.
 */
export function filesCheck(files: CredentialFiles, settings: SettingsState | undefined): HealthCheck {
  return {
    name: 'files',
    check: () => undefined,
    warning() {
      if (credentialFileWarnings(files).length > 0) {
        return 'a file is not in use as it is now, or a certificate has expired: the status names it';
      }
      const waits = (settings?.needsRestart().length ?? 0) > 0;
      return waits ? 'changed settings need a restart: the status names them' : undefined;
    },
  };
}
