import type { FileChange } from './file-change.ts';
import { InstallationRefused } from './installation-refused.ts';
import { gatewayConfiguration, type SystemdPaths, systemdUnit } from './systemd-files.ts';

/** What is to be on the machine; `undefined`: as it is there already. */
export interface SystemdWish {
  /** Texts of the files that were named. */
  readonly kubeconfig: string | undefined;
  readonly configuration: string | undefined;
  readonly certificate: string | undefined;
  readonly privateKey: string | undefined;
  /** The authority of the kubeconfig's cluster. */
  readonly authority: string | undefined;
  /** Of a configuration that is made. Default: 6443. */
  readonly port: number | undefined;
  /** The command that the unit starts. */
  readonly command: string;
}

/**
 * What has to change on a machine with systemd, in this order. Pure.
 * @param files what is there, by path
 * @param isInstalled whether an installation has recorded the unit that is there as its own
 * @throws {InstallationRefused}
 */
export function planSystemd(
  wish: SystemdWish,
  paths: SystemdPaths,
  files: ReadonlyMap<string, string>,
  isInstalled: boolean,
): readonly FileChange[] {
  if (!/^\/[\w./@+-]+$/.test(wish.command)) {
    throw new InstallationRefused(
      `--command "${wish.command}" cannot stand in a unit: give an absolute path of letters, digits and ./@+_-`,
    );
  }
  if (files.has(paths.unit) && !isInstalled) throw unitOfAnotherOrigin(paths.unit);
  const change = (
    path: string,
    after: string | undefined,
    mode: number,
    isSecret = false,
  ): readonly FileChange[] => {
    const before = files.get(path);
    return after === undefined || before === after ? [] : [{ path, before, after, mode, isSecret }];
  };
  return [
    ...change(paths.kubeconfig, wish.kubeconfig, 0o640, true),
    ...change(paths.authority, wish.authority, 0o644),
    ...change(paths.certificate, wish.certificate, 0o644),
    ...change(paths.privateKey, wish.privateKey, 0o640, true),
    ...change(paths.configuration, configurationOf(wish, paths, files), 0o644),
    ...change(paths.unit, systemdUnit(wish.command, paths.configuration), 0o644),
  ];
}

export function unitOfAnotherOrigin(path: string): InstallationRefused {
  return new InstallationRefused(
    `${path} is a unit that this command has not written: it would be overwritten. Stop and remove it (systemctl disable --now mixed-version-proxy), then install again, or keep it and go on by hand`,
  );
}

/** `undefined`: the one that is there stays. */
function configurationOf(
  wish: SystemdWish,
  paths: SystemdPaths,
  files: ReadonlyMap<string, string>,
): string | undefined {
  if (wish.configuration !== undefined) return wish.configuration;
  if (files.has(paths.configuration)) {
    if (wish.port === undefined) return undefined;
    throw new InstallationRefused(
      `${paths.configuration} is there, and is not written anew: set serving.port in it, and leave --secure-port out`,
    );
  }
  const needed = [
    ['--kubeconfig', wish.kubeconfig, paths.kubeconfig],
    ['--tls-cert-file', wish.certificate, paths.certificate],
    ['--tls-private-key-file', wish.privateKey, paths.privateKey],
  ] as const;
  const missing = needed.filter(([, text, path]) => text === undefined && !files.has(path));
  if (missing.length > 0) {
    const flags = missing.map(([flag]) => flag).join(', ');
    throw new InstallationRefused(
      `give ${flags}: a gateway needs a kubeconfig to read the cluster with, and the certificate and key that clients see; or give a configuration of your own with --config`,
    );
  }
  return gatewayConfiguration(wish.port ?? 6443, paths.snapshot);
}
