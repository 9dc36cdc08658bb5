import { Buffer } from 'node:buffer';
import { chmod, mkdir, readlink, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { dirname, join, resolve } from 'node:path';
import * as v from 'valibot';
import { type TlsCredentials, tlsRequest } from '../../test/support/clients/tls-request.ts';
import { commandModule } from '../../test/support/commands/command.ts';
import type { KubeApiServer } from './cluster/kube-apiserver.ts';
import { type LoggedProcess, startLoggedProcess } from './cluster/logged-process.ts';

const namespace = 'kube-system';
const repository = resolve(import.meta.dirname, '../..');
/** Where a kubelet mounts the token of a pod's service account. */
const serviceAccountPath = '/var/run/secrets/kubernetes.io/serviceaccount';

const keyItems = v.optional(v.array(v.object({ key: v.string(), path: v.string() })));
const volumeSchema = v.object({
  name: v.string(),
  configMap: v.optional(v.object({ name: v.string(), items: keyItems })),
  secret: v.optional(v.object({ secretName: v.string(), items: keyItems })),
  emptyDir: v.optional(v.object({})),
});
const statefulSetSchema = v.object({
  spec: v.object({
    template: v.object({
      spec: v.object({
        serviceAccountName: v.string(),
        containers: v.tuple([
          v.object({
            args: v.array(v.string()),
            env: v.optional(v.array(v.object({ name: v.string(), value: v.string() })), []),
            ports: v.array(v.object({ name: v.string(), containerPort: v.number() })),
            readinessProbe: v.object({ httpGet: v.object({ path: v.string(), port: v.string() }) }),
            volumeMounts: v.array(v.object({ name: v.string(), mountPath: v.string() })),
          }),
        ]),
        volumes: v.array(volumeSchema),
      }),
    }),
  }),
});
const dataSchema = v.object({ data: v.record(v.string(), v.string()) });

/** The container of a StatefulSet of the cluster, run as a process in a root of its own. */
export interface ChartPod {
  readonly process: LoggedProcess;
  /** Token of the pod's service account. */
  readonly token: string;
  /** As a kubelet asks: of this machine, whatever the certificate says. Rejects while nothing listens. */
  probe(): Promise<number>;
  /** The status code of a request through it, with a bearer token. */
  ask(path: string, token: string): Promise<number>;
}

/**
 * Does what a kubelet would do for the pod: mounts what the API server has under the names of its volumes, gives it a
 * token of its service account, and starts its command with its arguments. Only the image is the repository.
 *
 * @param directory empty; the root of the pod
 */
export async function startChartPod(
  name: string,
  server: KubeApiServer,
  admin: TlsCredentials,
  directory: string,
): Promise<ChartPod> {
  const url = `${server.url}/api/v1/namespaces/${namespace}`;
  const get = async (path: string): Promise<unknown> => {
    const { statusCode, text } = await tlsRequest(path, admin);
    if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${text}`);
    return JSON.parse(text);
  };
  const set = await get(`${server.url}/apis/apps/v1/namespaces/${namespace}/statefulsets/${name}`);
  const { serviceAccountName, containers, volumes } = v.parse(statefulSetSchema, set).spec.template.spec;
  const [{ args, env, ports, readinessProbe, volumeMounts }] = containers;

  const root = join(directory, 'root');
  for (const { name: volumeName, mountPath } of volumeMounts) {
    const volume = volumes.find((each) => each.name === volumeName);
    if (volume === undefined) throw new Error(`no volume ${volumeName}`);
    await fill(join(root, mountPath), await filesOf(volume, get, url));
  }
  const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} });
  const headers = { 'content-type': 'application/json' };
  const tokenUrl = `${url}/serviceaccounts/${serviceAccountName}/token`;
  const answer = await tlsRequest(tokenUrl, admin, { method: 'POST', headers, body });
  const { token } = v.parse(
    v.object({ status: v.object({ token: v.string() }) }),
    JSON.parse(answer.text),
  ).status;
  await fill(join(root, serviceAccountPath), { token, 'ca.crt': admin.ca, namespace });

  const container = await startLoggedProcess({
    name,
    ...(await inRoot(root, [process.execPath, commandModule, ...args])),
    logFile: join(directory, 'log'),
    environment: {
      PATH: '/usr/sbin:/usr/bin:/bin',
      KUBERNETES_SERVICE_HOST: server.address,
      KUBERNETES_SERVICE_PORT: String(server.port),
      ...Object.fromEntries(env.map((variable) => [variable.name, variable.value])),
    },
  });
  const port = ports.find((each) => each.name === readinessProbe.httpGet.port)?.containerPort;
  const ask = (path: string, bearer?: string) => statusOf(`https://127.0.0.1:${port}${path}`, bearer);
  return { process: container, token, probe: () => ask(readinessProbe.httpGet.path), ask };
}

async function filesOf(
  { configMap, secret }: v.InferOutput<typeof volumeSchema>,
  get: (url: string) => Promise<unknown>,
  url: string,
): Promise<Readonly<Record<string, string>>> {
  if (configMap !== undefined) {
    const { data } = v.parse(dataSchema, await get(`${url}/configmaps/${configMap.name}`));
    return itemsOf(data, configMap.items);
  }
  if (secret === undefined) return {};
  const { data } = v.parse(dataSchema, await get(`${url}/secrets/${secret.secretName}`));
  const decoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]);
  return itemsOf(Object.fromEntries(decoded), secret.items);
}

function itemsOf(
  data: Readonly<Record<string, string>>,
  items: v.InferOutput<typeof keyItems>,
): Readonly<Record<string, string>> {
  if (items === undefined) return data;
  return Object.fromEntries(
    items.map(({ key, path }) => {
      const value = data[key];
      // A kubelet would keep the pod in ContainerCreating.
      if (value === undefined) throw new Error(`a volume has no key ${key}`);
      return [path, value];
    }),
  );
}

async function fill(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(directory, name), text);
    await chmod(join(directory, name), 0o440);
  }
}

/** A command that sees this directory as `/`, with the system's programs and the repository in it. */
async function inRoot(
  root: string,
  command: readonly string[],
): Promise<{ readonly command: string; readonly args: readonly string[] }> {
  const mounted = ['/usr', '/proc', '/dev', repository];
  for (const path of mounted) await mkdir(join(root, path), { recursive: true });
  for (const path of ['/bin', '/lib', '/lib64']) await symlink(await readlink(path), join(root, path));
  const mounts = mounted.map((path) => `mount --rbind '${path}' '${join(root, path)}'`).join(' && ');
  const namespaces = process.getuid?.() === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
  const enter = `${mounts} && cd '${dirname(repository)}' && exec chroot '${root}' "$0" "$@"`;
  return { command: 'unshare', args: [...namespaces, '/bin/sh', '-c', enter, ...command] };
}

function statusOf(url: string, bearer: string | undefined): Promise<number> {
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  // Probes do not verify certificates (kubernetes.io/docs, "HTTP probes").
  const options = { headers, agent: false, rejectUnauthorized: false, signal: AbortSignal.timeout(10_000) };
  return new Promise((resolve, reject) => {
    request(url, options, (incoming) => {
      incoming.resume();
      incoming.once('end', () => resolve(incoming.statusCode ?? 0));
      incoming.once('error', reject);
    })
      .once('error', reject)
      .end();
  });
}
