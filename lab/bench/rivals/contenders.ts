import type { Workbench } from '../workbench.ts';
import type { Contender, ContenderName } from './contender.ts';
import { goProxy, goProxyHttp2 } from './go-proxy.ts';
import { haproxy, haproxyHttp2 } from './haproxy.ts';
import { nginx } from './nginx.ts';
import { router } from './router.ts';

/** No proxy: what load generator and server take without one. */
const direct: Contender = {
  name: 'direct',
  title: 'no proxy',
  version: async () => '',
  command: undefined,
};

/** In the order of the tables. */
const contenders: readonly Contender[] = [
  direct,
  router,
  haproxy,
  haproxyHttp2,
  nginx,
  goProxy,
  goProxyHttp2,
];

/** A contender that is there, with its version. */
export interface Entrant {
  readonly contender: Contender;
  readonly version: string;
}

/** Installed contenders of `names` and `also`, and the names of those that are not installed. */
export async function enter(
  names: readonly ContenderName[],
  also: readonly Contender[],
  workbench: Workbench,
): Promise<{ readonly entrants: readonly Entrant[]; readonly missing: readonly ContenderName[] }> {
  const asked = [...contenders.filter(({ name }) => names.includes(name)), ...also];
  const found = await Promise.all(
    asked.map(async (contender) => ({ contender, version: await contender.version(workbench) })),
  );
  return {
    entrants: found.filter((entrant): entrant is Entrant => entrant.version !== undefined),
    missing: found.filter(({ version }) => version === undefined).map(({ contender }) => contender.name),
  };
}

/** Title of a contender in tables. */
export function titleOf(name: ContenderName): string {
  return contenders.find((contender) => contender.name === name)?.title ?? name;
}
