import { ServerBook } from '../../../src/servers/server-book.ts';

/** A book of servers, all ready, with a clock of its own, and what a test does to them. */
export function probedHealth(...ids: readonly string[]) {
  let now = 0;
  const health = new ServerBook({ rise: 1, fall: 3, monotonic: () => now });
  const probe = (id: string, outcome: 'ready' | 'changed' | 'not-ready') => {
    health.probing(id);
    health.probed(id, outcome);
  };
  for (const id of ids) {
    health.follow(id);
    probe(id, 'ready');
  }
  const lose = (id: string) => {
    health.connectionLost(id);
    probe(id, 'not-ready');
  };
  return { health, probe, lose, pass: (milliseconds: number) => (now += milliseconds) };
}
