/** Milliseconds that a head waits for the beginning of a body that it announces. */
const headAlone = 5;

/** The head of an answer that may still be sent together with the beginning of its body. */
export interface HeldHead {
  readonly isHeld: boolean;
  /** Whether a body of a length is to come. */
  readonly announcesBody: boolean;
  flush(): void;
}

/**
 * A watch has a head long before its first event: it is sent at once, but not apart from a body that is here already. Of
 * a short answer all has come by the next tick, which costs less than a turn of the event loop.
 */
export function flushUnlessFollowed(head: HeldHead): void {
  process.nextTick(look, head);
}

function look(head: HeldHead): void {
  if (head.isHeld) setImmediate(head.announcesBody ? flushSoon : flush, head);
}

function flush(head: HeldHead): void {
  head.flush();
}

/** An announced body follows in the server's next write: sent apart, the head would be a TLS record of its own. */
function flushSoon(head: HeldHead): void {
  if (head.isHeld) setTimeout(flush, headAlone, head);
}
