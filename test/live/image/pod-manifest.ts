import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import * as v from 'valibot';
import { parseAllDocuments } from 'yaml';

const root = resolve(import.meta.dirname, '../../..');

const podSchema = v.object({
  terminationGracePeriodSeconds: v.number(),
  securityContext: v.object({
    runAsUser: v.optional(v.number()),
    seccompProfile: v.object({ type: v.literal('RuntimeDefault') }),
  }),
  containers: v.tuple([
    v.object({
      args: v.array(v.string()),
      resources: v.object({ limits: v.object({ memory: v.pipe(v.string(), v.regex(/^\d+[MG]i$/)) }) }),
      securityContext: v.object({
        runAsUser: v.optional(v.number()),
        runAsGroup: v.optional(v.number()),
        allowPrivilegeEscalation: v.literal(false),
        readOnlyRootFilesystem: v.literal(true),
        capabilities: v.object({ drop: v.tuple([v.literal('ALL')]) }),
      }),
      volumeMounts: v.array(v.object({ name: v.string(), mountPath: v.string() })),
    }),
  ]),
});
const objectSchema = v.variant('kind', [
  v.object({ kind: v.literal('Pod'), spec: podSchema }),
  v.object({ kind: v.literal('StatefulSet'), spec: v.object({ template: v.object({ spec: podSchema }) }) }),
]);

/** The container of the router, as one of the manifests has it. */
export interface RouterContainer {
  readonly args: readonly string[];
  /** Where its configuration is looked for, and the only directory that it may write to. */
  readonly configFile: string;
  readonly stateDirectory: string;
  /** Flags of `docker run` and `podman run`, for the rights that the manifest leaves it. */
  readonly rights: readonly string[];
  /** Seconds. */
  readonly grace: number;
}

/** @param file from the root of the repository */
export function routerContainer(file: string): RouterContainer {
  const objects = parseAllDocuments(readFileSync(join(root, file), 'utf8')).map((document): unknown =>
    document.toJS(),
  );
  const found = objects
    .map((object) => v.safeParse(objectSchema, object))
    .flatMap(({ success, output }) => (success ? [output] : []))
    .at(0);
  if (found === undefined) throw new Error(`${file} has no pod of a router`);
  const pod = found.kind === 'Pod' ? found.spec : found.spec.template.spec;
  const [{ args, resources, securityContext, volumeMounts }] = pod.containers;
  const configFile = args.find((arg) => arg.startsWith('--config='))?.slice('--config='.length) ?? '';
  const mountOf = (name: string) => volumeMounts.find((mount) => mount.name === name)?.mountPath ?? '';
  if (dirname(configFile) !== mountOf('config')) throw new Error(`${file}: no volume has ${configFile}`);
  const user = [securityContext.runAsUser ?? pod.securityContext.runAsUser, securityContext.runAsGroup];
  return {
    args,
    configFile,
    stateDirectory: mountOf('state'),
    rights: [
      '--read-only',
      '--cap-drop=ALL',
      '--security-opt=no-new-privileges',
      `--user=${user.filter((id) => id !== undefined).join(':')}`,
      // What Kubernetes calls Gi, these call g.
      `--memory=${resources.limits.memory.replace('i', '').toLowerCase()}`,
    ],
    grace: pod.terminationGracePeriodSeconds,
  };
}
