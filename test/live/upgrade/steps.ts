import type { ApiServerBinary } from '../assets.ts';

/** One server is stopped and comes back with another binary. */
export interface UpgradeStep {
  readonly server: 'a' | 'b' | 'c';
  readonly binary: ApiServerBinary;
}

export const stops = ['SIGTERM', 'SIGKILL'] as const;
export type Stop = (typeof stops)[number];

/** `a=1.36,b=1.36` by these binaries. */
export function parseSteps(text: string, binaries: readonly ApiServerBinary[]): readonly UpgradeStep[] {
  return text.split(',').map((step) => {
    const [server, version] = step.split('=');
    if (server !== 'a' && server !== 'b' && server !== 'c') throw new TypeError(`${step}: a=, b= or c=`);
    return { server, binary: binaryOf(version, binaries) };
  });
}

export function binaryOf(version: string | undefined, binaries: readonly ApiServerBinary[]): ApiServerBinary {
  const found = binaries.find((binary) => binary.version === version);
  if (found === undefined) throw new TypeError(`no kube-apiserver ${version} among the binaries`);
  return found;
}

/** The minor version that most servers have, the newer one when equal: what routers prefer by default. */
export function majorityOf(minors: readonly number[]): number {
  const count = (minor: number) => minors.filter((other) => other === minor).length;
  return [...minors].sort((a, b) => count(b) - count(a) || b - a)[0] ?? 0;
}
