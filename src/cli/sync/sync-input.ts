import { CertificatePemError, parseCertificates, parsePair } from '../../node/callers/pem-files.ts';
import type { LoggingConfig } from '../../node/configuration/serve-config.ts';
import { syncConfiguration } from '../config/configuration-kind.ts';
import { readGivenConfiguration } from '../config/configured-options.ts';
import { FlagValues } from '../flags/flag-values.ts';
import { type SyncArguments, type SyncFlagValues, syncFlags } from '../flags/sync-flag-groups.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { planSync, type SyncPlan } from './sync-flags.ts';

interface SyncInput {
  readonly plan: SyncPlan;
  readonly logging: LoggingConfig;
  /** The file of `--snapshot-keys`. */
  readonly snapshotKeys: string | undefined;
}

/**
 * Checks all that `sync` was called with: flags, configuration file, and the files that they name. Warnings are
 * printed.
 * @throws {CommandFailure} exit code 2, one line for every error.
 */
export function readSyncInput(given: SyncArguments, context: CommandContext): SyncInput {
  const flagsOf = (raw: SyncArguments): SyncFlagValues => new FlagValues(syncFlags, raw, context.readFile);
  // A flag that this call has no use for is a mistake; in a file, which is the same for all calls, it is not.
  const useless = flagsOf(given).useless();
  const read = readGivenConfiguration(context, given.config?.at(-1), syncConfiguration, given, useless);
  const flags = flagsOf(read.options);
  const logging = flags.values({ verbosity: 'v', format: 'logging-format' });
  const plan = planSync(flags);
  const snapshotKeys = flags.text('snapshot-keys');
  // Of files that could not be read nothing more is to be told.
  if (flags.issues.length === 0 && plan.kind !== 'offline') checkPemFiles(flags);
  if (flags.issues.length + read.issues.length > 0 || logging === undefined) {
    throw new CommandFailure(2, [...read.issues, ...read.located(read.certain(flags.issues))]);
  }
  return { plan, logging, snapshotKeys };
}

type PemFlag = 'peer-ca-file' | 'target-ca-file' | 'client-cert-file' | 'client-key-file';

/** Reports what is no certificate or key: left to TLS, an error would name neither the file nor its flag. */
function checkPemFiles(flags: SyncFlagValues): void {
  const check = (name: PemFlag, parse: () => unknown): void => {
    try {
      parse();
    } catch (error) {
      if (!(error instanceof CertificatePemError)) throw error;
      flags.issue(name, `--${name}: ${error.message}`);
    }
  };
  const pemOf = (name: PemFlag) => {
    const file = flags.isGiven(name) ? flags.file(name) : undefined;
    return file && { pem: file.text, source: file.path };
  };
  for (const name of ['peer-ca-file', 'target-ca-file'] as const) {
    const bundle = pemOf(name);
    if (bundle !== undefined) check(name, () => parseCertificates(bundle));
  }
  const [certificate, key] = [pemOf('client-cert-file'), pemOf('client-key-file')];
  if (certificate && key) check('client-cert-file', () => parsePair(certificate, key));
}
