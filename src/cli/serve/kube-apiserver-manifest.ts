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

/** Where kubeadm, and most that follow it, have kube-apiserver's static pod. */
export const kubeAdmManifest = '/etc/kubernetes/manifests/kube-apiserver.yaml';

/** The settings of the kube-apiserver that a static pod runs. */
export interface KubeApiServerManifest {
  /** By name without dashes, the last of each. One whose value only the kubelet knows, `$(NAME)`, is left out. */
  readonly flags: ReadonlyMap<string, string>;
  /** Every value of a flag that may be given several times, in order. */
  valuesOf(name: string): readonly string[];
  /** Flags with a value that only the kubelet knows. */
  readonly unknown: ReadonlySet<string>;
  /** Where a file of the container is on the node; `undefined` where it is not the node's. */
  hostPath(containerPath: string): string | undefined;
}

/** @throws {TypeError} with the manifest's error */
export function parseKubeApiServerManifest(text: string): KubeApiServerManifest {
  const result = v.safeParse(pod, document(text));
  if (!result.success) throw new TypeError('is no manifest of a pod');
  const { containers, volumes } = result.output.spec;
  for (const { command, args, volumeMounts } of containers) {
    const words = [...command, ...args];
    // Behind a wrapper, too (`/go-runner --log-file=… kube-apiserver …`), but not within a shell's text.
    const own = words.findIndex((word) => /(?:^|\/)kube-apiserver$/.test(word));
    if (own === -1) continue;
    const hostPaths = new Map(volumes.map(({ name, hostPath }) => [name, hostPath?.path]));
    const mounts = volumeMounts.map(({ name, mountPath, subPath }) => ({
      mountPath: posix.normalize(`${mountPath}/`),
      hostPath: subPath ? undefined : hostPaths.get(name),
    }));
    const occurrences = flagsOf(words.slice(own + 1));
    const flags = new Map(occurrences);
    for (const [name, value] of flags) if (isUnknown(value)) flags.delete(name);
    return {
      flags,
      valuesOf: (name) => occurrences.flatMap(([each, value]) => (each === name ? [value] : [])),
      unknown: new Set(occurrences.flatMap(([name, value]) => (isUnknown(value) ? [name] : []))),
      hostPath: (path) => onHost(path, mounts),
    };
  }
  throw new TypeError('runs no kube-apiserver');
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

/** By the mount that is nearest to it, as the kernel looks it up. */
function onHost(
  path: string,
  mounts: readonly { readonly mountPath: string; readonly hostPath: string | undefined }[],
): string | undefined {
  const [nearest] = mounts
    .filter(({ mountPath }) => `${posix.normalize(path)}/`.startsWith(mountPath))
    .sort((one, other) => other.mountPath.length - one.mountPath.length);
  if (nearest?.hostPath === undefined) return undefined;
  return posix.join(nearest.hostPath, posix.relative(nearest.mountPath, path));
}

function document(text: string): unknown {
  try {
    return parse(text, { logLevel: 'error' });
  } catch {
    // Without the parser's words: they quote the text.
    throw new TypeError('is neither YAML nor JSON');
  }
}
