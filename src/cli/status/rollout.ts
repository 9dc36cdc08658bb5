import type { Segment } from '../terminal/styled-text.ts';
import type { RouterOfServer } from './routers-view.ts';

/** Where a router and the kube-apiserver beside it listen. */
interface Place {
  readonly host: string;
  readonly ports: string;
}

/**
 * How far a control plane is whose routers find their kube-apiserver by its static pod (`install kubeadm`): on how many
 * nodes, on which ports, and whether it is half way. `undefined` where that is not how they were installed. Pure.
 * @param notAsked IDs of servers whose routers are not known
 */
export function rolloutText(
  routers: readonly RouterOfServer[],
  notAsked: readonly string[],
): Segment | undefined {
  const places = routers.flatMap(placeOf);
  if (places.length === 0) return undefined;
  const missing = routers
    .filter(({ status }) => status === null)
    .map(({ server }) => new URL(server).hostname);
  const byPorts = [...Map.groupBy(places, ({ ports }) => ports)];
  const told = byPorts.map(([ports, group]) =>
    byPorts.length === 1 ? ports : `${ports} on ${group.map(({ host }) => host).join(', ')}`,
  );
  const all = places.length + missing.length + notAsked.length;
  const text = `${places.length} of ${all} nodes: ${told.join('; ')}`;
  if (byPorts.length > 1) {
    return {
      text: `half way, ${text}. Finish with install kubeadm --take-port on each node, or go back with --undo`,
      style: 'warning',
    };
  }
  if (missing.length > 0)
    return { text: `${text}; no router found on ${missing.join(', ')}`, style: 'warning' };
  return notAsked.length > 0 ? { text, style: 'warning' } : text;
}

function placeOf({ server, status }: RouterOfServer): readonly Place[] {
  const local = status?.found.find(({ flag }) => flag === '--local-server');
  if (local === undefined) return [];
  const [own, other] = [server, local.value].map((origin) => new URL(origin).port || '443');
  return [{ host: new URL(server).hostname, ports: `router ${own}, kube-apiserver ${other}` }];
}
