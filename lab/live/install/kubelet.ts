// Stands in for the kubelet of a control-plane node, in the node's own namespaces: static pods are run as processes.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { commandModule } from '../../../test/support/commands/command.ts';
import { NodeInApi } from './node-in-api.ts';
import { parseStaticPod, type StaticPod } from './static-pod.ts';
import { type RunningPod, runStaticPod } from './static-pod-runner.ts';

const manifests = '/etc/kubernetes/manifests';
/** Milliseconds between two looks at the folder, and at the API. */
const lookInterval = 500;
const reportInterval = 2000;

const { values } = parseArgs({
  options: {
    name: { type: 'string', default: '' },
    address: { type: 'string', default: '' },
    /** Folder for the logs of containers. */
    logs: { type: 'string', default: '' },
    /** `<name>:v<version>=<path>`: what is run for an image of that name. */
    program: { type: 'string', multiple: true, default: [] },
  },
});
const programs = new Map(values.program.map((each) => each.split('=', 2) as [string, string]));
const say = (line: string) => console.log(`${new Date().toISOString()} ${line}`);

/** By the name and the tag of the image. A controller manager and a scheduler that are not given are said to run. */
function commandOf({ image, command, args }: StaticPod): readonly string[] | undefined {
  const program = programs.get(/\/(kube-[a-z-]+:v\d+\.\d+)/.exec(image)?.[1] ?? '');
  if (program !== undefined) return [program, ...command.slice(1), ...args];
  if (image.includes('/mixed-version-proxy')) return [process.execPath, commandModule, ...command, ...args];
  return undefined;
}

/** By the file. */
const running = new Map<string, RunningPod>();
/** Hashes of what is not admitted: only another manifest is looked at again. */
const rejected = new Map<string, string>();

async function look(): Promise<void> {
  // Files with a dot first are passed over (pkg/kubelet/config/file_linux.go).
  const names = (await readdir(manifests).catch(() => [])).filter((name) => !name.startsWith('.'));
  for (const [name, { stop }] of running) {
    if (names.includes(name)) continue;
    say(`removed ${name}`);
    await stop();
    running.delete(name);
  }
  for (const name of rejected.keys()) if (!names.includes(name)) rejected.delete(name);
  for (const name of names) await attend(name);
}

async function attend(name: string): Promise<void> {
  const text = await readFile(join(manifests, name), 'utf8').catch(() => '');
  const pod = parsed(name, text);
  const present = running.get(name);
  if (pod === undefined || present?.pod.hash === pod.hash || rejected.get(name) === pod.hash) return;
  await present?.stop();
  running.delete(name);
  // pkg/kubelet/lifecycle/predicate.go: a pod with a port of the host that another has is not admitted, for good.
  const taken = [...running.values()].find((other) =>
    other.pod.hostPorts.some((port) => pod.hostPorts.includes(port)),
  );
  if (taken !== undefined) {
    say(`rejected ${pod.name}: ${taken.pod.name} has a port of the host that it declares (NodePorts)`);
    rejected.set(name, pod.hash);
    return;
  }
  running.set(name, runStaticPod(pod, { commandOf, logs: values.logs, say }));
}

function parsed(name: string, text: string): StaticPod | undefined {
  try {
    return parseStaticPod(text);
  } catch (error) {
    say(`not a static pod: ${name}: ${error}`);
    return undefined;
  }
}

const api = new NodeInApi(values.name, values.address);
void (async () => {
  for (;;) {
    // As a kubelet does it: what cannot be told now is told later.
    await api.report([...running.values()].map(({ pod }) => pod)).catch(() => {});
    await sleep(reportInterval);
  }
})();
for (;;) {
  await look();
  await sleep(lookInterval);
}
