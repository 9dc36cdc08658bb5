import { dirname, join } from 'node:path';
import { parseCertificates } from '../../node/callers/pem-files.ts';
import { type RouterFlag, routerSettings } from '../../node/configuration/router-settings.ts';
import type { Listening } from '../../node/configuration/serve-config.ts';
import { settingsOf, shownText } from '../../node/configuration/setting.ts';
import { isLoopback } from '../../node/serving/default-interface.ts';
import { fileErrorMessage } from '../../runtime/errors.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import { withPaths } from '../settings/configuration-file.ts';
import type { GivenValue, GivenValues, ReadTextFile, SettingIssue } from '../settings/read-settings.ts';
import {
  type KubeApiServerManifest,
  kubeApiServerManifestPath,
  parseKubeApiServerManifest,
} from './kube-apiserver-manifest.ts';

export interface FoundSettings {
  readonly values: GivenValues;
  readonly issues: readonly SettingIssue[];
  /** Differences of the router from the kube-apiserver. */
  readonly warnings: readonly SettingIssue[];
  readonly manifest?: { readonly path: string; readonly text: string };
  /** Why nothing was found, for those who miss it. */
  readonly note?: string;
}

/**
 * Flags that are found together or not at all: of two that depend on each other one must not be somebody's and the
 * other one found, and who says anything about authentication says all of it.
 */
const together: readonly (readonly RouterFlag[])[] = [
  ['tls-cert-file', 'tls-private-key-file'],
  ['proxy-client-cert-file', 'proxy-client-key-file'],
  [
    'client-ca-file',
    'requestheader-client-ca-file',
    'requestheader-allowed-names',
    'requestheader-username-headers',
    'requestheader-uid-headers',
    'requestheader-group-headers',
    'requestheader-extra-headers-prefix',
  ],
];

const settingsByFlag = new Map(settingsOf(routerSettings).map((setting) => [setting.flag, setting]));

/**
 * Settings for a router that reads the cluster itself, from the kube-apiserver behind it: where that one listens, and
 * the files that it is given. Whatever is given wins. The server's ID is not here: the cluster tells it.
 */
export function findSettings(given: GivenValues, readFile: ReadTextFile): FoundSettings {
  const nothing = { values: new Map(), issues: [], warnings: [] };
  if (!readsForOneServer(given)) return nothing;
  const named = given.get('kube-apiserver-manifest')?.input;
  if (named === 'none') return nothing;
  const path = typeof named === 'string' ? named : kubeApiServerManifestPath;
  const read = readManifest(path, named !== undefined, readFile);
  if (!('parsed' in read)) return { ...nothing, ...read };
  const { text, parsed: manifest } = read;
  const values = new Map<string, GivenValue>();
  const issues: SettingIssue[] = [];
  const warnings: SettingIssue[] = [];
  const add = (flag: RouterFlag, input: unknown, source: string): void => {
    if (given.has(flag) || input === undefined) return;
    values.set(flag, { input, shown: shownText(input), source: { kind: 'found', text: source } });
  };
  const addSame = (flag: RouterFlag): void => {
    const source = `--${flag} of kube-apiserver in ${path}`;
    if (given.has(flag)) return;
    if (manifest.unknown.has(flag)) {
      // A header name that the router does not know would let clients name users to kube-apiserver.
      const message = `--kube-apiserver-manifest: ${path} takes --${flag} from an environment variable, which only the kubelet knows: give --${flag}, and the flags that go with it`;
      issues.push({ flag: `--${flag}`, message });
      return;
    }
    add(flag, foundInput(manifest, flag), source);
  };

  const minimum = manifest.flags.get('tls-min-version') ?? '';
  // A router that was given these would not start; nobody has asked it for them.
  if (!given.has('tls-min-version') && ['VersionTLS10', 'VersionTLS11'].includes(minimum)) {
    const message = `--tls-min-version: VersionTLS12 is used, since the router takes no ${minimum} (found: ${path})`;
    warnings.push({ flag: '--tls-min-version', message });
  } else addSame('tls-min-version');
  addSame('tls-sni-cert-key');
  // Clients that need more on one connection had it raised (kubernetes/kubernetes#74412).
  addSame('http2-max-streams-per-connection');
  add('local-server', originOf(manifest.flags), `--secure-port of kube-apiserver in ${path}`);
  const authenticating = [...settingsByFlag.values()].filter(({ about }) => about.authenticates);
  for (const flags of together) {
    const isAuthentication = flags.includes('client-ca-file');
    const isAnyGiven = isAuthentication && authenticating.some(({ flag }) => given.has(flag));
    if (isAnyGiven || flags.some((flag) => given.has(flag))) continue;
    for (const flag of flags) addSame(flag);
  }
  if (manifest.flags.has('peer-ca-file')) addSame('peer-ca-file');
  else add('peer-ca-file', ...servingAuthority(manifest, readFile));
  return { values, issues, warnings, ...(values.has('local-server') ? { manifest: { path, text } } : {}) };
}

function readManifest(
  path: string,
  isNamed: boolean,
  readFile: ReadTextFile,
): { readonly text: string; readonly parsed: KubeApiServerManifest } | Partial<FoundSettings> {
  try {
    const text = readFile(path);
    return { text, parsed: parseKubeApiServerManifest(text) };
  } catch (error) {
    const isRead = error instanceof TypeError;
    const reason = isRead ? error.message : `cannot be read: ${fileErrorMessage(error)}`;
    // Another layout than kubeadm's, or files that are root's alone: a must only for those who give less than all.
    if (!isNamed && !isRead) {
      return {
        note: `nothing was found either: ${path}, where kubeadm has the manifest of kube-apiserver, ${reason}`,
      };
    }
    const message = `--kube-apiserver-manifest: ${path} ${reason}; set it to none to have nothing found there, and give the flags`;
    return { issues: [{ flag: '--kube-apiserver-manifest', message }] };
  }
}

/** True if a router reads the cluster itself, and stands in front of one server of it. */
export function readsForOneServer(given: GivenValues): boolean {
  const isOn = (flag: RouterFlag) => given.get(flag)?.input === true;
  return (given.has('kubeconfig') || isOn('in-cluster')) && !isOn('gateway');
}

/** A flag of kube-apiserver as a configuration file would have it; `undefined`: it has none, or its files are not on this node. */
function foundInput({ valuesOf, hostPath }: KubeApiServerManifest, flag: RouterFlag): unknown {
  const occurrences = valuesOf(flag);
  const takes = settingsByFlag.get(flag)?.takes;
  if (occurrences.length === 0 || takes === undefined) return undefined;
  const input = takes.given(occurrences);
  if (takes.isPath !== true) return input;
  if (!Array.isArray(input)) return withPaths(input, hostPath);
  // A pair that only the container has is left out.
  const isWhole = (pair: unknown) =>
    typeof pair === 'object' && pair !== null && !Object.values(pair).includes(undefined);
  const pairs = input
    .map((pair) => (typeof pair === 'string' ? pair : withPaths(pair, hostPath)))
    .filter(isWhole);
  return pairs.length === 0 ? undefined : pairs;
}

/**
 * The authority of the serving certificates, which no flag of kube-apiserver names: `ca.crt` next to the certificate,
 * where kubeadm has it, if it has really signed that certificate.
 */
function servingAuthority(
  manifest: KubeApiServerManifest,
  readFile: ReadTextFile,
): [path: string | undefined, source: string] {
  const serving = foundInput(manifest, 'tls-cert-file');
  if (typeof serving !== 'string') return [undefined, ''];
  const path = join(dirname(serving), 'ca.crt');
  try {
    const certificatesIn = (source: string) => parseCertificates({ pem: readFile(source), source });
    const chain = certificatesIn(serving);
    const isIssuer = certificatesIn(path).some((authority) =>
      chain.some((each) => each.checkIssued(authority) && each.verify(authority.publicKey)),
    );
    return [isIssuer ? path : undefined, `has signed kube-apiserver's ${serving}`];
  } catch {
    // Not found, so the flag is missing. An unreadable certificate is reported under its own flag.
    return [undefined, ''];
  }
}

/** On this machine: where it listens everywhere, by loopback. */
export function originOf(flags: ReadonlyMap<string, string>): string {
  const port = flags.get('secure-port') ?? '6443';
  const address = flags.get('bind-address') ?? '0.0.0.0';
  return `https://${joinHostPort(['0.0.0.0', '::', ''].includes(address) ? '127.0.0.1' : address, port)}`;
}

export const repeatInstallation =
  'kubeadm moves it there when it upgrades without --patches /etc/kubernetes/patches: then repeat mixed-version-proxy install kubeadm on this node';

export function isOwnPort(origin: string, { bindAddress, port }: Listening): boolean {
  const { hostname, port: ownPort } = new URL(origin);
  const isEverywhere = bindAddress === '0.0.0.0' || bindAddress === '::';
  const isHere = hostname === bindAddress || (isEverywhere && isLoopback(hostname));
  return isHere && Number(ownPort || 443) === port;
}

/**
 * Why a router cannot go on by what the manifest says now in which it has found its local server; `undefined`: it can.
 * Pure.
 * @param inUse where the router reaches that server
 * @throws {TypeError} what is wrong with the manifest
 */
export function movedServer(manifest: string, inUse: string, listening: Listening): string | undefined {
  const origin = originOf(parseKubeApiServerManifest(manifest).flags);
  if (origin === inUse) return undefined;
  if (isOwnPort(origin, listening)) {
    return `kube-apiserver is to listen on ${listening.port}, where the router listens. ${repeatInstallation}`;
  }
  return `kube-apiserver is to listen at ${origin}, and the router reaches it at ${inUse}: restart the router`;
}
