/**
 * Bits of each byte's Huffman code, and of EOS as the last (RFC 7541 appendix B). That is all of the code: it is
 * canonical, codes of one length ascend with the byte, and shorter ones come first.
 */
const codeLengths: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

/** The symbol that ends nothing: it must not stand in a string (RFC 7541 section 5.2). */
const endOfString = 256;
const noSymbol = -1;

/**
 * An automaton that reads four bits at a time. A state is an inner node of the code's tree; no code is shorter than
 * five bits, so that four bits end one code at most.
 */
interface Automaton {
  /** By `state * 16 + bits`: the state behind them, or -1 where there is none. */
  readonly next: Int16Array;
  /** By `state * 16 + bits`: the byte whose code they end, or -1. */
  readonly symbol: Int16Array;
  /** By state: whether a string may end here, in fewer than eight bits, all ones (RFC 7541 section 5.2). */
  readonly mayEnd: Uint8Array;
}

const automaton = buildAutomaton();

/**
 * Takes the Huffman coding off `bytes` from `start` to `end`.
 * @param into must hold eight fifths of them.
 * @returns how many bytes were written to `into`, or -1 where the code is invalid.
 */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number, into: Uint8Array): number {
  const { next, symbol, mayEnd } = automaton;
  let state = 0;
  let length = 0;
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number;
    for (let shift = 4; shift >= 0; shift -= 4) {
      const step = state * 16 + ((byte >> shift) & 0xf);
      const read = symbol[step] as number;
      if (read !== noSymbol) into[length++] = read;
      state = next[step] as number;
      if (state < 0) return -1;
    }
  }
  return mayEnd[state] === 1 ? length : -1;
}

/** What a string of so many bytes can be long when decoded: its shortest codes have five bits. */
export function maximumDecodedLength(encodedLength: number): number {
  return Math.ceil((encodedLength * 8) / 5);
}

interface Node {
  readonly state: number;
  readonly children: [Node | number | undefined, Node | number | undefined];
}

function buildAutomaton(): Automaton {
  const nodes: Node[] = [];
  const newNode = (): Node => {
    const node: Node = { state: nodes.length, children: [undefined, undefined] };
    nodes.push(node);
    return node;
  };
  const root = newNode();
  for (const { symbol, code, length } of canonicalCodes()) {
    let node = root;
    for (let bit = length - 1; bit > 0; bit--) {
      const side = ((code >>> bit) & 1) as 0 | 1;
      let child = node.children[side];
      if (typeof child !== 'object') {
        child = newNode();
        node.children[side] = child;
      }
      node = child;
    }
    node.children[(code & 1) as 0 | 1] = symbol;
  }
  const next = new Int16Array(nodes.length * 16);
  const symbols = new Int16Array(nodes.length * 16).fill(noSymbol);
  for (const from of nodes) {
    for (let bits = 0; bits < 16; bits++) {
      let node = from;
      const step = from.state * 16 + bits;
      for (let bit = 3; bit >= 0; bit--) {
        const child = node.children[((bits >>> bit) & 1) as 0 | 1];
        if (typeof child === 'object') {
          node = child;
          continue;
        }
        if (child === undefined || child === endOfString) {
          next[step] = -1;
          break;
        }
        symbols[step] = child;
        node = root;
      }
      if (next[step] !== -1) next[step] = node.state;
    }
  }
  const mayEnd = new Uint8Array(nodes.length);
  let padding: Node | number | undefined = root;
  for (let bits = 0; bits < 8 && typeof padding === 'object'; bits++) {
    mayEnd[padding.state] = 1;
    padding = padding.children[1];
  }
  return { next, symbol: symbols, mayEnd };
}

function canonicalCodes(): { readonly symbol: number; readonly code: number; readonly length: number }[] {
  const symbols = codeLengths.map((length, symbol) => ({ symbol, length }));
  symbols.sort((one, other) => one.length - other.length || one.symbol - other.symbol);
  let code = 0;
  let bits = 0;
  return symbols.map(({ symbol, length }) => {
    code <<= length - bits;
    bits = length;
    return { symbol, code: code++, length };
  });
}
