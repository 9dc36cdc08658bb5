import { posix } from 'node:path';
import * as v from 'valibot';
import { parse } from 'yaml';

const texts = v.nullish(v.array(v.string()), []);
const pod = v.object({
  spec: v.object({
    containers: v.array(
      v.object({
        command: texts,
        args: texts,
        volumeMounts: v.nullish(
          v.array(v.object({ name: v.string(), mountPath: v.string(), subPath: v.nullish(v.string()) })),
          [],
        ),
      }),
    ),
    volumes: v.nullish(
      v.array(v.object({ name: v.string(), hostPath: v.nullish(v.object({ path: v.string() })) })),
      [],
    ),
  }),
});
type PodSpec = v.InferOutput<typeof pod>['spec'];

/** Where kubeadm, and most that follow it, have kube-apiserver's static pod. */
export const kubeApiServerManifestPath = '/etc/kubernetes/manifests/kube-apiserver.yaml';

export interface KubeApiServerManifest {
  /** By name without dashes, the last of each. One whose value only the kubelet knows, `$(NAME)`, is left out. */
  readonly flags: ReadonlyMap<string, string>;
  valuesOf(name: string): readonly string[];
  readonly unknown: ReadonlySet<string>;
  /** Where a file of the container is on the node; `undefined` where it is not the node's. */
  hostPath(containerPath: string): string | undefined;
}

export function parseKubeApiServerManifest(text: string): KubeApiServerManifest {
  const { containers, volumes } = podSpec(text);
  for (const { command, args, volumeMounts } of containers) {
    const words = [...command, ...args];
    // Behind a wrapper, too (`/go-runner --log-file=… kube-apiserver …`), but not within a shell's text.
    const own = words.findIndex((word) => /(?:^|\/)kube-apiserver$/.test(word));
    if (own === -1) continue;
    const occurrences = flagsOf(words.slice(own + 1));
    const flags = new Map(occurrences);
    for (const [name, value] of flags) if (isUnknown(value)) flags.delete(name);
    return {
      flags,
      valuesOf: (name) => occurrences.flatMap(([each, value]) => (each === name ? [value] : [])),
      unknown: new Set(occurrences.flatMap(([name, value]) => (isUnknown(value) ? [name] : []))),
      hostPath: hostPathsOf(volumeMounts, volumes),
    };
  }
  throw new TypeError('runs no kube-apiserver');
}

/** Where files of the first container of a static pod are on the node. @throws {TypeError} with the manifest's error */
export function hostPathsOfPod(text: string): KubeApiServerManifest['hostPath'] {
  const { containers, volumes } = podSpec(text);
  return hostPathsOf(containers[0]?.volumeMounts ?? [], volumes);
}

function podSpec(text: string): PodSpec {
  const result = v.safeParse(pod, document(text));
  if (!result.success) throw new TypeError('is no manifest of a pod');
  return result.output.spec;
}

/** The kubelet puts an environment variable's value there. */
function isUnknown(value: string): boolean {
  return value.includes('$(');
}

function flagsOf(words: readonly string[]): readonly (readonly [name: string, value: string])[] {
  return words.flatMap((word, index) => {
    const [, name, own] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === undefined) return [];
    const next = words[index + 1];
    // pflag: the value may be the next word. A flag alone is a boolean.
    const value = own ?? (next === undefined || next.startsWith('-') ? 'true' : next);
    // kube-apiserver takes underscores for dashes (k8s.io/component-base cli/flag WordSepNormalizeFunc).
    return [[name.replaceAll('_', '-'), value] as const];
  });
}

function hostPathsOf(
  volumeMounts: PodSpec['containers'][number]['volumeMounts'],
  volumes: PodSpec['volumes'],
): KubeApiServerManifest['hostPath'] {
  const hostPaths = new Map(volumes.map(({ name, hostPath }) => [name, hostPath?.path]));
  const mounts = volumeMounts.map(({ name, mountPath, subPath }) => ({
    mountPath: posix.normalize(`${mountPath}/`),
    hostPath: subPath ? undefined : hostPaths.get(name),
  }));
  return (path) => {
    const [nearest] = mounts
      .filter(({ mountPath }) => `${posix.normalize(path)}/`.startsWith(mountPath))
      .sort((one, other) => other.mountPath.length - one.mountPath.length);
    if (nearest?.hostPath === undefined) return undefined;
    return posix.join(nearest.hostPath, posix.relative(nearest.mountPath, path));
  };
}

function document(text: string): unknown {
  try {
    return parse(text, { logLevel: 'error' });
  } catch {
    // Without the parser's words: they quote the text.
    throw new TypeError('is neither YAML nor JSON');
  }
}
