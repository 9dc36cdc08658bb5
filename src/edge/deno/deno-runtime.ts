/**
 * The parts of Deno that are used here (Deno 2.9, docs.deno.com/api/deno), declared by hand: its own types would be
 * a dependency of every compilation.
 */
export interface DenoRuntime {
  serve(options: DenoServeOptions, handler: DenoHandler): DenoServer;
  createHttpClient(options: DenoHttpClientOptions): DenoHttpClient;
  readTextFile(path: string): Promise<string>;
  open(path: string, options: DenoOpenOptions): Promise<DenoFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  addSignalListener(signal: 'SIGINT' | 'SIGTERM', listener: () => void): void;
  exit(code: number): never;
  readonly args: readonly string[];
  readonly stderr: { writeSync(bytes: Uint8Array): number };
  readonly errors: { readonly NotFound: abstract new (...args: never[]) => Error };
}

export interface DenoServeOptions {
  readonly hostname: string;
  /** 0 for a free one. */
  readonly port: number;
  /** PEM chain and key: with them it serves TLS, HTTP/2 and HTTP/1.1 by ALPN. */
  readonly cert: string;
  readonly key: string;
  readonly onListen: (address: { readonly hostname: string; readonly port: number }) => void;
  readonly onError: (error: unknown) => Response;
}

export interface DenoServeInfo {
  readonly remoteAddr: { readonly hostname: string };
  /** Settles once the response has been sent whole; rejects when the client went away before. */
  readonly completed: Promise<void>;
}

export type DenoHandler = (request: Request, info: DenoServeInfo) => Response | Promise<Response>;

export interface DenoServer {
  readonly finished: Promise<void>;
  /** Lets requests in flight end. */
  shutdown(): Promise<void>;
}

export interface DenoHttpClientOptions {
  /** PEM; trusted in addition to Deno's own store, which DENO_TLS_CA_STORE chooses when the process starts. */
  readonly caCerts: readonly string[];
  /** PEM pair that is presented to servers. */
  readonly cert?: string;
  readonly key?: string;
}

/** Holds connections; handed to `fetch` as `client`. */
export interface DenoHttpClient {
  close(): void;
}

export interface DenoOpenOptions {
  readonly write: boolean;
  readonly createNew: boolean;
  readonly mode: number;
}

export interface DenoFile {
  /** @returns how many bytes were written, which may be fewer than there are. */
  write(bytes: Uint8Array): Promise<number>;
  sync(): Promise<void>;
  close(): void;
}

/** @throws {TypeError} on any other runtime. */
export function denoRuntime(): DenoRuntime {
  const { Deno } = globalThis as { readonly Deno?: DenoRuntime };
  if (Deno === undefined) throw new TypeError('This entry runs on Deno only: start it with `deno run`.');
  return Deno;
}
