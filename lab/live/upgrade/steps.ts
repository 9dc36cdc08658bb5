import type { ApiServerBinary } from '../cluster/assets.ts';

/** One server is stopped and comes back with another binary. */
export interface UpgradeStep {
  readonly server: 'a' | 'b' | 'c';
  readonly binary: ApiServerBinary;
}

/** `SIGSTOP`: the server hangs, and is killed after a while. */
export const stops = ['SIGTERM', 'SIGKILL', 'SIGSTOP'] as const;
export type Stop = (typeof stops)[number];

/** `a=1.36,b=1.36@emulated-version=1.36` by these binaries; what follows each `@` is a flag. */
export function parseSteps(
  text: string,
  binaries: readonly ApiServerBinary[],
  start: ApiServerBinary,
): readonly UpgradeStep[] {
  return text.split(',').map((step) => {
    const [, server, version] = /^([abc])=(.+)$/.exec(step) ?? [];
    if (server !== 'a' && server !== 'b' && server !== 'c') throw new TypeError(`${step}: a=, b= or c=`);
    const binary = binaryOf(version, binaries);
    const isByFlags = binary.minor === start.minor && binary.version !== start.version;
    return { server, binary: isByFlags ? { ...binary, minor: binary.minor + 0.5 } : binary };
  });
}

/** @param text `1.36`, or with flags `1.36@emulated-version=1.35` */
export function binaryOf(text: string | undefined, binaries: readonly ApiServerBinary[]): ApiServerBinary {
  const [version, ...flags] = (text ?? '').split('@');
  const found = binaries.find((binary) => binary.version === version);
  if (found === undefined) throw new TypeError(`no kube-apiserver ${version} among the binaries`);
  if (text === undefined || flags.length === 0) return found;
  const emulated = /^emulated-version=1\.(\d+)$/;
  const minors = flags.flatMap((flag) => emulated.exec(flag)?.[1] ?? []);
  return {
    ...found,
    version: text,
    minor: Number(minors[0] ?? found.minor),
    flags: flags.map((flag) => `--${flag}`),
  };
}

/** True if such a server enforces a policy that it serves. */
export function enforcesPolicies({ flags = [] }: Pick<ApiServerBinary, 'flags'>): boolean {
  return !flags.includes('--feature-gates=MutatingAdmissionPolicy=false');
}

/** The minor version that most servers have, the newer one when equal: what routers prefer by default. */
export function majorityOf(minors: readonly number[]): number {
  const count = (minor: number) => minors.filter((other) => other === minor).length;
  return [...minors].sort((a, b) => count(b) - count(a) || b - a)[0] ?? 0;
}
