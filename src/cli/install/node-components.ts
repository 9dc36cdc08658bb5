import { parse, parseDocument } from 'yaml';
import { isSameJson } from '../../runtime/same-json.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import { changeTo, type FileChange } from './file-change.ts';
import { orRefuse } from './kubeadm-node.ts';

/**
 * What kubeadm leads by a kubeconfig to the kube-apiserver of the same node, past every load balancer
 * (cmd/kubeadm/app/phases/kubeconfig: LocalAPIEndpoint). `kubeadm upgrade` and `kubeadm certs renew` keep the server that
 * stands there (app/phases/certs/renewal/readwriter.go).
 */
export const nodeComponents = [
  {
    name: 'kube-controller-manager',
    kubeconfig: '/etc/kubernetes/controller-manager.conf',
    manifest: '/etc/kubernetes/manifests/kube-controller-manager.yaml',
  },
  {
    name: 'kube-scheduler',
    kubeconfig: '/etc/kubernetes/scheduler.conf',
    manifest: '/etc/kubernetes/manifests/kube-scheduler.yaml',
  },
] as const;

export type NodeComponent = (typeof nodeComponents)[number];

/** A component reads its kubeconfig at its start only, and the kubelet starts it anew for another manifest. */
const annotation = 'mixed-version-proxy/api-port';

/**
 * The changes that lead a component to a port of its own node, and start it anew. Pure.
 * @param addresses of the node, as kubeadm may have written them
 * @throws {InstallationRefused} when a file is not there, or not in the form in which kubeadm writes it
 */
export function componentChanges(
  { kubeconfig, manifest }: NodeComponent,
  files: ReadonlyMap<string, string>,
  { port, addresses }: { readonly port: number; readonly addresses: readonly string[] },
): readonly FileChange[] {
  const textOf = (path: string) => files.get(path) ?? missing();
  return [
    ...changeTo(
      files,
      kubeconfig,
      orRefuse(kubeconfig, () => ledTo(textOf(kubeconfig), port, addresses)),
      0o600,
      true,
    ),
    ...changeTo(
      files,
      manifest,
      orRefuse(manifest, () => startedAnew(textOf(manifest), port)),
      0o600,
    ),
  ];
}

function missing(): never {
  throw new TypeError('is not there: leave --components out, and lead that component by hand');
}

/**
 * What takes those changes back from files that kubeadm may have written anew since: an upgrade writes the manifests, a
 * renewal of certificates the kubeconfigs. Pure.
 * @returns `undefined` for files of nobody here
 * @throws {InstallationRefused}
 */
export function componentBefore(path: string, present: string, before: string): string | undefined {
  if (nodeComponents.some((each) => each.manifest === path)) {
    return withoutAnnotation(present) === withoutAnnotation(before) ? before : withoutAnnotation(present);
  }
  if (!nodeComponents.some((each) => each.kubeconfig === path)) return undefined;
  return orRefuse(path, () => {
    const { hostname: inUrl, port } = serverOf(before);
    const hostname = inUrl.replace(/^\[|\]$/g, '');
    const back = ledTo(present, Number(port), [hostname]);
    // The same but for a port: what was there, byte for byte.
    return back === ledTo(before, Number(port), [hostname]) ? before : back;
  });
}

const serverLine = /^(\s*server:\s*"?https:\/\/[^\s"/]+:)\d+("?\s*)$/gm;

function ledTo(kubeconfig: string, port: number, addresses: readonly string[]): string {
  const { hostname } = serverOf(kubeconfig);
  if (!addresses.some((address) => hostname === new URL(`https://${joinHostPort(address, port)}`).hostname)) {
    throw new TypeError(
      `leads to ${hostname}, not to this node: where routers are behind that address it needs no change. Leave --components out`,
    );
  }
  const led = kubeconfig.replace(serverLine, `$1${port}$2`);
  if (serverOf(led).port === String(port)) return led;
  throw new TypeError('is not in the form that kubeadm writes: set its server by hand');
}

/** Of the one cluster of a kubeconfig of kubeadm. @throws {TypeError} */
function serverOf(kubeconfig: string): URL {
  const found = kubeconfig.match(serverLine) ?? [];
  const server: unknown = parseDocument(kubeconfig).getIn(['clusters', 0, 'cluster', 'server']);
  if (found.length !== 1 || typeof server !== 'string' || !URL.canParse(server)) {
    throw new TypeError('does not lead to one server by https with a port: set its server by hand');
  }
  return new URL(server);
}

function startedAnew(manifest: string, port: number): string {
  const [plain, line] = [withoutAnnotation(manifest), `    ${annotation}: "${port}"\n`];
  const annotated = /^ {2}annotations:$/m.test(plain)
    ? plain.replace(/^ {2}annotations:\n/m, (start) => `${start}${line}`)
    : plain.replace(/^metadata:\n/m, (start) => `${start}  annotations:\n${line}`);
  const { metadata, ...rest } = parse(annotated);
  const { metadata: before, ...restBefore } = parse(plain);
  const wanted = { ...before, annotations: { ...before?.annotations, [annotation]: String(port) } };
  if (isSameJson(metadata, wanted) && isSameJson(rest, restBefore)) return annotated;
  throw new TypeError('is not in the form that kubeadm writes: start that component anew by hand');
}

function withoutAnnotation(manifest: string): string {
  return manifest
    .replace(new RegExp(`^ {4}${annotation}: .*\n`, 'm'), '')
    .replace(/^ {2}annotations:\n(?! {3})/m, '');
}
