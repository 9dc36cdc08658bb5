import type { RoutersView } from '../../own-paths/routers/routers-view.ts';
import { CommandFailure } from '../terminal/command-context.ts';
import { readRoutersView, readStatus } from './ask-router.ts';
import type { RouterConnection } from './router-connection.ts';

/** Routers and, where they were asked for all, those that they found. */
type ReadRouters = Pick<RoutersView, 'routers' | 'notAsked'>;

/** Of a router that does not tell, the reason is part of what is returned. */
export async function readRouters(
  connections: readonly RouterConnection[],
  { all }: { readonly all: boolean },
): Promise<ReadRouters> {
  return joined(await Promise.all(connections.map(all ? readAll : readOne)));
}

function readOne(connection: RouterConnection): Promise<ReadRouters> {
  return orReason(connection, async () => {
    const status = await readStatus(connection);
    const { origin: server } = connection;
    return { routers: [{ server, serverId: status.serverId, error: null, status }], notAsked: [] };
  });
}

/** It asks the others in the caller's name (`v1/routers`), and tells of itself first. */
function readAll(connection: RouterConnection): Promise<ReadRouters> {
  return orReason(connection, async () => {
    const { routers, notAsked } = await readRoutersView(connection);
    const [own, ...others] = routers;
    return { routers: own === undefined ? [] : [{ ...own, server: connection.origin }, ...others], notAsked };
  });
}

async function orReason(
  { origin }: RouterConnection,
  read: () => Promise<ReadRouters>,
): Promise<ReadRouters> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const reason = error.lines.join('; ');
    return { routers: [{ server: origin, serverId: null, error: reason, status: null }], notAsked: [] };
  }
}

/**
 * What several routers say, each first of itself: its own word on itself counts, then what any heard of another. Pure.
 */
export function joined(views: readonly ReadRouters[]): ReadRouters {
  const given = views.flatMap(({ routers }) => routers.slice(0, 1));
  const told = new Set(given.map(({ serverId }) => serverId));
  const heard = views
    .flatMap(({ routers }) => routers.slice(1))
    .filter(({ serverId }) => !told.has(serverId));
  const others = [...Map.groupBy(heard, ({ serverId }) => serverId).values()].flatMap(
    (group) => group.find(({ status }) => status !== null) ?? group.slice(0, 1),
  );
  const known = new Set([...told, ...others.map(({ serverId }) => serverId)]);
  const notAsked = new Set(views.flatMap((view) => view.notAsked).filter((id) => !known.has(id)));
  return { routers: [...given, ...others], notAsked: [...notAsked].sort() };
}
