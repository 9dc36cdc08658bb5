import { Argument } from 'commander';
import { errorMessage } from '../../runtime/error-message.ts';
import { parseDuration } from '../flags/flag-types.ts';
import { kubeAdmManifest, parseKubeApiServerManifest } from '../serve/kube-apiserver-manifest.ts';
import type { CliCommand, ReportExitCode } from '../terminal/cli-command.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { ControlPlane } from './control-plane.ts';
import { dryRunOfInstallation, dryRunOfUndo, install, undo } from './install-kubeadm.ts';
import {
  dryRunOfSystemd,
  dryRunOfSystemdUndo,
  installSystemd,
  type SystemdSite,
  undoSystemd,
} from './install-systemd.ts';
import type { InstallationSite } from './installation-site.ts';
import { type KubeadmNode, kubeadmNode } from './kubeadm-node.ts';
import type { Say } from './recorded-changes.ts';
import { type SystemdWish, usualCommand } from './systemd-files.ts';
import { type SystemdHost, systemdHost } from './systemd-host.ts';
import { InstallationRefused } from './wait-until.ts';

interface InstallOptions {
  readonly image?: string;
  readonly kubeApiserverPort: string;
  readonly kubeconfig?: string;
  readonly config?: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly securePort?: string;
  readonly command: string;
  readonly timeout: string;
  readonly dryRun?: boolean;
  readonly undo?: boolean;
}

/** What an installation touches of the machine. Tests bring their own. */
export interface InstallMachine {
  readonly node?: KubeadmNode;
  readonly host?: SystemdHost;
}

export function registerInstall(
  program: CliCommand,
  context: CommandContext,
  report: ReportExitCode,
  { node = kubeadmNode(), host = systemdHost() }: InstallMachine = {},
): void {
  program
    .command('install')
    .helpGroup('Set up:')
    .summary('Put a router on this machine, or take it off again')
    .description(
      'kubeadm: move the kube-apiserver of this node to another port, also for later kubeadm upgrades, and start a router as a static pod on the port that clients know. Run it on one node at a time; it refuses while another control-plane node is not ready. systemd: start a router as a service, from --config, or else a gateway. Both: everything is put back when something does not become ready. Run it as root. It can be repeated.',
    )
    .examples(
      {
        comment: 'See every change, without making one.',
        line: 'install kubeadm --image=registry.example/mixed-version-proxy:0.1.0 --dry-run',
      },
      {
        comment: 'Make them.',
        line: 'install kubeadm --image=registry.example/mixed-version-proxy:0.1.0',
      },
      { comment: 'Put everything back.', line: 'install kubeadm --undo' },
      {
        comment: 'A gateway as a systemd service.',
        line: 'install systemd --kubeconfig=sync.kubeconfig --tls-cert-file=gateway.crt --tls-private-key-file=gateway.key',
      },
    )
    .addArgument(new Argument('<form>', 'What the router is started by.').choices(['kubeadm', 'systemd']))
    .option('--image <image>', 'kubeadm: image of the router. Required for the first installation.')
    .option('--kube-apiserver-port <port>', 'kubeadm: the port that kube-apiserver moves to.', '6444')
    .option(
      '--kubeconfig <file>',
      'kubeadm: kubeconfig of an administrator, for the rights of the router (default /etc/kubernetes/admin.conf). systemd: the one that the router reads the cluster with; it is copied.',
    )
    .option('--config <file>', 'systemd: a RouterConfiguration, which is copied to /etc/mixed-version-proxy.')
    .option('--tls-cert-file <file>', 'systemd: serving certificate of a gateway; it is copied.')
    .option('--tls-private-key-file <file>', 'systemd: private key for --tls-cert-file; it is copied.')
    .option('--secure-port <port>', 'systemd: port of a gateway, without --config. Default: 6443.')
    .option('--command <file>', 'systemd: the command that the unit starts.', usualCommand)
    .option('--timeout <duration>', 'How long each of them may take to become ready, or to end.', '3m')
    .option(
      '--dry-run',
      'Print a diff of every file and object, and for systemd the commands, and change nothing.',
    )
    .option('--undo', 'Put everything back as it was.')
    .action(async (form: string, options: InstallOptions) => {
      try {
        await (form === 'systemd' ? runSystemd(options, context, host) : run(options, context, node));
      } catch (error) {
        if (!(error instanceof InstallationRefused)) throw error;
        throw new CommandFailure(1, error.message.split('\n'), { cause: error });
      }
      report(0);
    });
}

async function run(options: InstallOptions, context: CommandContext, node: KubeadmNode): Promise<void> {
  const wish = {
    image: options.image,
    kubeApiServerPort: portOf('--kube-apiserver-port', options.kubeApiserverPort),
  };
  const timeout = timeoutOf(options);
  const kubeconfig = options.kubeconfig ?? '/etc/kubernetes/admin.conf';
  const site: InstallationSite = {
    node,
    controlPlane: () => controlPlaneOf(kubeconfig, node),
    kubeconfig,
    context,
    say: sayTo(context),
    timeout,
  };
  if (options.dryRun !== true) return options.undo === true ? undo(site) : install(wish, site);
  const text = await (options.undo === true ? dryRunOfUndo(site) : dryRunOfInstallation(wish, site));
  await context.writeOutput(text === '' ? 'nothing would change\n' : text);
}

async function runSystemd(
  options: InstallOptions,
  context: CommandContext,
  host: SystemdHost,
): Promise<void> {
  const site: SystemdSite = { host, context, say: sayTo(context), timeout: timeoutOf(options) };
  if (options.undo === true && options.dryRun !== true) return undoSystemd(site);
  const wish = () => systemdWish(options, host);
  if (options.dryRun !== true) return installSystemd(await wish(), site);
  const text = await (options.undo === true
    ? dryRunOfSystemdUndo(site)
    : dryRunOfSystemd(await wish(), site));
  await context.writeOutput(text === '' ? 'nothing would change\n' : text);
}

function sayTo(context: CommandContext): Say {
  return (line) => context.writeOutput(`${line}\n`);
}

async function systemdWish(options: InstallOptions, host: SystemdHost): Promise<SystemdWish> {
  const textOf = async (flag: string, path: string | undefined): Promise<string | undefined> => {
    if (path === undefined) return undefined;
    const text = await host.read(path);
    if (text === undefined) throw new InstallationRefused(`${flag}: ${path} is not there`);
    return text;
  };
  const { kubeconfig, securePort } = options;
  const text = await textOf('--kubeconfig', kubeconfig);
  return {
    kubeconfig: text,
    authority: await authorityOf(kubeconfig, text),
    configuration: await textOf('--config', options.config),
    certificate: await textOf('--tls-cert-file', options.tlsCertFile),
    privateKey: await textOf('--tls-private-key-file', options.tlsPrivateKeyFile),
    port: securePort === undefined ? undefined : portOf('--secure-port', securePort),
    command: options.command,
  };
}

/** What the API servers' certificates are checked against. */
async function authorityOf(kubeconfig = '', text?: string): Promise<string | undefined> {
  if (text === undefined) return undefined;
  const { loadClusterAccess } = await import('../../sync/node/cluster-access.ts');
  try {
    const access = await loadClusterAccess({ kubeconfig, text });
    return (await access.credentials()).certificateAuthorities;
  } catch (cause) {
    throw new InstallationRefused(`--kubeconfig: ${errorMessage(cause)}`, { cause });
  }
}

function timeoutOf({ timeout }: InstallOptions): number {
  const milliseconds = parseDuration(timeout);
  if (milliseconds !== undefined) return milliseconds;
  throw new CommandFailure(2, [`--timeout "${timeout}" is no duration such as 3m`]);
}

function portOf(flag: string, text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new CommandFailure(2, [`${flag} "${text}" is no port`]);
}

async function controlPlaneOf(kubeconfig: string, node: KubeadmNode): Promise<ControlPlane> {
  const text = await node.read(kubeconfig);
  if (text === undefined) {
    throw new InstallationRefused(
      `${kubeconfig} is not there: name the kubeconfig of an administrator with --kubeconfig`,
    );
  }
  const manifest = (await node.read(kubeAdmManifest)) ?? '';
  // Loaded only where it is used: it is larger than all else together.
  const { loadClusterAccess } = await import('../../sync/node/cluster-access.ts');
  try {
    const address = parseKubeApiServerManifest(manifest).flags.get('advertise-address') ?? '127.0.0.1';
    return new ControlPlane(await loadClusterAccess({ kubeconfig, text }), address);
  } catch (cause) {
    throw new InstallationRefused(errorMessage(cause), { cause });
  }
}
