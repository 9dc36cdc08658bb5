import { dirname, join } from 'node:path';
import * as v from 'valibot';
import { parseCertificates } from '../../node/callers/pem-files.ts';
import type { FoundSetting } from '../../own-paths/status/status-sources.ts';
import { fileErrorMessage } from '../../runtime/errors.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import { type FlagType, namedCertificatePairs, parseBoolean } from '../flags/flag-types.ts';
import { entriesOf, type FlagIssue, type ReadTextFile } from '../flags/flag-values.ts';
import {
  authenticatingFlags,
  type RawServeOptions,
  type ServeFlagName,
  serveFlags,
} from '../flags/serve-flags.ts';
import {
  type KubeApiServerManifest,
  kubeAdmManifest,
  parseKubeApiServerManifest,
} from './kube-apiserver-manifest.ts';
import { isAllowedSuite } from './serving-flags.ts';

/** Settings that were not given and were found on this machine. */
interface FoundSettings {
  readonly settings: readonly FoundSetting[];
  readonly issues: readonly FlagIssue[];
  /** What the router does differently from the kube-apiserver. */
  readonly warnings: readonly FlagIssue[];
  /** The manifest that `--local-server` was found in. */
  readonly manifest?: { readonly path: string; readonly text: string };
  /** Why nothing was found, for those who miss it. */
  readonly note?: string;
}

/**
 * Flags that are found together or not at all: of two that depend on each other one must not be somebody's and the
 * other one found, and who says anything about authentication says all of it.
 */
const together: readonly (readonly ServeFlagName[])[] = [
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

/**
 * What a router that reads the cluster itself can take from the kube-apiserver that it stands in front of: where that one
 * listens, and the files that it is given. Whatever is given wins. The server's ID is not here: the cluster tells it.
 */
export function findSettings(given: RawServeOptions, readFile: ReadTextFile): FoundSettings {
  const nothing = { settings: [], issues: [], warnings: [] };
  if (!readsForOneServer(given)) return nothing;
  const named = given['kube-apiserver-manifest']?.at(-1);
  if (named === 'none') return nothing;
  const path = named ?? kubeAdmManifest;
  let text: string;
  let manifest: KubeApiServerManifest;
  try {
    text = readFile(path);
    manifest = parseKubeApiServerManifest(text);
  } catch (error) {
    const isRead = error instanceof TypeError;
    const reason = isRead ? error.message : `cannot be read: ${fileErrorMessage(error)}`;
    // Another layout than kubeadm's, or files that are root's alone: a must only for those who give less than all.
    if (named === undefined && !isRead) {
      return {
        ...nothing,
        note: `nothing was found either: ${path}, where kubeadm has the manifest of kube-apiserver, ${reason}`,
      };
    }
    const message = `--kube-apiserver-manifest: ${path} ${reason}; set it to none to have nothing found there, and give the flags`;
    return { ...nothing, issues: [{ flag: '--kube-apiserver-manifest', message }] };
  }
  const settings: FoundSetting[] = [];
  const issues: FlagIssue[] = [];
  const add = (name: ServeFlagName, value: string | undefined, source: string): void => {
    if (given[name] === undefined && value !== undefined) settings.push({ flag: `--${name}`, value, source });
  };
  /** What kube-apiserver has under the same name; a file, where it is on this node. */
  const addSame = (name: ServeFlagName): void => {
    const source = `--${name} of kube-apiserver in ${path}`;
    if (given[name] !== undefined) return;
    if (manifest.unknown.has(name)) {
      // A header name that the router does not know would let clients name users to kube-apiserver.
      const message = `--kube-apiserver-manifest: ${path} takes --${name} from an environment variable, which only the kubelet knows: give --${name}, and the flags that go with it`;
      issues.push({ flag: `--${name}`, message });
    } else if (typeOf(name)?.kind === 'list') {
      for (const value of manifest.valuesOf(name)) settings.push({ flag: `--${name}`, value, source });
    } else add(name, foundValue(manifest, name), source);
  };

  // A router that took less than kube-apiserver would open its port to clients that it refuses.
  addSame('tls-min-version');
  addSame('tls-cipher-suites');
  for (const pair of namedPairsOf(manifest)) {
    add('tls-sni-cert-key', pair, `--tls-sni-cert-key of kube-apiserver in ${path}`);
  }
  add('local-server', originOf(manifest.flags), `--secure-port of kube-apiserver in ${path}`);
  for (const names of together) {
    const isGiven = (name: ServeFlagName): boolean => given[name] !== undefined;
    const isAuthentication = names.includes('client-ca-file');
    if (names.some(isGiven) || (isAuthentication && authenticatingFlags.some(isGiven))) continue;
    for (const name of names) addSame(name);
  }
  if (manifest.flags.has('peer-ca-file')) addSame('peer-ca-file');
  else add('peer-ca-file', ...servingAuthority(manifest, readFile));
  const isServerFound = settings.some(({ flag }) => flag === '--local-server');
  return { ...withoutOldTls(settings), issues, ...(isServerFound ? { manifest: { path, text } } : {}) };
}

/** As options. Given flags come after them and win. */
export function optionsOf(settings: readonly FoundSetting[]): RawServeOptions {
  const byName = Map.groupBy(settings, ({ flag }) => flag.replace(/^--/, ''));
  return Object.fromEntries([...byName].map(([name, found]) => [name, found.map(({ value }) => value)]));
}

/** Whether a router reads the cluster itself, and stands in front of one server of it. */
export function readsForOneServer(given: RawServeOptions): boolean {
  const isOn = (name: 'gateway' | 'in-cluster') => parseBoolean(given[name]?.at(-1) ?? 'false') === true;
  return (given.kubeconfig !== undefined || isOn('in-cluster')) && !isOn('gateway');
}

/**
 * kube-apiserver may be given TLS 1.0 and 1.1 and cipher suites that HTTP/2 forbids; a router that is given them does not
 * start. One that finds them does without, since nobody has asked the router for them.
 */
function withoutOldTls(found: readonly FoundSetting[]): Pick<FoundSettings, 'settings' | 'warnings'> {
  const warnings: FlagIssue[] = [];
  const warn = (flag: FlagIssue['flag'], setting: FoundSetting, message: string): void => {
    warnings.push({ flag, message: `${message} (found: ${setting.source})` });
  };
  const suites = found.filter(({ flag }) => flag === '--tls-cipher-suites');
  const usable = suites.flatMap((setting) => {
    const entries = entriesOf(typeOf('tls-cipher-suites'), setting.value).filter(isAllowedSuite);
    return entries.length === 0 ? [] : [{ ...setting, value: entries.join(',') }];
  });
  const forbidden = suites
    .flatMap(({ value }) => entriesOf(typeOf('tls-cipher-suites'), value))
    .filter((name) => !isAllowedSuite(name));
  const [first] = suites;
  if (first !== undefined && forbidden.length > 0) {
    const rest = usable.length === 0 ? 'none is left, so the default is used' : 'the others are used';
    const message = `--tls-cipher-suites: HTTP/2 does not allow ${forbidden.join(', ')}: ${rest}`;
    warn('--tls-cipher-suites', first, message);
  }
  const others = found.flatMap((setting): readonly FoundSetting[] => {
    if (setting.flag === '--tls-cipher-suites') return [];
    const isOld = /^VersionTLS1[01]$/.test(setting.value);
    if (setting.flag !== '--tls-min-version' || !isOld) return [setting];
    const message = `--tls-min-version: VersionTLS12 is used, since the router takes no ${setting.value}`;
    warn('--tls-min-version', setting, message);
    return [{ ...setting, value: 'VersionTLS12' }];
  });
  return { settings: [...others, ...usable], warnings };
}

function typeOf(name: ServeFlagName): FlagType | undefined {
  return serveFlags.find((flag) => flag.name === name)?.value;
}

function foundValue({ flags, hostPath }: KubeApiServerManifest, name: ServeFlagName): string | undefined {
  const value = flags.get(name);
  return value !== undefined && typeOf(name)?.isPath === true ? hostPath(value) : value;
}

/** The same pairs, by their paths on the node; those whose files are not there are left out. */
function namedPairsOf({ valuesOf, hostPath }: KubeApiServerManifest): readonly string[] {
  return valuesOf('tls-sni-cert-key').flatMap((value) => {
    const pair = v.safeParse(namedCertificatePairs.given, value);
    if (!pair.success) return [];
    const [certificate, key] = [hostPath(pair.output.certFile), hostPath(pair.output.keyFile)];
    if (certificate === undefined || key === undefined) return [];
    const { names } = pair.output;
    return [`${certificate},${key}${names.length === 0 ? '' : `:${names.join(',')}`}`];
  });
}

/**
 * The authority of the serving certificates, which no flag of kube-apiserver names: `ca.crt` next to the certificate,
 * where kubeadm has it, if it has really signed that certificate.
 */
function servingAuthority(
  manifest: KubeApiServerManifest,
  readFile: ReadTextFile,
): [path: string | undefined, source: string] {
  const serving = foundValue(manifest, 'tls-cert-file');
  if (serving === undefined) return [undefined, ''];
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
