/**
 * Follows the bytes of a watch and knows where one event ends and the next begins, so that a watch can be ended
 * between two of them: its client then goes on from its last resourceVersion, as after any end of a watch.
 */
export interface WatchEventBoundary {
  /** Takes the next piece. @returns the offset after the last event that ends in it; 0 when none does. */
  follow(chunk: Uint8Array): number;
  readonly isAtEnd: boolean;
}

const newline = 0x0a;

/** JSON: one document a line (k8s.io/apimachinery pkg/util/framer; Go's encoder writes no newline inside one). */
class Lines implements WatchEventBoundary {
  isAtEnd = true;

  follow(chunk: Uint8Array): number {
    const { length } = chunk;
    if (length === 0) return 0;
    this.isAtEnd = chunk[length - 1] === newline;
    return this.isAtEnd ? length : chunk.lastIndexOf(newline) + 1;
  }
}

const prefixLength = 4;

/** Protobuf: four bytes of length, big-endian, before each event (lengthDelimitedFrameWriter of the same package). */
class LengthDelimitedFrames implements WatchEventBoundary {
  /** Bytes of the length that are there already, and their value. */
  #prefixBytes = 0;
  #prefix = 0;
  #left = 0;

  get isAtEnd(): boolean {
    return this.#prefixBytes === 0 && this.#left === 0;
  }

  follow(chunk: Uint8Array): number {
    let boundary = 0;
    let offset = 0;
    while (offset < chunk.length) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, chunk.length - offset);
        this.#left -= taken;
        offset += taken;
        if (this.#left === 0) boundary = offset;
        continue;
      }
      this.#prefix = this.#prefix * 256 + (chunk[offset] ?? 0);
      this.#prefixBytes += 1;
      offset += 1;
      if (this.#prefixBytes < prefixLength) continue;
      this.#left = this.#prefix;
      this.#prefix = 0;
      this.#prefixBytes = 0;
      if (this.#left === 0) boundary = offset;
    }
    return boundary;
  }
}

/**
 * @param contentType of the watch's response.
 * @param contentEncoding a compressed stream has no boundary that can be seen from outside.
 * @returns `undefined` where the end of an event cannot be told.
 */
export function watchEventBoundary(
  contentType: string | undefined,
  contentEncoding: string | undefined,
): WatchEventBoundary | undefined {
  if (contentEncoding !== undefined && contentEncoding.trim().toLowerCase() !== 'identity') return undefined;
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType === 'application/json') return new Lines();
  if (mediaType === 'application/vnd.kubernetes.protobuf') return new LengthDelimitedFrames();
  return undefined;
}
