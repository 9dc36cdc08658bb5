import { stringify } from 'yaml';
import { changeTo, type FileChange } from './file-change.ts';
import { InstallationRefused } from './wait-until.ts';

/** The account that the router runs as, and its group. */
export const accountName = 'mixed-version-proxy';
export const unitName = 'mixed-version-proxy.service';
/** Where the units of `deploy/systemd` have the command. */
export const usualCommand = '/usr/local/bin/mixed-version-proxy';

/** Where the files of a router as a systemd service are. @param root stands before every path, in a test */
export function systemdPaths(root = '') {
  const etc = `${root}/etc/mixed-version-proxy`;
  return {
    unit: `${root}/etc/systemd/system/${unitName}`,
    configuration: `${etc}/config.yaml`,
    kubeconfig: `${etc}/sync.kubeconfig`,
    authority: `${etc}/ca.crt`,
    certificate: `${etc}/tls.crt`,
    privateKey: `${etc}/tls.key`,
    /** The state directory of the unit: systemd makes it. */
    snapshot: `${root}/var/lib/mixed-version-proxy/snapshot`,
    journal: `${root}/var/lib/mixed-version-proxy-install/systemd.json`,
  } as const;
}

export type SystemdPaths = ReturnType<typeof systemdPaths>;

/** A gateway that a kubeconfig and a serving certificate are enough for. Paths are relative to the file's folder. */
export function gatewayConfiguration(port: number, snapshot: string): string {
  return `# Written by mixed-version-proxy install systemd. Yours to change: the router reads it again, and no installation replaces it
# unless it is given another with --config.
${stringify({
  apiVersion: 'mixed-version-proxy/v1alpha1',
  kind: 'RouterConfiguration',
  gateway: true,
  serving: { port, certFile: 'tls.crt', keyFile: 'tls.key' },
  peers: { caFile: 'ca.crt' },
  apiServers: { kubeconfig: 'sync.kubeconfig' },
  authentication: { clientCAFile: 'ca.crt' },
  snapshot: { file: snapshot },
  logging: { format: 'json' },
})}`;
}

/** The unit of the router. `deploy/systemd/mixed-version-proxy.service` is this text, for the usual paths. */
export function systemdUnit(command: string, configuration: string): string {
  return `# The router, beside the kube-apiserver of a control-plane node or as a gateway. docs/start/install-systemd.md.
[Unit]
Description=Mixed Version Proxy: router in front of Kubernetes API servers
Wants=network-online.target
After=network-online.target
# The control plane stands behind it: it is started again however often it ends.
StartLimitIntervalSec=0

[Service]
Type=exec
User=mixed-version-proxy
Group=mixed-version-proxy
ExecStart=${command} serve --config=${configuration}
# Certificates, CA bundles and keys are looked at at once, without a restart.
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=2
# 2 is a wrong configuration, which starting again does not mend.
RestartPreventExitStatus=2
# The launcher passes the signal on where it runs another Node than its own.
KillMode=mixed
KillSignal=SIGTERM
# Longer than the slowest shutdown with the default time-outs, 60 s (docs/guides/shutdown.md), and 15 s of delay.
TimeoutStopSec=90
# Half of it, less 128, are client connections (docs/reference/limits.md).
LimitNOFILE=65536
OOMScoreAdjust=-900
StateDirectory=mixed-version-proxy
StateDirectoryMode=0700
# os.networkInterfaces(), for the address to advertise, asks over netlink.
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK

# Hardening. \`systemd-analyze security\` tells what each line is worth.
CapabilityBoundingSet=
AmbientCapabilities=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
ProcSubset=pid
PrivateTmp=yes
PrivateDevices=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RemoveIPC=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
# Not MemoryDenyWriteExecute=: V8 compiles while it runs.
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
UMask=0077

[Install]
WantedBy=multi-user.target
`;
}

/** Contents that the machine should have. `undefined`: those that it has already. */
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
  const change = (path: string, after: string | undefined, mode: number, isSecret?: boolean) =>
    after === undefined ? [] : changeTo(files, path, after, mode, isSecret);
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
