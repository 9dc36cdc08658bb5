import { Argument } from 'commander';
import { parseDuration } from '../flags/duration.ts';
import { kubeAdmManifest, parseKubeApiServerManifest } from '../serve/kube-apiserver-manifest.ts';
import type { CliCommand, ReportExitCode } from '../terminal/cli-command.ts';
import { type CommandContext, CommandFailure, messageOf } from '../terminal/command-context.ts';
import { type ControlPlane, controlPlaneBy } from './control-plane.ts';
import { diffOfInstallation, diffOfUndo, type InstallationSite, install, undo } from './install-kubeadm.ts';
import { type KubeadmNode, kubeadmNode } from './kubeadm-node.ts';
import { InstallationRefused } from './kubeadm-plan.ts';

interface InstallOptions {
  readonly image?: string;
  readonly kubeApiserverPort: string;
  readonly kubeconfig: string;
  readonly timeout: string;
  readonly dryRun?: boolean;
  readonly undo?: boolean;
}

export function registerInstall(
  program: CliCommand,
  context: CommandContext,
  report: ReportExitCode,
  node: KubeadmNode = kubeadmNode(),
): void {
  program
    .command('install')
    .helpGroup('Set up:')
    .summary('Put a router on this control-plane node, or take it off again')
    .description(
      'Put a router in front of the kube-apiserver of this node, on the port that clients know: make a client certificate that may read the cluster, move kube-apiserver to another port, with patches for later kubeadm upgrades, and start the router as a static pod. Everything is put back when one of them does not become ready. Run it as root, on one node at a time; it refuses while another control-plane node is not ready. It can be repeated.',
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
    .addArgument(new Argument('<form>', 'How the control plane was set up.').choices(['kubeadm']))
    .option('--image <image>', 'Image of the router. Required for the first installation.')
    .option('--kube-apiserver-port <port>', 'The port that kube-apiserver moves to.', '6444')
    .option(
      '--kubeconfig <file>',
      'Kubeconfig of an administrator, for the rights of the router.',
      '/etc/kubernetes/admin.conf',
    )
    .option('--timeout <duration>', 'How long each of them may take to become ready, or to end.', '3m')
    .option('--dry-run', 'Print a diff of every file, and change nothing.')
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
  const wish = { image: options.image, kubeApiServerPort: portOf(options.kubeApiserverPort) };
  const patience = parseDuration(options.timeout);
  if (patience === undefined) {
    throw new CommandFailure(2, [`--timeout "${options.timeout}" is no duration such as 3m`]);
  }
  if (options.dryRun === true) {
    const diff = await (options.undo === true ? diffOfUndo(node) : diffOfInstallation(wish, node));
    await context.writeOutput(diff === '' ? 'nothing would change\n' : diff);
    return;
  }
  const site: InstallationSite = {
    node,
    controlPlane: () => controlPlaneOf(options.kubeconfig, node),
    say: (line) => context.writeOutput(`${line}\n`),
    patience,
  };
  await (options.undo === true ? undo(site) : install(wish, site));
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new CommandFailure(2, [`--kube-apiserver-port "${text}" is no port`]);
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
    return controlPlaneBy(await loadClusterAccess({ kubeconfig, text }), address);
  } catch (cause) {
    throw new InstallationRefused(messageOf(cause), { cause });
  }
}
