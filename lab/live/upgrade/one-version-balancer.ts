import { freePort } from '../../../test/support/free-port.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { startHaproxy } from '../cluster/haproxy.ts';
import type { UpgradeStep } from './steps.ts';

/**
 * HAProxy in front of the same servers, in the two ways in which an operator shows clients one version without a router:
 * by hand, with one switch when most servers are new, and by itself, by what each server says at `/version`.
 */
export interface OneVersionBalancer {
  readonly oneVersion: string;
  readonly byVersion: string;
  /** The server of this step is about to end. */
  begins(step: number): Promise<void>;
  /** The server of this step is ready in its new version. */
  ended(step: number): Promise<void>;
}

/**
 * Servers that clients are led to: those that still wait for their turn until most are new, then the new ones. So clients
 * see one version, and a second one from one instant on. Pure.
 * @param order in which servers are upgraded
 * @param done steps that are done; the next one is under way
 */
export function serversInUse(order: readonly string[], done: number): readonly string[] {
  return done < mostOf(order) ? order.slice(done + 1) : order.slice(0, done);
}

function mostOf({ length }: readonly string[]): number {
  return Math.floor(length / 2) + 1;
}

export async function startOneVersionBalancer(
  { servers, certificates, directory, endWith }: ControlPlane,
  steps: readonly UpgradeStep[],
): Promise<OneVersionBalancer> {
  const order = steps.map(({ server }) => server);
  if (new Set(order).size !== servers.length || order.length !== servers.length) {
    throw new TypeError('one-version-balancer is for an upgrade in which each server has one step');
  }
  const ports = [await freePort(), await freePort()];
  const lines = servers.map(({ name, address, port }) => `  server ${name} ${address}:${port}`).join('\n');
  const minors = [servers[0]?.binary().minor, steps.at(-1)?.binary.minor].map((minor) =>
    Math.floor(minor ?? 0),
  );
  const haproxy = await startHaproxy(
    directory,
    `defaults
  mode tcp
  timeout connect 1s
  timeout check 2s
  timeout client 1h
  timeout server 1h
  retries 3
  option redispatch 1
  balance roundrobin
  default-server check check-ssl verify required ca-file ${certificates.clusterCa} inter 1s fall 2 rise 1
frontend one-version
  bind 127.0.0.1:${ports[0]}
  default_backend one
backend one
  option httpchk GET /readyz
  http-check expect status 200
${lines}
frontend by-version
  bind 127.0.0.1:${ports[1]}
  use_backend old if { nbsrv(new) lt ${mostOf(order)} } { nbsrv(old) ge 1 }
  default_backend new
backend old
  option httpchk GET /version
  http-check expect rstring '"minor": *"${minors[0]}"'
${lines}
backend new
  option httpchk GET /version
  http-check expect rstring '"minor": *"${minors[1]}"'
${lines}
`,
  );
  endWith(() => haproxy.close());
  /** At one instant: the one thread of HAProxy carries out a line of commands before it does anything else. */
  const lead = async (names: readonly string[]) => {
    const out = order.filter((name) => !names.includes(name));
    const commands = [
      ...out.map((name) => `set server one/${name} state maint; shutdown sessions server one/${name}`),
      ...names.map((name) => `set server one/${name} state ready`),
    ];
    const answer = (await haproxy.ask(commands.join('; '))).trim();
    if (answer !== '') throw new Error(`haproxy: ${answer}`);
  };
  return {
    oneVersion: `https://127.0.0.1:${ports[0]}`,
    byVersion: `https://127.0.0.1:${ports[1]}`,
    begins: (step) => lead(serversInUse(order, step)),
    // Until most servers are new, a server that is back waits for the switch.
    ended: async (step) => {
      if (step + 1 >= mostOf(order)) await lead(serversInUse(order, step + 1));
    },
  };
}
