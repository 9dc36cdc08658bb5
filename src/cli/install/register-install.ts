import { Argument } from 'commander';
import { errorMessage } from '../../runtime/errors.ts';
import { parseDuration } from '../flags/flag-types.ts';
import { kubeAdmManifest, parseKubeApiServerManifest } from '../serve/kube-apiserver-manifest.ts';
import type { CliCommand, ReportExitCode } from '../terminal/cli-command.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { ControlPlane } from './control-plane.ts';
import { dryRunOfInstallation, dryRunOfUndo, install, undo } from './install-kubeadm.ts';
import type { InstallationSite } from './installation-site.ts';
import { type KubeadmNode, kubeadmNode } from './kubeadm-node.ts';
import { InstallationRefused } from './wait-until.ts';

interface InstallOptions {
  readonly image?: string;
  readonly kubeApiserverPort: string;
  readonly kubeconfig: string;
  readonly timeout: string;
  readonly dryRun?: boolean;
  readonly undo?: boolean;
}

/** @param node what an installation touches of the machine. Tests bring their own. */
export function registerInstall(
  command: CliCommand,
  context: CommandContext,
  report: ReportExitCode,
  node: KubeadmNode = kubeadmNode(),
): void {
  command
    .description(
      'Move the kube-apiserver of this node to another port, also for later kubeadm upgrades, and start a router as a static pod on the port that clients know. Run it as root, on one node at a time: it refuses while another control-plane node is not ready. Everything is put back when something does not become ready. It can be repeated.',
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
    )
    .addArgument(new Argument('<form>', 'What the router is started by.').choices(['kubeadm']))
    .option('--image <image>', 'Image of the router. Required for the first installation.')
    .option('--kube-apiserver-port <port>', 'The port that kube-apiserver moves to.', '6444')
    .option(
      '--kubeconfig <file>',
      'Kubeconfig of an administrator, for the rights of the router.',
      '/etc/kubernetes/admin.conf',
    )
    .option('--timeout <duration>', 'How long each of them may take to become ready, or to end.', '3m')
    .option('--dry-run', 'Print a diff of every file and object, and change nothing.')
    .option('--undo', 'Put everything back as it was.')
    .action(async (_form: string, options: InstallOptions) => {
      try {
        await run(options, context, node);
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
  const { kubeconfig } = options;
  const site: InstallationSite = {
    node,
    controlPlane: () => controlPlaneOf(kubeconfig, node),
    kubeconfig,
    context,
    say: (line) => context.writeOutput(`${line}\n`),
    timeout,
  };
  if (options.dryRun !== true) return options.undo === true ? undo(site) : install(wish, site);
  const text = await (options.undo === true ? dryRunOfUndo(site) : dryRunOfInstallation(wish, site));
  await context.writeOutput(text === '' ? 'nothing would change\n' : text);
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
