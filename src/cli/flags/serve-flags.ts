import {
  deploymentFormFlagGroup,
  embeddedSyncFlagGroup,
  healthFlagGroup,
  mixedVersionFlagGroup,
  snapshotFlagGroup,
} from './api-server-flag-groups.ts';
import { authenticationFlagGroup } from './authentication-flag-group.ts';
import type { FlagDefinition, RawOptions } from './flag.ts';
import { wholeNumber } from './flag-types.ts';
import type { FlagValues } from './flag-values.ts';
import { adminFlagGroup, servingFlagGroup } from './serving-flag-groups.ts';
import { logFlagGroup } from './shared-flag-groups.ts';
import { preferredVersionFlagGroup, trafficFlagGroup } from './traffic-flag-group.ts';

/**
 * The flags of `serve`, in the groups of its help. Names are kube-apiserver's wherever the meaning is the same
 * (k8s.io/apiserver pkg/server/options, pkg/controlplane/apiserver/options). Each has a key: without, it does not
 * compile.
 */
export const serveFlagGroups = [
  mixedVersionFlagGroup,
  embeddedSyncFlagGroup,
  snapshotFlagGroup,
  preferredVersionFlagGroup,
  deploymentFormFlagGroup,
  healthFlagGroup,
  servingFlagGroup,
  adminFlagGroup,
  trafficFlagGroup,
  authenticationFlagGroup,
  logFlagGroup('decision', wholeNumber(0, 10, 'level')),
] as const satisfies readonly { readonly heading: string; readonly flags: readonly ServeFlagDefinition[] }[];

interface ServeFlagDefinition extends FlagDefinition {
  readonly key: string;
}

/** Any of them. */
type ServeFlag = (typeof serveFlagGroups)[number]['flags'][number];

export type ServeFlagName = ServeFlag['name'];

/** What they come to in one call. */
export type ServeFlagValues = FlagValues<ServeFlag>;

/** What was given under each flag, as it was given, occurrence by occurrence. */
export type RawServeOptions = RawOptions<ServeFlagName>;

export const serveFlags: readonly (ServeFlagDefinition & { readonly name: ServeFlagName })[] =
  serveFlagGroups.flatMap(({ flags }) => [...flags]);

/** Where none of them is given, no caller is known. */
export const authenticatingFlags: readonly ServeFlagName[] = serveFlags.flatMap(({ name, authenticates }) =>
  authenticates === true ? [name] : [],
);

/**
 * Every flag of `serve` with the value in use: what was given, else the default, else nothing. Lists are joined by
 * commas, as they can be given.
 */
export function flagsInUse(raw: RawServeOptions): Readonly<Record<string, string>> {
  return Object.fromEntries(
    serveFlags
      .map((flag) => {
        const values = raw[flag.name];
        const value =
          flag.value.kind === 'list' ? values?.join(flag.value.isWhole ? ';' : ',') : values?.at(-1);
        return [flag.name, value ?? flag.default ?? ''] as const;
      })
      .sort(([left], [right]) => (left < right ? -1 : 1)),
  );
}
