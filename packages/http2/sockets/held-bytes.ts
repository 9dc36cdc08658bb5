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
/** An owner who holds less than this part of all held bytes does not stand out. */
const standsOutFrom = 8;
/** Milliseconds without progress after which bytes count as stalled. */
const stalledAfter = 1_000;
const reason = 'too many bytes are held for others';

/** The owner of an account's bytes. */
export interface AccountOwner {
  /** The identity of a verified certificate, else the client's address or IPv6 network: connections of one owner are counted together. */
  readonly name: string;
  /** Callers without a verified certificate together hold half of the budget at most. */
  readonly isVerified: boolean;
  /** Ends the connection. */
  readonly connection: Holder;
  /** Is told of each relief at the cost of this connection. Must not throw. Default: nobody is told. */
  readonly onRelief?: ((relief: Relief) => void) | undefined;
}

/**
 * One budget for all bytes that a process holds for others: incomplete heads, heads of requests without a response, content
 * that a server or a client does not take, tunnels that stand still. Each connection has an account in it.
 *
 * When the budget runs short, what can be done without goes first. Then the owner who holds most gives up: of bytes that make
 * no progress, and of heads of requests whose response has not begun. Where nobody stands out, the bytes that have made no
 * progress for longest go.
 */
export class MemoryBudget {
  readonly #maximum: number;
  readonly #clock: () => number;
  readonly #accounts = new Set<Account>();
  #verified = 0;
  #others = 0;
  #isDue = false;
  /** Counts progress: of two holdings the one with the lower number has made none for longer. */
  #order = 0;
  #mark = { order: 0, at: Number.NEGATIVE_INFINITY };
  #stalled = 0;

  /**
   * @param maximum bytes
   * @param clock milliseconds of a monotonic clock
   */
  constructor(maximum: number, clock: () => number = () => performance.now()) {
    this.#maximum = maximum;
    this.#clock = clock;
  }

  get bytes(): number {
    return this.#verified + this.#others;
  }

  /** An account for one connection. It ends with `Account.close`. */
  account(owner: AccountOwner): Account {
    const account = new Account(this, owner);
    this.#accounts.add(account);
    return account;
  }

  closed(account: Account): void {
    this.#accounts.delete(account);
  }

  hasRoomFor(bytes: number, isVerified: boolean): boolean {
    const roomOfOthers = isVerified ? Number.POSITIVE_INFINITY : this.#maximum / 2 - this.#others;
    return bytes * partOfRoom <= Math.min(this.#maximum - this.bytes, roomOfOthers);
  }

  /** @returns the number of this moment, for what has just made progress */
  progress(): number {
    this.#order += 1;
    return this.#order;
  }

  count(bytes: number, isVerified: boolean): void {
    if (isVerified) this.#verified += bytes;
    else this.#others += bytes;
    if (bytes > 0 && (this.#isExceeded || (!isVerified && this.#isExceededByOthers))) this.#relieveSoon();
  }

  get #isExceeded(): boolean {
    return this.bytes > this.#maximum * heldAtMost;
  }

  get #isExceededByOthers(): boolean {
    return this.#others > (this.#maximum / 2) * heldAtMost;
  }

  /** Gives up what is too much, after the current turn: whoever holds it may be at work on it. */
  #relieveSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#relieve();
    });
  }

  #relieve(): void {
    const now = this.#clock();
    if (now - this.#mark.at >= stalledAfter) {
      this.#stalled = this.#mark.order;
      this.#mark = { order: this.#order, at: now };
    }
    this.#giveUpWhile(
      () => this.#isExceededByOthers,
      ({ isVerified }) => !isVerified,
    );
    this.#giveUpWhile(
      () => this.#isExceeded,
      () => true,
    );
  }

  /** Looks at all accounts once, however much has to go: thousands of connections stop the process for no more than that. */
  #giveUpWhile(isExceeded: () => boolean, isMeant: (account: Account) => boolean): void {
    if (!isExceeded()) return;
    const accounts = [...this.#accounts].filter(isMeant);
    for (const account of accounts) while (isExceeded() && account.dropSpare()) {}
    const owners = ownersOf(accounts, this.#stalled);
    // Heads of requests have no order of age: while they are most of what is held, however many clients share in them, no
    // bytes of others go for their sake.
    const areRequestsMost =
      sum(accounts, ({ ofRequests }) => ofRequests) > sum(accounts, ({ bytes }) => bytes) / 2;
    while (isExceeded()) {
      const most = largestOf(owners);
      const standsOut = most !== undefined && (areRequestsMost || most.held >= this.bytes / standsOutFrom);
      // Nobody stands out: what has made no progress for longest.
      const oldest = standsOut ? undefined : oldestOf(accounts);
      if (oldest !== undefined) {
        oldest.giveUpOldest();
        owners.get(oldest.ownerName)?.look();
      } else if (most !== undefined) most.giveUp();
      else return;
    }
  }
}

/** All connections of one owner that were looked at. */
class Owner {
  readonly accounts: Account[] = [];
  readonly #stalled: number;
  /** Bytes that stand still. */
  held = 0;
  #most: Account | undefined;

  constructor(stalled: number) {
    this.#stalled = stalled;
  }

  look(): void {
    this.held = 0;
    let most = 0;
    for (const account of this.accounts) {
      const standing = account.standing(this.#stalled);
      this.held += standing;
      if (standing <= most) continue;
      most = standing;
      this.#most = account;
    }
  }

  /** The connection that holds most gives up. */
  giveUp(): void {
    this.#most?.giveUpMost(this.#stalled);
    this.look();
  }
}

function ownersOf(accounts: readonly Account[], stalled: number): ReadonlyMap<string, Owner> {
  const owners = new Map<string, Owner>();
  for (const account of accounts) {
    const owner = owners.get(account.ownerName) ?? new Owner(stalled);
    owner.accounts.push(account);
    owners.set(account.ownerName, owner);
  }
  for (const owner of owners.values()) owner.look();
  return owners;
}

function largestOf(owners: ReadonlyMap<string, Owner>): Owner | undefined {
  let largest: Owner | undefined;
  for (const owner of owners.values()) if (owner.held > (largest?.held ?? 0)) largest = owner;
  return largest;
}

function sum(accounts: readonly Account[], of: (account: Account) => number): number {
  return accounts.reduce((total, account) => total + of(account), 0);
}

function oldestOf(accounts: readonly Account[]): Account | undefined {
  let [oldest, lowest] = [undefined as Account | undefined, Number.POSITIVE_INFINITY];
  for (const account of accounts) {
    const order = account.oldest ?? Number.POSITIVE_INFINITY;
    if (order < lowest) [oldest, lowest] = [account, order];
  }
  return oldest;
}

/** The bytes that are held for one connection. */
export class Account implements HeldBytes {
  readonly #budget: MemoryBudget;
  readonly #owner: AccountOwner;
  readonly #spare = new HoldingList();
  readonly #heads = new HoldingList();
  readonly #content = new HoldingList();
  readonly #still = new HoldingList();
  /** Bytes of requests whose response has not begun. */
  #requests = 0;
  #isClosed = false;

  constructor(budget: MemoryBudget, owner: AccountOwner) {
    this.#budget = budget;
    this.#owner = owner;
  }

  get isVerified(): boolean {
    return this.#owner.isVerified;
  }

  get ownerName(): string {
    return this.#owner.name;
  }

  /** Heads of requests whose response has not begun. */
  get ofRequests(): number {
    return this.#requests;
  }

  get bytes(): number {
    return this.#requests + this.#spare.bytes + this.#heads.bytes + this.#content.bytes + this.#still.bytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#budget.hasRoomFor(bytes, this.isVerified);
  }

  admits(bytes: number): boolean {
    const hasRoom = this.hasRoomFor(bytes);
    if (!hasRoom) this.#owner.onRelief?.('refused');
    return hasRoom;
  }

  /** Counts the head of a request whose response has not begun; later, with the opposite sign, no more. */
  add(bytes: number): void {
    if (this.#isClosed) return;
    this.#requests += bytes;
    this.#budget.count(bytes, this.isVerified);
  }

  held(bytes: number): void {
    this.#budget.count(bytes, this.isVerified);
  }

  progress(): number {
    return this.#budget.progress();
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

  /** For what is counted only once it has stood still. */
  still(holder: Holder): Holding {
    return new Holding(this, this.#still, holder);
  }

  /** The connection has ended, and with it all that is held for it. Nothing counts any more. */
  close(): void {
    if (this.#isClosed) return;
    this.#budget.count(-this.bytes, this.isVerified);
    this.#requests = 0;
    for (const list of [this.#spare, this.#heads, this.#content, this.#still]) list.clear();
    this.#isClosed = true;
    this.#budget.closed(this);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  dropSpare(): boolean {
    const { first } = this.#spare;
    first?.giveUp();
    return first !== undefined;
  }

  /** The number of what has made no progress for longest; `undefined`: nothing is there to give up. */
  get oldest(): number | undefined {
    return (this.#still.first ?? this.#heads.first ?? this.#content.first)?.order;
  }

  /** Bytes that stand still. @param stalled number of progress up to which holdings count as stalled */
  standing(stalled: number): number {
    return this.#requests + this.#stands(stalled);
  }

  #stands(stalled: number): number {
    return this.#still.bytes + this.#heads.standing(stalled) + this.#content.standing(stalled);
  }

  giveUpOldest(): void {
    this.#owner.onRelief?.('ended');
    (this.#still.first ?? this.#heads.first ?? this.#content.first)?.giveUp();
  }

  giveUpMost(stalled: number): void {
    if (this.#stands(stalled) > this.#requests) {
      this.giveUpOldest();
      return;
    }
    const { connection, onRelief } = this.#owner;
    onRelief?.('ended');
    this.close();
    connection.giveUp(reason);
  }
}

export class Holding implements HeldBytes {
  readonly account: Account;
  readonly #list: HoldingList;
  readonly #holder: Holder;
  bytes = 0;
  order = 0;
  #isOver = false;
  previous: Holding | undefined;
  next: Holding | undefined;

  constructor(account: Account, list: HoldingList, holder: Holder) {
    this.account = account;
    this.#list = list;
    this.#holder = holder;
  }

  /** Fewer bytes mean progress: it is the youngest then. */
  add(bytes: number): void {
    if (this.#isOver || this.account.isClosed || bytes === 0) return;
    const before = this.bytes;
    this.bytes += bytes;
    this.account.held(bytes);
    this.#list.bytes += bytes;
    if (before > 0 && (bytes < 0 || this.bytes <= 0)) this.#list.remove(this);
    if (this.bytes > 0 && (before <= 0 || bytes < 0)) this.#append();
  }

  /** Something of it was taken, though as much came in its place. */
  progressed(): void {
    if (this.bytes <= 0 || this.account.isClosed) return;
    this.#list.remove(this);
    this.#append();
  }

  #append(): void {
    this.order = this.account.progress();
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
    this.#holder.giveUp(reason);
  }
}

class HoldingList {
  bytes = 0;
  first: Holding | undefined;
  #last: Holding | undefined;

  standing(stalled: number): number {
    return this.first !== undefined && this.first.order <= stalled ? this.bytes : 0;
  }

  clear(): void {
    this.bytes = 0;
    this.first = undefined;
    this.#last = undefined;
  }

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
