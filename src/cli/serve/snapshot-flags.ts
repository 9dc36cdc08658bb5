import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { describeKeysIssue, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import type { FlagReport, FlagValues } from '../flags/flag-values.ts';
import type { CertificateFiles } from './certificate-files.ts';
import { readsClusterItself } from './embedded-sync-flags.ts';

/** Reads where snapshots come from, who may sign them and what happens without a current one. */
export async function readSnapshotFlags(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
  featureGateEnabled: boolean,
): Promise<ServeConfig['snapshot'] | undefined> {
  const file = values.text('snapshot-file');
  const isOwn = readsClusterItself(values);
  const keysPath = values.text('snapshot-keys');
  if (featureGateEnabled && !isOwn && !values.isGiven('snapshot-keys')) {
    report.fault(
      'snapshot-keys',
      'the router has nothing to know the servers by: set --kubeconfig (or --in-cluster), and it reads the cluster itself; or --snapshot-keys, with which it checks the snapshots of a sync job',
    );
  }
  const stalePolicy = values.value('snapshot-stale-policy');
  if (featureGateEnabled && (isOwn || keysPath !== undefined) && file === undefined) {
    report.warn(
      'snapshot-file',
      isOwn
        ? '--snapshot-file is not set: after a restart the router knows nothing of a server that it cannot read then'
        : '--snapshot-file is not set: after a restart the router knows nothing until the next snapshot is pushed',
    );
  }
  const keys = keysPath === undefined ? undefined : await readKeys(keysPath, report, files);
  return stalePolicy === undefined ? undefined : { file, keys, stalePolicy };
}

async function readKeys(
  path: string,
  report: FlagReport,
  files: CertificateFiles,
): Promise<ServeConfig['snapshot']['keys']> {
  const flag = 'snapshot-keys';
  const text = files.text(flag, path);
  if (text === undefined) return undefined;
  const result = await parseSnapshotKeys(text);
  if (result.ok) return { path, text, pinned: result.keys };
  for (const issue of result.issues) {
    report.fault(flag, `--${flag}: ${describeKeysIssue(path, issue)}`);
  }
  return undefined;
}
