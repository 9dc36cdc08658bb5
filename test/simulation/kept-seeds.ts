/** Seeds in which a promise was once broken, with what was wrong. They stay in the tests. */
export const keptSeeds = [
  {
    seed: 8,
    was: 'a watch stayed at an old server to which it had gone while the local one was down, and its client wrote back objects without new fields',
  },
  { seed: 1, was: 'the same happened with snapshots that are pushed' },
  {
    seed: 3_026,
    was: 'a router that nobody reached found every server silent but the last, which was the one that had been upgraded meanwhile',
  },
  {
    seed: 154,
    was: 'a server that was replaced between two readings counted before it was ready, and two changes of one server were taken for one: a field was lost',
  },
  {
    seed: 110,
    was: 'a watch was not ended before the version changed, as its new server was not ready again yet: a field was lost',
  },
  {
    seed: 105,
    was: 'a watch that was opened in its turn did not wait for the next change: a field was lost',
  },
  {
    seed: 14,
    was: 'requests that had waited for a probe, or came after a GOAWAY that was late, went to the server’s next process',
  },
  {
    seed: 97,
    was: 'a server that came back with another feature gate was taken for the one before while the sync job was down',
  },
  { seed: 5, was: 'a router that started without a snapshot wrote to its local server, of whatever version' },
  { seed: 121, was: 'a router that began to read a cluster of two versions wrote to the newer one at once' },
  {
    seed: 76,
    was: 'a router believed its first pushed snapshot, which was from before its local server was upgraded',
  },
  {
    seed: 197,
    was: 'a server went back when all were of the next version, and counted at once, by a change from before',
  },
  {
    seed: 381,
    was: 'a server that changed twice before the first change counted responded at its last version once the one in between did',
  },
  {
    seed: 348,
    was: 'the same, where a router that was restarted did not know whether that had counted for others',
  },
  { seed: 247, was: 'a second try went to the next process of a server, without a probe of that' },
  { seed: 20, was: 'a router that had been cut off in a cluster of one version wrote by what it knew' },
  { seed: 109, was: 'a router took the process behind a server that had been silent for the one before' },
  {
    seed: 157,
    was: 'a write that lay in a partition, on a connection of earlier credentials, was carried out when that ended: a field was lost',
  },
  {
    seed: 450,
    was: 'a router whose clock was set back forgot a change of versions that was to come',
  },
  {
    seed: 511,
    was: 'requests waited for one change after the other, where the address of a server was known before its ID',
  },
  {
    seed: 598,
    was: 'a router that began while a server was away took it for a new one when that came back',
  },
  {
    seed: 1_795_997_147_205,
    was: 'a server went back before its version counted; who knew of it passed that over, and who did not went to another server of it',
  },
  {
    seed: 47,
    was: 'a router that had begun did not end a watch before the version changed: a field was lost',
  },
  { seed: 71, was: 'a snapshot got younger a minute after anything was read' },
  {
    seed: 131,
    was: 'the Lease of a process was seen after its version, and all writes waited for ten seconds',
  },
  {
    seed: 146,
    was: 'a router that had been cut off for a minute took its old snapshot for a word on servers that were silent',
  },
  {
    seed: 272,
    was: 'a router that knew of a change late did not wait, as its own version stayed; others had changed in between',
  },
  {
    seed: 13,
    was: 'a server was another version for some seconds: a router that had heard so took its later answers for proof that nothing had changed',
  },
  {
    seed: 250,
    was: 'a router that was back wrote by a snapshot of before, though servers said that they were others',
  },
  {
    seed: 1_796_024_505_170,
    was: 'a router that had stood still looked once for watches to move, before it knew any server again: a field was lost',
  },
  {
    seed: 1_796_025_350_025,
    was: 'the same, where servers differ by a feature gate',
  },
  {
    seed: 1_796_024_505_132,
    was: 'the certificate of a host that had been down was read again seconds after its server was ready: everything waited twice',
  },
  {
    seed: 1_796_025_350_023,
    was: 'a reader waited for a host that had been down while the router had a response from there: a leader lost its Lease',
  },
  {
    seed: 1_796_024_505_192,
    was: 'a server that ended refused its index first: one reader forgot what it had been, and that it changed',
  },
  {
    seed: 1_796_022_384_190,
    was: 'a router that had stood still passed on events of the version before: a field was lost',
  },
  {
    seed: 281,
    was: 'a router that nobody told what a server had become read by the version before, and did not say so',
  },
  {
    seed: 374,
    was: 'a snapshot with more schemas was taken for an answer to what a server had said of itself, and nobody waited',
  },
  {
    seed: 1_796_069_969_056,
    was: 'a server that was silent after it had said that it was another version stood in nobody’s way',
  },
  {
    seed: 1_796_073_685_081,
    was: 'a snapshot that came shortly before a version changed put off the end of a watch: a field was lost',
  },
  {
    seed: 1_796_074_508_120,
    was: 'a router that was started anew did not know that a server had been another one meanwhile',
  },
  {
    seed: 1_796_074_508_180,
    was: 'a write went to a server that does not count yet, since one that counts had lost a connection',
  },
  {
    seed: 1_796_074_508_130,
    was: 'what depends on the version waited for a server that could not change the majority',
  },
  {
    seed: 1_796_076_550_074,
    was: 'a router that was cut off from a server missed that two processes ran it one after the other',
  },
  {
    seed: 1_796_022_384_019,
    was: 'a router that had missed a process of a server went by what it was before',
  },
  {
    seed: 1_796_600_000_079,
    was: 'a router that had been cut off wrote by another version before it had found the servers that its reader had read',
  },
  {
    seed: 1_796_800_000_124,
    was: 'news of a Lease that came late had a router read on by the version before, of a server that had told it its own',
  },
  {
    seed: 1_796_800_000_867,
    was: 'a sync job that was started anew had routers take a server that was still starting for the one of before',
  },
] as const;

/** A fixed set, by what happens in them: each sort of fault is in one. */
export const quietSeeds = [2, 3, 6, 9, 16, 22] as const;
