import type { Destination } from '../../request/destination.ts';
import type { OtherVersion } from '../../request/inbound.ts';
import { chooseServer, type ServerState } from '../../routing/choose-server.ts';
import type { VersionChoice } from '../../routing/decision.ts';
import { isOlder } from '../../routing/preferred-version.ts';
import type { RoutingServer } from '../../snapshot/routing-table/routing-table.ts';
import { peerDestination } from './destinations.ts';

/** Who may get a request: as a decision says it. */
export interface Candidates {
  readonly candidates: readonly RoutingServer[];
  readonly versions?: VersionChoice | undefined;
}

export interface Choice {
  readonly server: RoutingServer;
  /** `undefined`: it has no address. */
  readonly destination: Destination | undefined;
  /** The version that responds in place of the preferred one; left out where it does not matter, or it is that one. */
  readonly otherVersion?: OtherVersion;
}

export interface ServerChoiceOptions {
  readonly state: ServerState;
  readonly random: () => number;
  /** Ended, and not ready yet: refuses what it should not. */
  readonly isRestarting: (id: string) => boolean;
  /** Left out in the gateway form. */
  readonly local: Destination | undefined;
}

/** Chooses among the servers that a decision names, by what is known of them now. */
export class ServerChoice {
  readonly #options: ServerChoiceOptions;

  constructor(options: ServerChoiceOptions) {
    this.#options = options;
  }

  /**
   * One of the candidates; where the version matters and no candidate is healthy, one of the next version that has a
   * healthy server. With no healthy server at all a candidate is tried all the same: its `/readyz` may be wrong.
   * @param except one that was tried already
   */
  choose({ candidates, versions }: Candidates, except?: RoutingServer): Choice | undefined {
    const first = this.#usable(candidates, except);
    if (versions === undefined) return first && this.#choiceOf(first);
    if (first !== undefined && !this.#options.state.isAvoided(first.id)) {
      return this.#choiceOf(first, versions, versions.asked);
    }
    let last = first && this.#choiceOf(first, versions, versions.asked);
    for (const { minor, reachable } of versions.others) {
      if (versions.neverOlder && isOlder(minor, versions.preferred)) continue;
      const other = this.#usable(reachable, except);
      if (other === undefined) continue;
      if (!this.#options.state.isAvoided(other.id)) return this.#choiceOf(other, versions, minor);
      last ??= this.#choiceOf(other, versions, minor);
    }
    return last;
  }

  /** Whether somebody could be asked, but for servers of older versions, which must not be. */
  isHeldBack({ candidates, versions }: Candidates): boolean {
    return (
      versions?.neverOlder === true &&
      this.choose({ candidates, versions }) === undefined &&
      this.choose({ candidates, versions: { ...versions, neverOlder: false } }) !== undefined
    );
  }

  /**
   * One that is not restarting. A server that has ended and is not ready yet would refuse what it should not: its false
   * 403 ends a client's work, a 503 with Retry-After has it ask again. Every other unhealthy server is used when nothing
   * else is left, for its `/readyz` may be wrong.
   */
  #usable(candidates: readonly RoutingServer[], except?: RoutingServer): RoutingServer | undefined {
    const { state, random, isRestarting } = this.#options;
    const chosen = chooseServer(candidates, state, random, except);
    if (chosen === undefined || !isRestarting(chosen.id)) return chosen;
    const usable = candidates.filter((candidate) => candidate !== except && !isRestarting(candidate.id));
    return chooseServer(usable, state, random);
  }

  #choiceOf(server: RoutingServer, versions?: VersionChoice, minor?: string): Choice {
    const { local } = this.#options;
    const destination = server.id === local?.id ? local : peerDestination(server);
    if (versions === undefined || minor === versions.preferred) return { server, destination };
    return { server, destination, otherVersion: { minor, isOlder: isOlder(minor, versions.preferred) } };
  }
}

/** All servers that a decision names, of any version. */
export function everyCandidate({ candidates, versions }: Candidates): readonly RoutingServer[] {
  if (versions === undefined || versions.others.length === 0) return candidates;
  return [...candidates, ...versions.others.flatMap(({ reachable }) => reachable)];
}
