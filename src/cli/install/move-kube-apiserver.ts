import * as v from 'valibot';
import { parse } from 'yaml';
import { parseKubeApiServerManifest } from '../serve/kube-apiserver-manifest.ts';

const probe = v.nullish(v.looseObject({ httpGet: v.nullish(v.looseObject({})) }));
const container = v.looseObject({
  command: v.nullish(v.array(v.string()), []),
  args: v.nullish(v.array(v.string()), []),
  ports: v.nullish(v.unknown()),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
});
const pod = v.looseObject({ spec: v.looseObject({ containers: v.array(container) }) });
const probePort = v.looseObject({ httpGet: v.looseObject({ port: v.union([v.number(), v.string()]) }) });
const namedPorts = v.nullish(v.array(v.looseObject({ name: v.string(), containerPort: v.number() })), []);

export function securePortOf(manifest: string): number {
  return Number(parseKubeApiServerManifest(manifest).flags.get('secure-port') ?? '6443');
}

/**
 * The static pod of a kube-apiserver that listens on another port and is probed there, and in which nothing else has
 * changed: lines are changed, so that all others stay as kubeadm has written them. Pure.
 * @throws {TypeError} when it is not in the form in which kubeadm writes it
 */
export function moveKubeApiServer(manifest: string, to: number): string {
  const from = securePortOf(manifest);
  if (from === to) return manifest;
  let isSet = false;
  const lines = manifest.split('\n').flatMap((line) => {
    const [, start] = /^(\s*- )(?:--secure-port=\d+|"--secure-port=\d+")\s*$/.exec(line) ?? [];
    if (start !== undefined) {
      // kubeadm's patches add one after its own, and the last one counts.
      if (isSet) return [];
      isSet = true;
      return [`${start}--secure-port=${to}`];
    }
    return [line.replace(new RegExp(`\\b(port|containerPort|hostPort): ${from}\\b`, 'g'), `$1: ${to}`)];
  });
  const moved = (isSet ? lines : withFlag(lines, to)).join('\n');
  requireMoved(manifest, moved, to);
  return moved;
}

function withFlag(lines: readonly string[], to: number): readonly string[] {
  return lines.flatMap((line) => {
    const [, start] = /^(\s*- )(?:\S*\/)?kube-apiserver\s*$/.exec(line) ?? [];
    return start === undefined ? [line] : [line, `${start}--secure-port=${to}`];
  });
}

/** The edit worked on lines of text; this checks that the parsed manifest means what was intended. */
function requireMoved(before: string, after: string, to: number): void {
  const refuse = (reason: string): never => {
    throw new TypeError(`is not in the form that kubeadm writes (${reason}): move kube-apiserver by hand`);
  };
  if (securePortOf(after) !== to) refuse('--secure-port is not on a line of its own');
  const [old, moved] = [v.parse(pod, parse(before)), v.parse(pod, parse(after))];
  for (const { startupProbe, livenessProbe, readinessProbe, ports } of moved.spec.containers) {
    const named = v.safeParse(namedPorts, ports);
    for (const each of [startupProbe, livenessProbe, readinessProbe]) {
      const asked = v.safeParse(probePort, each);
      if (!asked.success) continue;
      const { port } = asked.output.httpGet;
      const number =
        typeof port === 'number' || !named.success
          ? port
          : named.output?.find(({ name }) => name === port)?.containerPort;
      if (number !== to) refuse('a probe asks on a port of its own');
    }
  }
  if (JSON.stringify(withoutPorts(old)) !== JSON.stringify(withoutPorts(moved))) refuse('more would change');
}

function withoutPorts(manifest: v.InferOutput<typeof pod>) {
  const words = (list: readonly string[]) => list.filter((word) => !word.startsWith('--secure-port='));
  const probed = (each: v.InferOutput<typeof probe>) =>
    each?.httpGet ? { ...each, httpGet: { ...each.httpGet, port: undefined } } : each;
  const containers = manifest.spec.containers.map((each) => ({
    ...each,
    command: words(each.command),
    args: words(each.args),
    ports: undefined,
    startupProbe: probed(each.startupProbe),
    livenessProbe: probed(each.livenessProbe),
    readinessProbe: probed(each.readinessProbe),
  }));
  return { ...manifest, spec: { ...manifest.spec, containers } };
}
