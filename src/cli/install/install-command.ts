import type * as v from 'valibot';
import {
  boolean,
  choice,
  duration,
  file,
  listOf,
  section,
  setting,
  text,
  wholeNumber,
} from '../../node/configuration/setting-types.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { kubeApiServerManifestPath, parseKubeApiServerManifest } from '../serve/kube-apiserver-manifest.ts';
import { readFlags } from '../settings/read-settings.ts';
import type { Command } from '../terminal/command.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { ControlPlane } from './control-plane.ts';
import { dryRunOfInstallation, dryRunOfUndo, install, undo } from './install-kubeadm.ts';
import { type InstallationSite, stepNames } from './installation-checks.ts';
import { InstallationRefused, type KubeadmNode, kubeadmNode } from './kubeadm-node.ts';

const steps = { ...listOf(choice(...stepNames)), placeholder: 'step,…' };

const flags = section('Flags:', {
  image: setting('image', text('image'), {
    uselessWith: ['undo'],
    description: 'Image of the router. Required for the first installation.',
  }),
  port: setting('port', wholeNumber(1, 65_535, 'port'), {
    uselessWith: ['undo'],
    description: 'The port of the router beside kube-apiserver. Default: 7443, or the one it has.',
  }),
  takePort: setting('take-port', boolean, {
    uselessWith: ['undo'],
    description: 'Move kube-apiserver to another port, and give its port to the router.',
  }),
  components: setting('components', boolean, {
    uselessWith: ['undo'],
    description: 'Lead the controller manager and the scheduler of this node through the router.',
  }),
  kubeApiServerPort: setting('kube-apiserver-port', wholeNumber(1, 65_535, 'port'), {
    uselessWith: ['undo'],
    description: 'The port that kube-apiserver moves to with --take-port. Default: 6444, or the one it has.',
  }),
  kubeconfig: setting('kubeconfig', file, {
    default: '/etc/kubernetes/admin.conf',
    description: 'Kubeconfig of an administrator, for the rights of the router.',
  }),
  timeout: setting('timeout', duration('0s', undefined, 'a duration such as 3m'), {
    default: '3m',
    description: 'How long each of them may take to become ready, or to end.',
  }),
  onlyStep: setting('only-step', steps, {
    uselessWith: ['undo'],
    description: `Run this step only. Steps: ${stepNames.join(', ')}.`,
  }),
  skipStep: setting('skip-step', steps, {
    uselessWith: ['undo'],
    description: 'Leave this step out.',
  }),
  dryRun: setting('dry-run', boolean, {
    description: 'Print a diff of every file and object, and change nothing.',
  }),
  undo: setting('undo', boolean, { description: 'Put everything back as it was.' }),
});

type InstallOptions = v.InferOutput<typeof flags>;

/** @param node what an installation touches of the machine. Tests bring their own. */
export function installCommand(node: KubeadmNode = kubeadmNode()): Command {
  return {
    description:
      'Start a router as a static pod beside the kube-apiserver of this node, on a port of its own: nothing of kube-apiserver changes, and clients come through the router once the load balancer points to it. With --components the controller manager and the scheduler of the node come through it, too. With --take-port the router takes the port that clients know, and kube-apiserver moves to another. Run it as root, one node at a time. If something does not become ready, everything is put back.',
    examples: [
      {
        comment: 'See every change, without making one.',
        line: ['install kubeadm --dry-run', '--image=registry.example/mixed-version-proxy:0.1.0'],
      },
      {
        comment: 'Make them: a router on port 7443, beside kube-apiserver.',
        line: ['install kubeadm', '--image=registry.example/mixed-version-proxy:0.1.0'],
      },
      {
        comment: 'Afterwards, the controller manager and the scheduler of the node come through it, too.',
        line: 'install kubeadm --components',
      },
      {
        comment:
          'Or the router takes the port that everybody on the node knows, kubelet and admin.conf included.',
        line: 'install kubeadm --take-port',
      },
      { comment: 'Put everything back.', line: 'install kubeadm --undo' },
    ],
    arguments: [
      {
        name: 'form',
        description: 'What the router is started by.',
        choices: ['kubeadm'],
        isRequired: true,
      },
    ],
    flags: [flags],
    async run(given, context) {
      try {
        await run(readFlags(flags, given), context, node);
        return 0;
      } catch (error) {
        if (!(error instanceof InstallationRefused)) throw error;
        throw new CommandFailure(1, error.message.split('\n'), { cause: error });
      }
    },
  };
}

async function run(options: InstallOptions, context: CommandContext, node: KubeadmNode): Promise<void> {
  const { image, port, kubeApiServerPort, kubeconfig, timeout } = options;
  const [takesPort, leadsComponents] = [options.takePort === true, options.components === true];
  const wish = { image, port, takesPort, leadsComponents, kubeApiServerPort };
  const site: InstallationSite = {
    node,
    controlPlane: () => controlPlaneOf(kubeconfig, node),
    kubeconfig,
    context,
    say: (line) => context.writeOutput(`${line}\n`),
    timeout,
    onlyStep: options.onlyStep ?? [],
    skipStep: options.skipStep ?? [],
  };
  if (options.dryRun !== true) return options.undo === true ? undo(site) : install(wish, site);
  const text = await (options.undo === true ? dryRunOfUndo(site) : dryRunOfInstallation(wish, site));
  await context.writeOutput(text === '' ? 'nothing would change\n' : text);
}

async function controlPlaneOf(kubeconfig: string, node: KubeadmNode): Promise<ControlPlane> {
  const text = await node.read(kubeconfig);
  if (text === undefined) {
    throw new InstallationRefused(
      `${kubeconfig} is not there: name the kubeconfig of an administrator with --kubeconfig`,
    );
  }
  const manifest = (await node.read(kubeApiServerManifestPath)) ?? '';
  const { loadClusterAccess } = await import('../../node/credentials/cluster-access.ts');
  try {
    const address = parseKubeApiServerManifest(manifest).flags.get('advertise-address') ?? '127.0.0.1';
    return new ControlPlane(await loadClusterAccess({ kubeconfig, text }), address);
  } catch (cause) {
    throw new InstallationRefused(errorMessage(cause), { cause });
  }
}
