import { execFile } from 'node:child_process';
import * as v from 'valibot';
import type { PemPair } from '../../node/credentials/credentials.ts';
import { errorMessage } from '../../runtime/errors.ts';
import type { ExecPlugin, KubeconfigCluster } from './kubeconfig.ts';

interface PluginCredentials {
  readonly token: string | undefined;
  readonly clientCertificate: PemPair | undefined;
}

const text = v.nullish(v.string(), '');
const execCredential = v.object({
  status: v.object({
    token: text,
    clientCertificateData: text,
    clientKeyData: text,
    expirationTimestamp: text,
  }),
});

/**
 * How long credentials are used that have no expiry. Milliseconds. client-go asks for others when it gets a 401, of which
 * nothing is heard here: a token that expires all the same would be sent until the next start.
 */
const withoutExpiry = 60_000;

/** Milliseconds that a plugin may run. client-go waits for ever, as somebody may have to type: here nobody can. */
const longestRun = 30_000;

/** A token is some kilobytes; nothing that is larger is one. */
const outputBytes = 1024 * 1024;

/**
 * Runs an exec plugin (k8s.io/client-go plugin/pkg/client/auth/exec) whenever what it gave has expired: without an expiry
 * after a minute. It runs once at a time: who asks meanwhile waits for the run that is under way.
 *
 * @param cluster that it is told of, where it wants to be (`provideClusterInfo`)
 * @param timeLimit milliseconds after which it is ended. Default 30,000
 * @returns what asks it; it throws an error whose message is a predicate that follows the plugin's name. Of the plugin's
 *   output it tells nothing, which may hold a token; of what it says on standard error everything
 */
export function execPluginCredentials(
  plugin: ExecPlugin,
  cluster: KubeconfigCluster,
  certificateAuthorities: () => Promise<string | undefined>,
  timeLimit = longestRun,
): () => Promise<PluginCredentials> {
  let last: { readonly credentials: PluginCredentials; readonly expires: number } | undefined;
  let underWay: Promise<PluginCredentials> | undefined;
  const renewed = async (): Promise<PluginCredentials> => {
    const info = plugin.provideClusterInfo ? clusterInfo(cluster, await certificateAuthorities()) : {};
    last = readOutput(await run(plugin, { interactive: false, ...info }, timeLimit));
    return last.credentials;
  };
  return async () => {
    if (last !== undefined && last.expires > Date.now()) return last.credentials;
    underWay ??= renewed().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}

/** As the plugins' API has it (k8s.io/client-go pkg/apis/clientauthentication/v1 Cluster). */
function clusterInfo(cluster: KubeconfigCluster, certificateAuthorities: string | undefined): object {
  return {
    cluster: {
      server: cluster.server,
      'tls-server-name': cluster.tlsServerName,
      'certificate-authority-data':
        certificateAuthorities === undefined
          ? undefined
          : Buffer.from(certificateAuthorities).toString('base64'),
    },
  };
}

function run(
  { apiVersion, command, args, env, installHint }: ExecPlugin,
  spec: object,
  timeLimit: number,
): Promise<string> {
  const environment = {
    ...process.env,
    ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
    KUBERNETES_EXEC_INFO: JSON.stringify({ apiVersion, kind: 'ExecCredential', spec }),
  };
  return new Promise((resolve, reject) => {
    // SIGKILL: a plugin that hangs may not heed anything else.
    const options = {
      env: environment,
      maxBuffer: outputBytes,
      timeout: timeLimit,
      killSignal: 'SIGKILL',
    } as const;
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else if (child.pid === undefined) {
        reject(new Error(`cannot be run: ${errorMessage(error)}${installHint ? `. ${installHint}` : ''}`));
      } else {
        const words = oneLine(stderr) || 'it says nothing on standard error';
        const hasHung = child.signalCode === 'SIGKILL' && child.killed;
        reject(
          new Error(
            `${hasHung ? `did not end within ${timeLimit / 1000} s and was killed` : 'failed'}: ${words}`,
          ),
        );
      }
    });
    // There is nobody to type: one that asks is told that there is no more input.
    child.stdin?.on('error', () => undefined).end();
  });
}

function oneLine(told: string): string {
  return told.trim().replaceAll(/\s*\n\s*/g, '; ');
}

function readOutput(output: string): { readonly credentials: PluginCredentials; readonly expires: number } {
  const read = v.safeParse(execCredential, parseJson(output));
  if (!read.success) throw new Error('wrote something else than an ExecCredential with its status');
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = read.output.status;
  const hasPair = clientCertificateData !== '' && clientKeyData !== '';
  if (token === '' && !hasPair) throw new Error('gave neither a token nor a certificate with its key');
  const expires = Date.parse(expirationTimestamp);
  return {
    credentials: {
      token: token || undefined,
      clientCertificate: hasPair ? { certificate: clientCertificateData, key: clientKeyData } : undefined,
    },
    expires: Number.isNaN(expires) ? Date.now() + withoutExpiry : expires,
  };
}

function parseJson(output: string): unknown {
  try {
    return JSON.parse(output);
  } catch {
    // Without the parser's message, which quotes it.
    throw new Error('wrote something else than JSON');
  }
}
