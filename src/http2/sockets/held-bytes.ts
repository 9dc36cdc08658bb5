export interface Holder {
  giveUp(reason: string): void;
}

export interface HeldBytes {
  add(bytes: number): void;
}

export type Relief = 'refused' | 'ended';

/** A request may take this part of what is left: however much is held, small requests find room. */
const partOfRoom = 16;
/** Beyond this part something is given up, so that there is room for new requests. */
const heldAtMost = 7 / 8;

/**
 * One budget for all bytes that a process holds for others: incomplete heads, heads of requests without a response,
 * content that a server or a client does not take. Beyond it what can be done without goes first; then what makes no
 * progress ends: the oldest incomplete head, then the content that nobody has taken for the longest time. What flows is
 * never among these.
 */
export class MemoryBudget {
  readonly verified: BudgetShare;
  readonly others: BudgetShare;
  /** Is told of each relief. Must not throw. */
  onRelief: (relief: Relief) => void = () => {};
  readonly #maximum: number;
  #isDue = false;

  constructor(maximum: number) {
    this.#maximum = maximum;
    this.verified = new BudgetShare(this, maximum);
    this.others = new BudgetShare(this, maximum / 2);
  }

  get bytes(): number {
    return this.verified.bytes + this.others.bytes;
  }

  get isExceeded(): boolean {
    return this.bytes > this.#maximum * heldAtMost;
  }

  hasRoomFor(bytes: number): boolean {
    return bytes * partOfRoom <= this.#maximum - this.bytes;
  }

  /** Gives up what is too much, after the current turn: whoever holds it may be at work on it. */
  relieveSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#relieve();
    });
  }

  #relieve(): void {
    const { verified, others } = this;
    while (others.isExceeded && others.giveUpOne()) {}
    while (this.isExceeded) {
      const [larger, smaller] = verified.bytes > others.bytes ? [verified, others] : [others, verified];
      if (!larger.giveUpOne() && !smaller.giveUpOne()) return;
    }
  }
}

export class BudgetShare implements HeldBytes {
  readonly #budget: MemoryBudget;
  readonly #maximum: number;
  readonly #spare = new HoldingList();
  readonly #heads = new HoldingList();
  readonly #content = new HoldingList();
  bytes = 0;

  constructor(budget: MemoryBudget, maximum: number) {
    this.#budget = budget;
    this.#maximum = maximum;
  }

  get isExceeded(): boolean {
    return this.bytes > this.#maximum * heldAtMost;
  }

  hasRoomFor(bytes: number): boolean {
    return bytes * partOfRoom <= this.#maximum - this.bytes && this.#budget.hasRoomFor(bytes);
  }

  admits(bytes: number): boolean {
    const hasRoom = this.hasRoomFor(bytes);
    if (!hasRoom) this.#budget.onRelief('refused');
    return hasRoom;
  }

  /** Counts bytes that cannot be given up: of a request that is being served. */
  add(bytes: number): void {
    this.bytes += bytes;
    if (bytes > 0 && (this.isExceeded || this.#budget.isExceeded)) this.#budget.relieveSoon();
  }

  spare(holder: Holder): Holding {
    return new Holding(this, this.#spare, holder);
  }

  head(holder: Holder): Holding {
    return new Holding(this, this.#heads, holder);
  }

  content(holder: Holder): Holding {
    return new Holding(this, this.#content, holder);
  }

  giveUpOne(): boolean {
    const spare = this.#spare.first;
    if (spare !== undefined) {
      spare.giveUp();
      return true;
    }
    const oldest = this.#heads.first ?? this.#content.first;
    if (oldest === undefined) return false;
    this.#budget.onRelief('ended');
    oldest.giveUp();
    return true;
  }
}

export class Holding implements HeldBytes {
  readonly share: BudgetShare;
  readonly #list: HoldingList;
  readonly #holder: Holder;
  bytes = 0;
  #isOver = false;
  previous: Holding | undefined;
  next: Holding | undefined;

  constructor(share: BudgetShare, list: HoldingList, holder: Holder) {
    this.share = share;
    this.#list = list;
    this.#holder = holder;
  }

  /** Fewer bytes mean progress: it is the youngest then. */
  add(bytes: number): void {
    if (this.#isOver || bytes === 0) return;
    const before = this.bytes;
    this.bytes += bytes;
    this.share.add(bytes);
    if (before > 0 && (bytes < 0 || this.bytes <= 0)) this.#list.remove(this);
    if (this.bytes > 0 && (before <= 0 || bytes < 0)) this.#list.append(this);
  }

  /** Something of it was taken, though as much came in its place. */
  progressed(): void {
    if (this.bytes <= 0) return;
    this.#list.remove(this);
    this.#list.append(this);
  }

  set(bytes: number): void {
    this.add(bytes - this.bytes);
  }

  end(): void {
    this.set(0);
    this.#isOver = true;
  }

  giveUp(): void {
    this.end();
    this.#holder.giveUp('too many bytes are held for others');
  }
}

class HoldingList {
  first: Holding | undefined;
  #last: Holding | undefined;

  append(holding: Holding): void {
    holding.previous = this.#last;
    if (this.#last === undefined) this.first = holding;
    else this.#last.next = holding;
    this.#last = holding;
  }

  remove(holding: Holding): void {
    const { previous, next } = holding;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    holding.previous = undefined;
    holding.next = undefined;
  }
}
