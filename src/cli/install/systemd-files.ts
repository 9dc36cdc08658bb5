import { stringify } from 'yaml';

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
